package conn

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// A request that a server sends after its stdin was closed hurries its end; all the server writes is read.
func TestReadRest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want int // values that close gets
	}{
		"nothing": {"", 0},
		"noise and notification": {`tail of a message"}` + "\nbanner\n" +
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}` + "\n", 0},
		"answer":       {`{"jsonrpc":"2.0","id":7,"result":{}}` + "\n", 0},
		"two requests": {`{"id":0,"jsonrpc":"2.0","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":"b","method":"ping"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{hurry: make(chan time.Duration, 1)}
			p.noteRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)) // before close
			p.closing.Store(true)
			in := strings.NewReader(tt.text)
			p.readRest(in)
			if got := len(p.hurry); got != tt.want || in.Len() != 0 {
				t.Errorf("%d values, %d bytes are not read", got, in.Len())
			}
		})
	}
}

// Fifty servers come and go; see also goleak in TestMain.
func TestStartsLeaveNothingOpen(t *testing.T) {
	// Not parallel: it counts the files of the whole process.
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("files are counted in /proc/self/fd, which this system lacks: ", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what was forgotten
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{{Name: "echo"}}}, "bad": {Start: mcptest.Behaviour{Exit: &mcptest.Exit{}}}})
	cfg, opt := p.cfg, p.opt
	before := 0
	for i := range 50 {
		p := NewPool(cfg, opt)
		mustCall(t, p, "s", "echo")
		if _, err := p.List(t.Context(), "bad", tool.CallOptions{}); err == nil {
			t.Error("a server that exits at once gives tools")
		}
		p.Close()
		if i == 0 {
			before = mcptest.OpenFiles(t)
		}
	}
	if after := mcptest.OpenFiles(t); after > before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}
