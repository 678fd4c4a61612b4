package conn

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from a thread of its own, which lives until close: on Linux the kernel
// kills them when the thread that started them ends (see dieWithParent), and other threads of a Go
// program end at any time. The zero spawner is ready.
type spawner struct {
	mu     sync.Mutex
	orders chan func()   // nil until the first start, and after close
	ended  chan struct{} // closed when the goroutine has ended
}

// start is cmd.Start. The process dies with ours, where the system can do that.
func (s *spawner) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders == nil {
		s.orders, s.ended = make(chan func()), make(chan struct{})
		go s.run(s.orders, s.ended)
	}
	dieWithParent(cmd)
	started := make(chan error)
	s.orders <- func() { started <- cmd.Start() }
	return <-started
}

// run carries out orders. It never unlocks its thread, which so ends with it.
func (s *spawner) run(orders <-chan func(), ended chan<- struct{}) {
	defer close(ended)
	runtime.LockOSThread()
	for order := range orders {
		order()
	}
}

// close ends the thread, once no process that it started is left.
func (s *spawner) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders != nil {
		close(s.orders)
		<-s.ended
		s.orders = nil
	}
}
