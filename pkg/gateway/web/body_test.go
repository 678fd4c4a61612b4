package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestUnfinishedBody: a client whose body does not come, or ends early, gets an error.
func TestUnfinishedBody(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t)
	h := httptest.NewUnstartedServer(s)
	h.Config.ReadTimeout = 300 * time.Millisecond
	h.Start()
	t.Cleanup(h.Close)
	for _, isHalfClosed := range []bool{false, true} {
		t.Run(fmt.Sprint("half closed ", isHalfClosed), func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", h.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
				"Accept: */*\r\nContent-Length: 1000\r\n\r\n{")
			if isHalfClosed && err == nil {
				err = c.(*net.TCPConn).CloseWrite()
			}
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusRequestTimeout {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
}
