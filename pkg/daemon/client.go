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
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// greetPatience is how long a daemon that was connected to may take to speak.
	greetPatience = 2 * time.Second
	// silence is how long it may say nothing about a request that runs; it says something every 5 s.
	silence = 30 * time.Second
	// startPatience is how long a new daemon may take to listen.
	startPatience = 10 * time.Second
	// replacePatience is how long a request waits for a daemon of another version to end before it
	// is done without one.
	replacePatience = 2 * time.Second
	// cancelPatience is how long the answer to a cancelled request is waited for.
	cancelPatience = 5 * time.Second
)

// ClientOptions make a [Client].
type ClientOptions struct {
	Env       config.Env
	Selection config.Selection
	// Environ is the environment that configuration is resolved with and servers inherit, as
	// os.Environ gives it.
	Environ []string
	// Identity is that of this build; see [Identity].
	Identity string
	Limits   tool.Limits
	// Idle is after how long a server stops whose entry does not say; 0 means 15 min.
	Idle time.Duration
	// Start are the arguments that make this program the daemon; nil: none is started.
	Start []string
	// Ephemeral, when not nil, tells of servers that have no place in the daemon before it is asked.
	Ephemeral func(server string) bool
	// InProcess opens the caller that does the work where no daemon can be had. nil: nothing is
	// done to have one, and what it does not take gives engine.ErrNotFresh.
	InProcess func() engine.Caller
	// Log, when not nil, is told what happens. It may be called concurrently.
	Log func(who, event string)
}

// Client reaches live servers through the daemon of their configuration set, and where that
// cannot be had in this process. It is safe for concurrent use.
type Client struct {
	sources *config.Sources
	opt     ClientOptions
	id      string // of this client among those of the daemon

	mu        sync.Mutex
	inProcess engine.Caller // nil until needed
	given     bool          // the daemon was given up: everything is done in this process
}

// NewClient returns a client for the servers of a configuration set. Nothing is started or
// connected to.
func NewClient(sources *config.Sources, opt ClientOptions) *Client {
	return &Client{sources: sources, opt: opt, id: strconv.FormatUint(rand.Uint64(), 36)}
}

// List asks a server for what it offers.
func (c *Client) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	a, err := c.ask(ctx, &exchange{query: query{Op: opTools, Server: server}.withOptions(opt), audience: opt.Audience})
	switch {
	case err != nil:
		return tool.Listing{}, err
	case a == nil:
		return c.local().List(ctx, server, opt)
	}
	l, err := unpackListing(a.payload)
	if a.kind != kindListing || err != nil {
		return tool.Listing{}, strange(server, "", err)
	}
	return l, nil
}

// Call calls a tool, reads a resource or gets a prompt. A result that reports an error is a result.
func (c *Client) Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	q := query{Op: opCall, Server: ref.Server, Kind: ref.Kind, Name: ref.Name}.withOptions(opt)
	a, err := c.ask(ctx, &exchange{query: q, args: args, audience: opt.Audience})
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return c.local().Call(ctx, ref, args, opt)
	}
	res, err := unpackResult(a.payload)
	if a.kind != kindResult || err != nil {
		return nil, strange(ref.Server, ref.Name, err)
	}
	return res, nil
}

// Refresh has the daemon do what engine.RefreshLate does, and returns as soon as it has taken that
// on. It fails where none of this version runs; none is started.
func (c *Client) Refresh(ctx context.Context) error {
	if !c.eligible("") {
		return errors.New("the configuration is not in files that the daemon can read")
	}
	x := exchange{query: query{Op: opRefresh}}
	c.fill(&x)
	place, err := PlaceOf(c.opt.Env, c.sources.Key())
	if err != nil {
		return err
	}
	frames, err := x.frames()
	if err != nil {
		return err
	}
	s, hello, err := greet(place, frames...)
	if err != nil {
		return err
	}
	if s, err = c.known(s, hello); err != nil {
		return err
	}
	defer s.close()
	a, err := x.do(ctx, s)
	if err == nil && a.kind != kindTaken {
		err = strange("", "", fmt.Errorf("a frame of kind %q", a.kind))
	}
	return err
}

