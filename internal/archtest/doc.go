// Package archtest holds the house in shape. Its tests fail when a package imports what the table of rooms does
// not allow, or has no doc comment (TestRooms); when a source breaks a rule about length, branches, contexts,
// output, names or prose (TestRules); and when a document names what the code does not have.
//
// Begin with rooms_test.go for what may import what and why, and with rules_test.go for everything else.
package archtest
