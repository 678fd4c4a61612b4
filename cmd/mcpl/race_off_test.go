//go:build !race

package main

// raced says that this runs under the race detector.
const raced = false
