//go:build linux || darwin

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// dial opens a connection to the site, which lasts as long as the test.
func (s site) dial() *net.TCPConn {
	s.t.Helper()
	address, _, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// head is the beginning of a request of HTTP, with more headers.
func head(headers string) string {
	return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n" + headers + "\r\n"
}

// says writes a text over a connection of its own and returns the status of the response.
func (s site) says(text io.Reader) int {
	s.t.Helper()
	c := s.dial()
	done := make(chan struct{})
	go func() { // a response may come before all is written, and the connection closes then
		defer close(done)
		_, _ = io.Copy(c, text)
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Error(err)
		return 0
	}
	resp.Body.Close()
	c.Close()
	<-done
	return resp.StatusCode
}

// endless repeats a text for about so many bytes.
func endless(text string, n int) io.Reader {
	const block = 1 << 16
	text = strings.Repeat(text, block/len(text))
	readers := make([]io.Reader, n/block)
	for i := range readers {
		readers[i] = strings.NewReader(text)
	}
	return io.MultiReader(readers...)
}

// TestServeUndisturbed: whatever other clients send, leave unread or never finish, one that behaves is served.
func TestServeUndisturbed(t *testing.T) {
	t.Parallel()
	script, most := servedScript(), 8<<20 // more than the buffers of a connection
	if raced {
		most = 1 << 20 // each byte takes its time
	}
	script.Tools = append(script.Tools, mcptest.Tool{Name: "large", Bytes: most})
	h := newHome(t, script)
	s := h.serveHTTP(t, "--expose", "all")
	id := s.session()
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_odd","arguments":{"a":1}}}`
	s.is(s.ask("POST", call, id), 200, oddResult)

	for range 20 { // they hold their connections for as long as the test lasts
		for _, text := range []string{
			head("Content-Length: 100") + "\r\n{", // and the rest never comes
			"POST /mcp HTTP/1.1\r\nHost: loc",
			head("Content-Length: 0\r\nMcp-Session-Id: none") + "\r\n",
		} {
			if _, err := io.WriteString(s.dial(), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	large := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"s_large"}}`
	for i := range 4 { // never read; one of them says that it sends no more
		c := s.dial()
		if _, err := io.WriteString(c, head(fmt.Sprintf("Content-Length: %d", len(large)))+"\r\n"+large); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
	}

	bad := make(chan struct{})
	go func() {
		defer close(bad)
		const hundred = 100 << 20
		for _, c := range []struct {
			text   io.Reader
			status int
		}{
			{io.MultiReader(strings.NewReader(head(fmt.Sprintf("Content-Length: %d\r\n", hundred))), endless("x", hundred)), 413},
			{io.MultiReader(strings.NewReader(head("Transfer-Encoding: chunked\r\n")),
				endless("10\r\n0123456789abcdef\r\n", hundred)), 413},
			{io.MultiReader(strings.NewReader("POST /mcp HTTP/1.1\r\nX: "), endless("x", hundred)), 431},
			{strings.NewReader(strings.Repeat("\x16\x03\x01", 1000) + "\r\n\r\n"), 400},
			{strings.NewReader("GET /mcp HTTP/9.9\r\n\r\n"), 505},
			{strings.NewReader(head("Content-Length: -1\r\n")), 400},
		} {
			if got := s.says(c.text); got != c.status {
				t.Errorf("status %d, not %d", got, c.status)
			}
		}
		for _, body := range []string{`{`, `[` + call + `]`, strings.Repeat("[", 1<<20), `{"jsonrpc":"2.0","id":1,"method":7}`, "\x00"} {
			s.is(s.ask("POST", body, id), 400, `"error"`)
		}
	}()
	for calls, ended := 0, false; !ended || calls < 50; calls++ {
		select {
		case <-bad:
			ended = true
		default:
		}
		began := time.Now()
		s.is(s.ask("POST", call, id), 200, oddResult)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a call took %s", took)
		}
	}
}

// TestServeLongLine: a line without end is answered with an error, over stdin and stdout too.
func TestServeLongLine(t *testing.T) {
	t.Parallel()
	f := newHome(t, servedScript()).serve(t)
	f.initialize(`{}`)
	written := make(chan struct{})
	go func() { // the gateway ends before all is read
		defer close(written)
		_, _ = io.Copy(f.in, endless("x", 100<<20))
	}()
	f.until(`"code":-32700`, `too long`)
	<-written
}
