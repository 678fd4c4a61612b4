package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// greetPatience is how long a daemon may take to send its greeting.
	greetPatience = 2 * time.Second
	// silence is how long it may send nothing during a request. It sends a beat every 5 s.
	silence = 30 * time.Second
	// startPatience is how long a new daemon may take to listen.
	startPatience = 10 * time.Second
	// replacePatience is how long a request waits for a daemon of another version to end. After that it is made without
	// one.
	replacePatience = 2 * time.Second
	// cancelPatience is how long a cancelled request waits for its answer.
	cancelPatience = 5 * time.Second
)

// ClientOptions make a [Client].
type ClientOptions struct {
	Env       config.Env
	Selection config.Selection
	// Environ is the environment that the configuration is resolved with and servers inherit, as os.Environ gives it.
	Environ []string
	// Identity is that of this build; see [Identity].
	Identity string
	Limits   tool.Limits
	// Idle is how long a server stays without a request, if its entry does not say. Zero means 15 min.
	Idle time.Duration
	// Roots is as in host.Surroundings.
	Roots bool
	// Start are the arguments that make this program the daemon. If nil, the client starts none.
	Start []string
	// Ephemeral, if not nil, reports whether a server is known not to be for the daemon, so that it need not be asked.
	Ephemeral func(server string) bool
	// Yield keeps a client that has been served from replacing a daemon of another version: a process that lasts would go
	// on to replace the daemon of a newer mcpl. It then makes all requests in this process.
	Yield bool
	// InProcess opens the caller for requests that the daemon does not take. If nil, the client neither starts nor
	// replaces a daemon, and requests that it declines fail with engine.ErrNotFresh.
	InProcess func() engine.Caller
	// Frozen, if not nil, is called when this process has found that the daemon does not answer. For a minute no client
	// asks it again.
	Frozen func()
	// Log, if not nil, is called with what happens. It may be called concurrently.
	Log func(who, event string)
}

// Client reaches live servers through the daemon of their configuration set, or in this process if it cannot have the
// daemon. It is safe for concurrent use.
type Client struct {
	sources *config.Sources
	opt     ClientOptions
	id      string // of this client among those of the daemon

	watches sync.WaitGroup // the goroutines of Watch

	givenUp atomic.Bool   // the daemon was given up: this process makes all requests
	gaveUp  chan struct{} // closed then
	served  atomic.Bool   // a daemon of this version has taken a request
	said    sync.Once     // that the daemon does not answer

	mu        sync.Mutex
	inProcess engine.Caller                  // nil until needed
	watched   map[*stream]context.CancelFunc // ends each watch, by its first stream
}

// NewClient returns a client for the servers of a configuration set. It starts nothing and connects to nothing.
func NewClient(sources *config.Sources, opt ClientOptions) *Client {
	return &Client{sources: sources, opt: opt, id: strconv.FormatUint(rand.Uint64(), 36),
		gaveUp: make(chan struct{}), watched: make(map[*stream]context.CancelFunc)}
}

// List asks a server for what it offers.
func (c *Client) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	a, err := c.do(ctx, query{Op: opTools, Server: server}, nil, opt)
	return a.listing, err
}

// Call calls a tool, reads a resource or gets a prompt. A result that reports an error is a result.
func (c *Client) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions,
) (*tool.Result, error) {
	a, err := c.do(ctx, query{Op: opCall, Server: ref.Server, Kind: ref.Kind, Name: ref.Name}, args, opt)
	return a.result, err
}

// Request sends one request of any method, verbatim.
func (c *Client) Request(
	ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions,
) (json.RawMessage, error) {
	a, err := c.do(ctx, query{Op: opRequest, Server: server, Name: method}, params, opt)
	if err != nil {
		return nil, err
	}
	return a.result.Raw, nil
}

// do makes a request to a server through the daemon, or in this process. A failure is a fault.
func (c *Client) do(
	ctx context.Context, q query, args json.RawMessage, opt tool.CallOptions,
) (a answer, err error) {
	q.Options, q.Audience = opt, opt.Audience != nil
	if q.Audience {
		q.Can = opt.Audience.Can()
	}
	s, payload, err := c.ask(ctx, c.newRequest(q, args, opt.Audience))
	if errors.Is(err, host.ErrDeclined) {
		own, err := c.local()
		if err != nil {
			return a, err
		}
		return q.do(ctx, own, args, opt)
	}
	if err != nil {
		return a, err
	}
	s.close()
	if a, err = unpackAnswer(q.Op, payload); err != nil {
		return answer{}, unexpected(&q, err)
	}
	return a, nil
}

// Refresh asks the daemon to list the servers that are due, and returns as soon as the daemon has begun. It starts no
// daemon, and fails if none of this version runs.
func (c *Client) Refresh(ctx context.Context) error {
	if !c.eligible("") {
		return errors.New("the configuration is not in files that the daemon can read")
	}
	r := c.newRequest(query{Op: opRefresh}, nil, nil)
	place, err := PlaceOf(c.opt.Env, c.sources.Key())
	if err != nil {
		return err
	}
	s, err := c.handOver(place, r.frame)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = r.wait(ctx, s)
	return err
}

