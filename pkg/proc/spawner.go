package proc

import (
	"os/exec"
	"runtime"
	"sync"
)

// Spawner starts processes that do not outlive this one. It does so from a thread of its own, which lives
// until Close: on Linux the kernel kills a child when the thread that started it ends (see dieWithParent),
// and other threads of a Go program end at any time. On other systems a child sees the end of its stdin
// when this process dies, and has to exit by itself.
//
// The zero Spawner is ready. Its methods may be called concurrently.
type Spawner struct {
	mu     sync.Mutex
	orders chan func()   // nil until the first start, and after Close
	ended  chan struct{} // closed when the goroutine has ended
}

// Start starts cmd, whose Stdin, Stdout and Stderr it sets and whose SysProcAttr it adds to. The error is that of
// [exec.Cmd.Start], or of making a pipe; nothing is left open then. Else the caller has to call [Process.Close].
func (s *Spawner) Start(cmd *exec.Cmd, opt Options) (*Process, error) { return start(cmd, opt, s.run) }

// run is cmd.Start on the spawner's thread.
func (s *Spawner) run(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders == nil {
		s.orders, s.ended = make(chan func()), make(chan struct{})
		go carryOut(s.orders, s.ended)
	}
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	s.orders <- func() { started <- cmd.Start() }
	return <-started
}

// carryOut runs orders until their channel is closed. It never unlocks its thread, which so ends with it.
func carryOut(orders <-chan func(), ended chan<- struct{}) {
	defer close(ended)
	runtime.LockOSThread()
	for order := range orders {
		order()
	}
}

// Close ends the thread, which kills processes of the spawner that are left. A later Start begins a new thread.
func (s *Spawner) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders != nil {
		close(s.orders)
		<-s.ended
		s.orders = nil
	}
}