// Close stops what was started in this process. What runs in the daemon stays there.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inProcess == nil {
		return nil
	}
	err := c.inProcess.Close()
	c.inProcess, c.given = nil, true
	return err
}

// local returns the caller in this process.
func (c *Client) local() engine.Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.opt.InProcess == nil:
		return nowhere{}
	case c.inProcess == nil:
		c.inProcess = c.opt.InProcess()
	}
	return c.inProcess
}

// nowhere is the caller of a client that may do nothing in its own process.
type nowhere struct{}

func (nowhere) List(context.Context, string, tool.CallOptions) (tool.Listing, error) {
	return tool.Listing{}, engine.ErrNotFresh
}

func (nowhere) Call(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
	return nil, engine.ErrNotFresh
}

func (nowhere) Close() error { return nil }

func (c *Client) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = true
}

func (c *Client) givenUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.given
}

func (c *Client) note(format string, args ...any) {
	if c.opt.Log != nil && c.opt.InProcess != nil {
		c.opt.Log(logName, fmt.Sprintf(format, args...))
	}
}

// ask has the daemon do a request. It returns nil without an error where the request has to be
// done in this process: nothing has been done yet, or the daemon was lost and to do it twice does no harm.
// A failure is a fault.
func (c *Client) ask(ctx context.Context, x *exchange) (*answer, error) {
	if !c.eligible(x.query.Server) {
		return nil, nil
	}
	c.fill(x)
	frames, err := x.frames()
	if err != nil {
		return nil, err
	}
	// A daemon that ends between greeting and request refuses; the second one is then a new one.
	for range 2 {
		var a *answer
		var lost *lostError
		s, err := c.connect(ctx, frames)
		switch {
		case err == nil:
			a, err = x.do(ctx, s)
			s.close()
		case !errors.As(err, &lost):
			if ctx.Err() == nil {
				c.note("no daemon is used: %v", err)
			}
			c.giveUp()
			return nil, nil
		}
		switch {
		case errors.Is(err, errEnding):
			continue
		case err == nil && a.kind == kindDecline:
			return nil, nil
		case !errors.As(err, &lost):
			return a, err
		case x.query.Op != opTools && !x.query.Options.Repeatable:
			return nil, lost.fault(tool.Ref{Server: x.query.Server, Name: x.query.Name, Kind: x.query.Kind})
		}
		c.note("%v; it is made again without one, since that does no harm", err)
		c.giveUp()
		return nil, nil
	}
	c.giveUp()
	return nil, nil
}

// eligible reports whether a server is to be reached through the daemon at all.
func (c *Client) eligible(name string) bool {
	if c.givenUp() {
		return false
	}
	if c.opt.Ephemeral != nil && c.opt.Ephemeral(name) {
		return false
	}
	// The daemon reads the files itself. A pipe, as of --config <(...), can be read only once, and
	// not by it; a path that is no UTF-8 would not cross the socket.
	for _, src := range slices.Concat(c.sources.Configs, c.sources.EnvFiles) {
		info, err := os.Stat(src.Path)
		if err != nil || !info.Mode().IsRegular() || !utf8.ValidString(src.Path) {
			return false
		}
	}
	return utf8.ValidString(c.opt.Env.Dir) && utf8.ValidString(c.opt.Env.Home)
}

// fill adds what this process is like.
func (c *Client) fill(x *exchange) {
	q := &x.query
	q.Identity = c.opt.Identity
	q.Dir, q.Home = c.opt.Env.Dir, c.opt.Env.Home
	q.Configs, q.EnvFiles = c.opt.Selection.Configs, c.opt.Selection.EnvFiles
	q.Options.Client = cmp.Or(q.Options.Client, c.id)
	q.Limits, q.Idle = c.opt.Limits, c.opt.Idle
	q.Events = c.opt.Log != nil
	x.environ, x.log = strings.Join(c.opt.Environ, separator), c.opt.Log
}