// Close ends what is watched and stops the servers of this process. Those of the daemon stay.
func (c *Client) Close() error {
	c.mu.Lock()
	for _, end := range c.watched {
		end()
	}
	c.mu.Unlock()
	c.watches.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inProcess == nil {
		return nil
	}
	err := c.inProcess.Close()
	c.inProcess = nil
	c.giveUp()
	return err
}

// local returns the caller in this process.
func (c *Client) local() (engine.Caller, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.opt.InProcess == nil:
		return nil, engine.ErrNotFresh
	case c.inProcess == nil:
		c.inProcess = c.opt.InProcess()
	}
	return c.inProcess, nil
}

func (c *Client) logf(format string, args ...any) {
	if c.opt.Log != nil && c.opt.InProcess != nil {
		c.opt.Log(logName, fmt.Sprintf(format, args...))
	}
}

// ask has the daemon do a request, and returns its answer and the stream that it came on. host.ErrDeclined says that
// this process has to make the request: nothing has been done yet, or the daemon was lost and doing it twice does no
// harm. Other errors are what the daemon's host says, or faults.
func (c *Client) ask(ctx context.Context, r *clientRequest) (*stream, []byte, error) {
	if !r.fits || !c.eligible(r.query.Server) {
		return nil, nil, host.ErrDeclined
	}
	s, answer, err := c.hand(ctx, r)
	lost, harmless := new(lostError), r.query.Op == opTools || r.query.Op == opWatch || r.query.Options.Repeatable
	switch {
	case err == nil, errors.Is(err, host.ErrDeclined), errors.As(err, new(*fault.Fault)),
		errors.As(err, new(*tool.UpstreamError)):
		return s, answer, err
	case errors.As(err, &lost) && !harmless:
		return nil, nil, lost.fault(r.query.ref())
	case errors.As(err, &lost):
		c.logf("%v; this process makes it again, since that does no harm", err)
	case ctx.Err() == nil && !errors.Is(err, host.ErrEnding):
		c.logf("no daemon is used: %v", err)
	}
	c.giveUp()
	return nil, nil, host.ErrDeclined
}

// giveUp has this process make all requests from now on.
func (c *Client) giveUp() {
	if !c.givenUp.Swap(true) {
		close(c.gaveUp)
	}
}

// hand hands a request to a daemon and waits for the answer. The stream stays open. Errors are those of wait, or say
// why no daemon can be had.
func (c *Client) hand(ctx context.Context, r *clientRequest) (s *stream, answer []byte, err error) {
	for range 2 { // a daemon that ends between greeting and request refuses; the second one is then a new one
		if s, err = c.connect(ctx, r.frame); err != nil {
			return nil, nil, err
		}
		if answer, err = r.wait(ctx, s); err == nil {
			return s, answer, nil
		}
		s.close()
		if !errors.Is(err, host.ErrEnding) {
			return nil, nil, err
		}
	}
	return nil, nil, err
}

// eligible reports whether a server can be reached through the daemon at all.
func (c *Client) eligible(name string) bool {
	if c.givenUp.Load() || c.opt.Ephemeral != nil && c.opt.Ephemeral(name) {
		return false
	}
	// The daemon reads the files itself. A pipe, as of --config <(...), can be read only once and not by the daemon. A
	// path that is not UTF-8 would not cross the socket.
	for _, src := range slices.Concat(c.sources.Configs, c.sources.EnvFiles) {
		if src.Irregular || !utf8.ValidString(src.Path) {
			return false
		}
	}
	return utf8.ValidString(c.opt.Env.Dir) && utf8.ValidString(c.opt.Env.Home)
}

// newRequest returns a request with everything that it says of this process. audience may be nil.
func (c *Client) newRequest(q query, args json.RawMessage, audience tool.Audience) *clientRequest {
	q.Identity = c.opt.Identity
	q.Surroundings = host.Surroundings{Dir: c.opt.Env.Dir, Home: c.opt.Env.Home, Configs: c.opt.Selection.Configs,
		EnvFiles: c.opt.Selection.EnvFiles, Trusted: c.opt.Selection.Trusted, Tools: c.opt.Selection.Tools,
		Limits: c.opt.Limits, Idle: c.opt.Idle, Roots: c.opt.Roots}
	q.Options.Client = cmp.Or(q.Options.Client, c.id)
	environ := []byte(strings.Join(c.opt.Environ, separator))
	f := pack(kindQuery, q, args, environ)
	return &clientRequest{query: q, frame: f, fits: fits(f.payload[0], args, environ), audience: audience,
		observe: c.opt.Log}
}

