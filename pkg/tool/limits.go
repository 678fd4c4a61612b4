package tool

import "time"

// Limits bound the phases of what is asked of a server. Zero sets none.
type Limits struct {
	// Connect bounds start and handshake, Call each listing and call, for servers whose entry sets none.
	Connect time.Duration `json:"connect,omitempty"`
	Call    time.Duration `json:"call,omitempty"`
	// ForceConnect beats the entries' own limits (the --connect-timeout flag).
	ForceConnect time.Duration `json:"forceConnect,omitempty"`
}
