package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Options are the settings of a pool that the configuration does not hold.
type Options struct {
	// Limits bound the phases of a request. If zero, those of connecting and calling are 30 s.
	Limits tool.Limits
	// Version is mcpl's own, for the handshake.
	Version string
	// Environ is the environment that servers inherit, as os.Environ gives it.
	Environ []string
	// Dir is the folder in which servers without a cwd run. If empty, it is the current directory.
	Dir string
	// Root is an absolute path. Servers whose entry has no roots see it as their root. If empty, they have none.
	Root string
	// EnvFile is the environment file that help texts name for missing variables.
	EnvFile string
	// Log is called with what happens, for --verbose. It may be called concurrently. If nil, nothing is logged.
	Log func(server, event string)
	// Changed is called for each notification of a server that the list of its tools, resources or prompts has
	// changed, and when a server turns out to need turns (tool.Known.Asks). It may be called concurrently and must not
	// wait. If nil, such notifications are ignored.
	Changed func(server string)
	// Listen asks for such notifications also from servers that send them only on a stream of their own. The stream
	// is then open from the start, else at most from the first call on.
	Listen bool
	// Sampling declares in the handshake, before MCP 2026-07-28, that there is a language model: all who make requests
	// have one.
	Sampling bool
	// Tokens gives the tokens of logins to servers over HTTP. If nil, there are none.
	Tokens Tokens
}

// Tokens gives the tokens of logins. Its methods may be called concurrently; their errors are faults.
type Tokens interface {
	// Header returns the Authorization header for a server, or "".
	Header(ctx context.Context, server *config.Server) (string, error)
	// Renew returns another header than used, or "". The server has refused used with these WWW-Authenticate headers;
	// used is empty if the request had no header.
	Renew(ctx context.Context, server *config.Server, used string, challenges []string) (string, error)
	// LoginStep returns the step by which a person logs in to a server that has refused a request with these
	// headers. It is nil if the server does not offer a login.
	LoginStep(ctx context.Context, server *config.Server, challenges []string) *fault.Step
}

// defaultTimeout is the limit of each phase unless something sets another.
const defaultTimeout = 30 * time.Second

// Pool holds a connection to each server that was asked for. It is safe for concurrent use.
type Pool struct {
	cfg *config.Config
	opt Options

	closing chan struct{} // closed by Close
	spawner *proc.Spawner

	mu       sync.Mutex
	slots    map[string]*slot // nil once closed
	watchers []*watcher
}

// slot is the place of one server in a pool. The holder of its turn may start the server.
type slot struct {
	turn    chan struct{} // holds one token
	session *session      // nil until started; guarded by turn
	failure *fault.Fault  // of the last start, unless it was given up; guarded by turn
	starts  atomic.Int64  // that have ended
	abort   func()        // gives up the start that is going on, may be nil; guarded by Pool.mu
}

// errClosed is the cause of requests that end because the pool was closed.
var errClosed = errors.New("the connection pool was closed")

// NewPool returns a pool over cfg's servers. It starts nothing.
func NewPool(cfg *config.Config, opt Options) *Pool {
	opt.Limits.Connect = cmp.Or(opt.Limits.Connect, defaultTimeout)
	opt.Limits.Call = cmp.Or(opt.Limits.Call, defaultTimeout)
	return &Pool{cfg: cfg, opt: opt,
		closing: make(chan struct{}), spawner: new(proc.Spawner), slots: make(map[string]*slot)}
}

// List asks a server for all that it offers, and starts it if it does not run yet. If a server that ends after a brief
// listing says meanwhile that its lists have changed, List asks once more: it could not be asked later.
func (p *Pool) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	return twice(ctx, p, server, opt, true, func(s *session, limit time.Duration) (tool.Listing, error) {
		s.moved.Store(false)
		l, err := s.list(ctx, limit, opt)
		if err == nil && opt.Brief && s.moved.Load() {
			if later, err := s.list(ctx, limit, opt); err == nil {
				return later, nil
			}
		}
		return l, err
	})
}

// Call calls a tool, gets a prompt or reads a resource, as the kind of ref says. It starts the server if that does not
// run yet. The arguments of a prompt are strings, a resource has none. A result that reports an error is a result; err
// is for calls without a result.
func (p *Pool) Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (
	*tool.Result, error) {
	return twice(ctx, p, ref.Server, opt, opt.Repeatable, func(s *session, limit time.Duration) (*tool.Result, error) {
		return s.invoke(ctx, ref, args, limit, opt)
	})
}

// Request sends one request of any method and returns the result, both verbatim: it checks no argument, gives no input
// and follows no task. params are an object, or nil; their _meta gets the members that mcpl adds to each request, such
// as the token for progress. A JSON-RPC error of the server is a [*tool.UpstreamError]; other errors are faults.
func (p *Pool) Request(ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions) (
	json.RawMessage, error) {
	return twice(ctx, p, server, opt, opt.Repeatable, func(s *session, limit time.Duration) (json.RawMessage, error) {
		return s.verbatim(ctx, method, params, limit, opt)
	})
}