// connect hands a request to a daemon of this version, which it starts if need be.
func (c *Client) connect(ctx context.Context, request frame) (*stream, error) {
	place, err := PlaceOf(c.opt.Env, c.sources.Key())
	if err != nil {
		return nil, err
	}
	s, err := c.handOver(place, request)
	if err == nil {
		c.served.Store(true)
	}
	if other := new(otherError); c.opt.InProcess != nil && errors.As(err, &other) &&
		!(c.opt.Yield && c.served.Load() && other.hello.Version != c.opt.Identity) {
		c.logf("the daemon is ending, or of another version (%s); waiting for its running calls to finish",
			other.hello.Version)
		err = replace(ctx, place, replacePatience-other.hello.Ending)
	}
	switch {
	case err == nil:
		return s, nil
	case !absent(err):
		return nil, err
	case c.opt.Start == nil:
		return nil, errors.New("none runs")
	}
	return c.start(ctx, place, request)
}

// absent reports whether err says that no daemon runs.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, io.EOF)
}

// connectTo connects to the daemon, sends a request without waiting for more, and reads the greeting. A daemon of
// another version, or one that is ending, refuses the request. After an error the daemon has not begun with the
// request, unless it is a *lostError. io.EOF says that the daemon was just ending.
func connectTo(place Place, request frame) (*stream, greeting, error) {
	s, err := dial(place.Socket)
	if err != nil {
		return nil, greeting{}, err
	}
	s.patience = greetPatience
	err = s.send(request) // if that fails, the daemon cannot have read all of it
	var hello greeting
	if err == nil {
		hello, err = readGreeting(s)
	}
	if err != nil {
		s.close()
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			err = io.EOF
		}
		return nil, greeting{}, err
	}
	return s, hello, nil
}

// readGreeting waits for the greeting. The daemon begins with a request only after it could send the greeting, which it
// cannot once this end reads no more. So readGreeting looks once more for one that came at the last moment.
func readGreeting(s *stream) (hello greeting, err error) {
	s.readWithin(greetPatience)
	err = s.expect(kindGreeting, &hello)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.interrupt()
		if s.expect(kindGreeting, &hello) == nil {
			err = &lostError{err}
		}
	}
	return hello, err
}

// replace asks a daemon to end and waits until it has, but not for longer than patience. It returns io.EOF when the
// daemon has ended.
func replace(ctx context.Context, place Place, patience time.Duration) error {
	if patience <= 0 { // an earlier request has waited for it
		return errBusyEnding
	}
	err := end(ctx, place, opStop, patience)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errBusyEnding
	}
	return cmp.Or(err, io.EOF)
}

// end asks the daemon at place to end with this operation, and waits until it has. Zero patience has no limit. An
// error that is absent says that none ran.
func end(ctx context.Context, place Place, op string, patience time.Duration) error {
	s, _, err := connectTo(place, pack(kindQuery, query{Op: op}))
	if lost := new(lostError); errors.As(err, &lost) { // there is no request to be lost
		err = lost.cause
	}
	if err != nil {
		return err
	}
	defer s.close()
	s.readWithin(patience)
	defer context.AfterFunc(ctx, s.interrupt)()
	if _, _, err = s.read(); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// errBusyEnding says that a daemon was asked to end and still has something to do.
var errBusyEnding = errors.New("one that is ending still has calls to finish")

// start starts a daemon, or finds the one that another process has just started, and hands it a request.
func (c *Client) start(ctx context.Context, place Place, request frame) (*stream, error) {
	const busy = "another process is starting one and does not come to an end"
	lock, err := takeLock(ctx, place.Start, startPatience, busy)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	s, err := c.handOver(place, request)
	// A daemon that is lost may have begun with the request, so that no other daemon may get it.
	if err == nil || errors.As(err, new(*lostError)) || errors.As(err, new(*otherError)) {
		return s, err
	}
	began := time.Now()
	if err := Start(ctx, place, c.opt.Start, c.opt.Env.Dir); err != nil {
		return nil, err
	}
	c.logf("started in %d ms", time.Since(began).Milliseconds())
	return c.handOver(place, request)
}

// handOver connects to the daemon and sends it a request. It fails if the daemon is of another version or is ending, or
// is known not to answer.
func (c *Client) handOver(place Place, request frame) (*stream, error) {
	if is, mine := place.frozen(); is {
		return nil, c.frozen(mine)
	}
	s, hello, err := connectTo(place, request)
	if errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, new(*lostError)) {
		place.remember()
		return nil, c.frozen(true)
	}
	if err != nil {
		return nil, err
	}
	if hello.Version != c.opt.Identity || hello.Ending > 0 {
		s.close()
		return nil, &otherError{hello}
	}
	return s, nil
}

// frozen returns errFrozen. If this process has found out, and can do without the daemon, frozen says so once.
func (c *Client) frozen(mine bool) error {
	if mine && c.opt.InProcess != nil && c.opt.Frozen != nil {
		c.said.Do(c.opt.Frozen)
	}
	return errFrozen
}

// otherError says that the daemon is of another version, or is ending.
type otherError struct{ hello greeting }

func (e *otherError) Error() string {
	return fmt.Sprintf("another process has just started or ended one (version %s)", e.hello.Version)
}
