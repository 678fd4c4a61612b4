package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// holdings is what a process holds that can leak.
type holdings struct{ goroutines, files, children int }

func (h holdings) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %d children", h.goroutines, h.files, h.children)
}

// held counts them. Where there is no /proc, files and children count as none.
func held(t *testing.T) holdings {
	t.Helper()
	h := holdings{goroutines: runtime.NumGoroutine()}
	fds, err := os.ReadDir("/proc/self/fd")
	if err == nil {
		h.files = len(fds)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // see groupAlive
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			h.children++
		}
	}
	return h
}

// leakHTTP is a server that answers tools/call as the name of the tool says.
func leakHTTP() *handmade {
	h := &handmade{}
	h.on = map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, r *http.Request, m message) {
			name, token := nameAndToken(m)
			switch name {
			case "error":
				refuse(w, http.StatusOK, m.ID, -32603, "no")
			case "crash":
				breakOff(w)
			case "lost":
				w.WriteHeader(http.StatusNotFound)
			case "hang":
				stream(w)
				<-r.Context().Done()
			case "talk":
				send := stream(w)
				send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`)
				send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + askName + `}`)
				send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
			default:
				result(w, m, okResult)
			}
		},
		"GET": func(w http.ResponseWriter, r *http.Request, _ message) {
			stream(w)
			<-r.Context().Done()
		},
	}
	return h
}

func nameAndToken(m message) (name, token string) {
	var p struct {
		Name string
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return "", ""
	}
	return p.Name, string(p.Meta.ProgressToken)
}

// leakSSE is the same over the older transport.
func leakSSE() *sseServer {
	return &sseServer{call: func(send func(string), m message, hangUp func()) {
		switch name, token := nameAndToken(m); name {
		case "error":
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32603,"message":"no"}}`)
		case "crash", "lost":
			hangUp()
		case "hang":
		case "talk":
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`)
			send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + askName + `}`)
			fallthrough
		default:
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
		}
	}}
}

// After 500 calls of every kind and fate there are as many goroutines, files and children as before.
// It is not parallel: it counts what the process has.
func TestLeaks(t *testing.T) {
	before := held(t)
	web, old := httptest.NewServer(leakHTTP()), httptest.NewServer(leakSSE())
	talk := asking("talk", askName)
	talk.Progress = 2
	urls := urlPool(t, map[string]string{"http": fmt.Sprintf(`"url": %q`, web.URL), "sse": fmt.Sprintf(`"type": "sse", "url": %q`, old.URL)},
		func(o *Options) { o.Listen = true })
	pipes := newPool(t, scripts{"stdio": {Tools: []mcptest.Tool{{Name: "echo"},
		{Name: "error", Behaviour: mcptest.Behaviour{Error: &mcptest.Error{Code: 1, Message: "no"}}},
		{Name: "crash", Behaviour: mcptest.Behaviour{Exit: &mcptest.Exit{Code: 1}}},
		{Name: "lost", Behaviour: mcptest.Behaviour{Exit: &mcptest.Exit{Signal: "KILL"}}},
		{Name: "hang", Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(time.Hour)}}, talk},
		Grandchild: &mcptest.Grandchild{PID: filepath.Join(t.TempDir(), "pid")}}})
	answered := make([]int, 500)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8) // as many at a time
	for i := range answered {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			answered[i] = leakyCall(t, i, urls, pipes)
		})
	}
	wg.Wait()
	urls.Close()
	pipes.Close()
	for _, s := range []*httptest.Server{web, old} {
		s.CloseClientConnections()
		s.Close()
	}
	good := 0
	for _, n := range answered {
		good += n
	}
	if good < 100 {
		t.Errorf("only %d calls were answered: this test does not test what it is to", good)
	}
	if state, ok := mcptest.Poll(func() (string, bool) {
		after := held(t)
		return fmt.Sprintf("before: %v\nafter: %v", before, after),
			after.goroutines <= before.goroutines && after.files <= before.files && after.children <= before.children
	}); !ok {
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s\n%s", state, stacks[:runtime.Stack(stacks, true)])
	}
}

// leakyCall makes the i-th call. It returns 1 where that was answered.
func leakyCall(t *testing.T, i int, urls, pipes *Pool) int {
	server := []string{"http", "sse", "stdio"}[i%3]
	p := urls
	if server == "stdio" {
		p = pipes
	}
	name := []string{"echo", "talk", "error", "hang", "echo", "talk"}[i/3%6]
	if i%50 == 49 {
		name = []string{"crash", "lost"}[i/50%2]
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opt := tool.CallOptions{Audience: &audience{}, Timeout: 20 * time.Second}
	if name == "hang" {
		opt.Timeout = 30 * time.Millisecond
		if i%2 == 0 {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
	}
	_, err := p.Call(ctx, tool.Ref{Server: server, Name: name}, json.RawMessage("{}"), opt)
	if err == nil {
		return 1
	}
	return 0
}