// twice makes a request with a server's session, and once more if it failed and was certainly not carried out, or if
// the repetition is harmless and the response was lost or doubtful. A session that was retired before the request was
// sent does not count: each is one that another call has spoiled.
func twice[T any](ctx context.Context, p *Pool, server string, opt tool.CallOptions, harmless bool,
	request func(s *session, limit time.Duration) (T, error)) (res T, err error) {
	for tries := 0; tries < 2; {
		var s *session
		if s, err = p.session(ctx, server, opt); err == nil {
			res, err = request(s, cmp.Or(opt.Timeout, s.server.CallTimeout, p.opt.Limits.Call))
			p.leave(s, opt.Brief)
		}
		if errors.Is(err, errRetired) {
			continue
		}
		if !errors.Is(err, errSessionEnded) && (!harmless || !errors.Is(err, errLost) && !errors.Is(err, errForgotten)) {
			break
		}
		tries++
	}
	return res, err
}

// Close stops all servers of the pool at once, and returns when none of them or of their descendants is left. Requests
// under way end with a fault.Interrupted. The pool cannot be used after.
func (p *Pool) Close() error {
	p.mu.Lock()
	slots := p.slots
	p.slots = nil
	if slots != nil {
		close(p.closing)
	}
	for _, s := range slots {
		if s.abort != nil {
			s.abort()
		}
	}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range slots {
		wg.Go(func() {
			<-s.turn // a start that is going on has to end first; Close keeps the turn
			if s.session != nil {
				s.session.close()
			}
		})
	}
	wg.Wait()
	p.spawner.Close()
	return nil
}

// session returns the live session of a server. If there is none, it starts one, with what is known of the server. The
// caller leaves it.
func (p *Pool) session(ctx context.Context, name string, opt tool.CallOptions) (*session, error) {
	server, err := p.cfg.Server(name)
	if err != nil {
		return nil, err
	}
	if err := server.Usable(); err != nil {
		return nil, err
	}
	s, err := p.slot(name)
	if err != nil {
		return nil, err
	}
	starts := s.starts.Load()
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-p.closing:
		return nil, closedPool(name)
	case <-ctx.Done():
		return nil, interrupted(context.Cause(ctx), server, "the start")
	}
	session, err := p.sessionIn(ctx, s, server, opt.Known, starts)
	if err != nil {
		return nil, err
	}
	session.users.Add(1)
	session.kept = session.kept || !opt.Brief
	return session, nil
}

// sessionIn returns the live session of a slot, whose turn the caller holds, or starts one. starts is how many starts
// had ended when the request came.
func (p *Pool) sessionIn(ctx context.Context, s *slot, server *config.Server, known tool.Known, starts int64) (
	*session, error) {
	switch {
	case s.session != nil && s.session.alive():
		if known.Asks {
			s.session.router.turns.Store(true)
		}
		return s.session, nil
	case s.session != nil:
		if s.session.retired.Load() { // a listing may still be under way
			if s.session.router.drain(ctx, p.closing); ctx.Err() != nil {
				return nil, interrupted(context.Cause(ctx), server, "the start")
			}
		}
		s.session.hangUp() // requests that are still under way fail as lost, not as interrupted
		s.session = nil
	case s.failure != nil && s.starts.Load() != starts:
		f := *s.failure // it failed while this request waited for its turn, and would again
		return nil, &f
	}
	return p.startIn(ctx, s, server, known)
}

// leave ends the use of a session. The last of its uses closes it if all of them were brief.
func (p *Pool) leave(s *session, brief bool) {
	if s.users.Add(-1) > 0 || !brief {
		return
	}
	slot, err := p.slot(s.server.Name)
	if err != nil {
		return // Close closes it
	}
	select {
	case <-slot.turn:
		defer func() { slot.turn <- struct{}{} }()
	case <-p.closing:
		return
	}
	if slot.session == s && s.users.Load() == 0 && !s.kept {
		s.close()
		slot.session = nil
	}
}

// slot returns the place of a server.
func (p *Pool) slot(name string) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots == nil {
		return nil, closedPool(name)
	}
	s, ok := p.slots[name]
	if !ok {
		s = &slot{turn: make(chan struct{}, 1)}
		s.turn <- struct{}{}
		p.slots[name] = s
	}
	return s, nil
}

// startIn starts a server in its slot, whose turn the caller holds, so that Close can give it up.
func (p *Pool) startIn(ctx context.Context, s *slot, server *config.Server, known tool.Known) (*session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !p.abortable(s, func() { cancel(errClosed) }) {
		return nil, closedPool(server.Name)
	}
	defer p.abortable(s, nil)
	s.session, s.failure = nil, nil
	if err := server.Admit(); err != nil {
		return nil, err
	}
	session, failure := p.start(ctx, server, known)
	s.starts.Add(1)
	if failure == nil {
		if s.session = session; p.opt.Listen || p.watched(server.Name) {
			session.listen()
		}
		return session, nil
	}
	if failure.Type != fault.Interrupted {
		kept := *failure
		s.failure = &kept
	}
	return nil, failure
}

// abortable says how to give up the start that goes on in s. It reports whether the pool is open.
func (p *Pool) abortable(s *slot, abort func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.abort = abort
	return p.slots != nil
}
