// Package archtest holds the house in shape: its test fails when a package imports what the
// table of rooms does not allow, has no doc comment, imports a library that belongs to another
// room, or grows a file beyond the house's measure.
package archtest
