//go:build unix

package verb

import "os"

// openTerminal opens the terminal of this process for reading. Approvals are asked there, so that nothing that was
// piped into stdin can answer them.
func openTerminal() (*os.File, error) { return os.Open("/dev/tty") }
