package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// due is what the server has to respond with.
type due int

const (
	nothingDue  due = iota // anything: to a notification, or to our response to the server
	successDue             // a status of success
	responseDue            // a message or a stream of them
	eventsDue              // a stream of messages
)

// httpExchange is one JSON-RPC message over HTTP: its POST, redirects of that, and GETs that resume the response.
type httpExchange struct {
	request string // the id of the JSON-RPC request, as JSON; empty for other messages
	want    due    // in response to the POST
	aside   bool   // it belongs to no request of a caller, whose faults leave it out

	mu   sync.Mutex
	came reached
}

// reached is how far an exchange came.
type reached struct {
	resumed bool   // its stream was ended to be resumed, and that was tried: the server has certainly accepted the request
	stage   string // as in "connecting to 192.0.2.1:443"
	status  int    // of the last response; 0 until there is one
	ended   error  // why the stream of the last response ended; nil until then
}

// due returns what the server has to respond to req with.
func (x *httpExchange) due(req *http.Request) due {
	if req.Method != http.MethodGet {
		return x.want
	}
	x.note(func(r *reached) { r.resumed = true })
	return eventsDue
}

// trace returns a context under which an HTTP request notes how far it has come.
func (x *httpExchange) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:             func(i httptrace.DNSStartInfo) { x.reach("looking up " + i.Host) },
		ConnectStart:         func(_, addr string) { x.reach("connecting to " + addr) },
		TLSHandshakeStart:    func() { x.reach("agreeing on TLS") },
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.reach("waiting for its answer") },
		GotFirstResponseByte: func() { x.reach("reading its answer") },
	})
}

func (x *httpExchange) reach(stage string) { x.note(func(r *reached) { r.stage = stage }) }

// note changes how far the exchange came.
func (x *httpExchange) note(change func(*reached)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.came)
}

// result returns how far the exchange came.
func (x *httpExchange) result() reached {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.came
}

// errorIn returns the JSON-RPC error in the body of a response, as a response to the request of x. It is nil if the
// body holds no error. The id in the body may be null, if the server did not read as far.
func (x *httpExchange) errorIn(body []byte) []byte {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	var details *mcp.JSONRPCErrorDetails
	if json.Unmarshal(body, &m) != nil || m.JSONRPC != mcp.JSONRPC_VERSION ||
		json.Unmarshal(m.Error, &details) != nil || details == nil {
		return nil
	}
	return tool.JoinObject([]tool.Field{{Key: "jsonrpc", Value: json.RawMessage(`"2.0"`)},
		{Key: "id", Value: json.RawMessage(x.request)}, {Key: "error", Value: m.Error}})
}

// exchangeHeader names the exchange of an HTTP request that the SDK makes. It never reaches the server.
const exchangeHeader = "Mcpl-Exchange"

// exchanges is the way of a transport of the SDK to the round tripper. The SDK hands only two things of ours from
// a JSON-RPC request to its HTTP requests: headers to the POST, and the id of the last event to the GET that resumes
// a stream. So the POST names its exchange in a header, and each id of an event that the SDK sees begins with that
// name; see eventFilter. RoundTrip takes both out again.
type exchanges struct {
	tripper *roundTripper

	mu   sync.Mutex
	open map[string]*httpExchange // by request
}

// begin opens the exchange of a request. named are the headers with the name of the exchange; end ends it.
func (e *exchanges) begin(id mcp.RequestId, headers http.Header) (x *httpExchange, named http.Header, end func()) {
	request, _ := json.Marshal(id) // wire makes numbers, which always encode
	x = &httpExchange{request: string(request), want: responseDue}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[x.request] = x
	if named = headers.Clone(); named == nil {
		named = make(http.Header)
	}
	named.Set(exchangeHeader, x.request)
	return x, named, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, x.request)
	}
}

// RoundTrip implements http.RoundTripper. A request without an open exchange, such as a notification, gets a new one.
func (e *exchanges) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	name := out.Header.Get(exchangeHeader)
	out.Header.Del(exchangeHeader)
	if last := out.Header.Get(lastEventID); last != "" {
		name, last, _ = strings.Cut(last, exchangeEnd)
		out.Header.Set(lastEventID, last)
	}
	return e.tripper.roundTrip(out, e.find(name))
}

func (e *exchanges) find(name string) *httpExchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.open[name]; ok {
		return x
	}
	return new(httpExchange)
}

const (
	lastEventID = "Last-Event-ID" // the header of a GET that resumes a stream
	exchangeEnd = ":"             // ends the name of an exchange in the id of an event
)

// errTooLong says that a message exceeds maxMessage.
var errTooLong = errors.New("the message is too long")

// limitedBody passes on a body, ends it if a message grows too long, and notes in the exchange why it ended.
type limitedBody struct {
	io.ReadCloser
	events   bool
	exchange *httpExchange
	take     func(message []byte) // called with a plain response that may be an error
	kept     []byte               // of a plain response, until it exceeds maxErrorBody
	object   objectScanner        // of kept
	size     int                  // of the message so far
	blank    bool                 // so far, the line is empty
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.measure(p[:n]); b.size > maxMessage {
		err = errTooLong
		n = 0
	}
	if !b.events && b.size <= maxErrorBody {
		// The SDK need not read on after the last brace.
		if b.kept = append(b.kept, p[:n]...); b.object.ends(p[:n]) && mayRefuse(b.kept) {
			b.take(b.kept)
		}
	}
	// The end of a plain response says nothing; the SDK may see it before the message.
	if err != nil && (b.events || err != io.EOF) {
		b.exchange.note(func(r *reached) { r.ended = err })
	}
	return n, err
}

// objectScanner finds the end of a JSON object that comes in pieces, looking at each byte once.
type objectScanner struct {
	depth           int
	inText, escaped bool
	over            bool // it has ended
}

// ends reports whether the object ends in p, the next piece. It does so at most once, also for bytes that are not JSON.
func (o *objectScanner) ends(p []byte) bool {
	for _, c := range p {
		switch {
		case o.over:
			return false
		case o.escaped:
			o.escaped = false
		case o.inText:
			o.inText, o.escaped = c != '"', c == '\\'
		case c == '"':
			o.inText = true
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			o.depth--
			if o.over = o.depth == 0; o.over {
				return true
			}
		}
	}
	return false
}

// measure counts the bytes of the current message. An empty line ends an event.
func (b *limitedBody) measure(p []byte) {
	if !b.events {
		b.size += len(p)
		return
	}
	for len(p) > 0 {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		if b.size += len(line) + 1; len(bytes.TrimRight(line, "\r")) > 0 {
			b.blank = false
		}
		if found {
			if b.blank {
				b.size = 0
			}
			b.blank = true
		}
		p = rest
	}
}