// connect hands a request to a daemon of this version, started now if need be.
func (c *Client) connect(ctx context.Context, request []frame) (*stream, error) {
	place, err := PlaceOf(c.opt.Env, c.sources.Key())
	if err != nil {
		return nil, err
	}
	s, hello, err := greet(place, request...)
	switch {
	case err != nil:
	case c.opt.InProcess == nil:
		return c.known(s, hello)
	case hello.Ending > 0 || hello.Version != c.opt.Identity:
		s.close()
		c.note("the daemon is ending, or of another version (%s); it is let finish its calls", hello.Version)
		err = replace(ctx, place, replacePatience-hello.Ending)
	default:
		return s, nil
	}
	switch {
	case !absent(err):
		return nil, err
	case c.opt.Start == nil:
		return nil, errors.New("none runs")
	}
	return c.start(ctx, place, request)
}

// absent reports whether err says that no daemon is there.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errRefused) || errors.Is(err, io.EOF)
}

// greet connects to the daemon, sends a request without waiting for more, and hears the greeting. A
// daemon of another version, or that is ending, refuses the request. With an error it has not begun
// with it: io.EOF says that it was just ending. The exception is a *lostError.
func greet(place Place, request ...frame) (*stream, greeting, error) {
	s, err := dial(place.Socket)
	if err != nil {
		return nil, greeting{}, err
	}
	s.patience = greetPatience
	err = s.send(request...) // where that fails the daemon cannot have read the whole
	var hello greeting
	if err == nil {
		hello, err = hear(s)
	}
	if err != nil {
		s.close()
		if errors.Is(err, errReset) || errors.Is(err, errPipe) {
			err = io.EOF
		}
		return nil, greeting{}, err
	}
	return s, hello, nil
}

// hear waits for the greeting. The daemon begins with a request only when it could greet, which it
// cannot once this end reads no more; so a greeting that comes at the last moment is found out.
func hear(s *stream) (hello greeting, err error) {
	s.readWithin(greetPatience)
	err = s.readJSON(kindGreeting, &hello)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.interrupt()
		if s.readJSON(kindGreeting, &hello) == nil {
			err = &lostError{err}
		}
	}
	return hello, err
}

// replace asks a daemon to end and waits a while until it has. It returns io.EOF when it has.
func replace(ctx context.Context, place Place, patience time.Duration) error {
	if patience <= 0 { // one that takes long to end has been waited for
		return errBusyEnding
	}
	s, _, err := greet(place, opFrame(opStop))
	if lost := new(lostError); errors.As(err, &lost) { // not in the middle of a request
		err = lost.cause
	}
	if err != nil {
		return err
	}
	defer s.close()
	defer context.AfterFunc(ctx, s.interrupt)()
	s.readWithin(patience)
	_, _, err = s.read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errBusyEnding
	}
	if errors.Is(err, errReset) {
		err = io.EOF
	}
	return err
}

// errBusyEnding says that a daemon has been told to end and still has something to do.
var errBusyEnding = errors.New("one that is ending still has calls to finish")

// start starts a daemon, or finds the one that another process is just starting, and hands it a
// request.
func (c *Client) start(ctx context.Context, place Place, request []frame) (*stream, error) {
	lock := flock.New(place.Start, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		mine, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		s, hello, err := greet(place, request...)
		if lost := new(lostError); err == nil || errors.As(err, &lost) {
			if mine {
				lock.Unlock()
			}
			if err != nil { // it may have begun with the request, which no other may have then
				return nil, err
			}
			return c.known(s, hello)
		}
		if mine {
			break
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("another process is starting one and does not come to an end")
		case <-time.After(5 * time.Millisecond):
		}
	}
	defer lock.Unlock()
	began := time.Now()
	if err := spawn(ctx, c.opt.Start, c.opt.Env.Dir, place.Log); err != nil {
		return nil, err
	}
	c.note("started in %d ms", time.Since(began).Milliseconds())
	s, hello, err := greet(place, request...)
	if err != nil {
		return nil, err
	}
	return c.known(s, hello)
}

// known returns the stream where the daemon at its other end is of this version and there to stay.
func (c *Client) known(s *stream, hello greeting) (*stream, error) {
	if hello.Version == c.opt.Identity && hello.Ending == 0 {
		return s, nil
	}
	s.close()
	return nil, fmt.Errorf("another process has just started or ended one (version %s)", hello.Version)
}
