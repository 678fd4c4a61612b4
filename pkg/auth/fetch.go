package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

const (
	// requestLimit bounds each request to an authorization server.
	requestLimit = 20 * time.Second
	// maxDocument bounds how much of an answer is read, in bytes.
	maxDocument = 1 << 20
	// maxRedirects bounds how many redirects in a row are followed. Only documents may redirect.
	maxRedirects = 5
	// maxQuoted bounds how much of a foreign text an error quotes, in bytes.
	maxQuoted = 200
	// maxAddress bounds the address to log in at, in bytes. A person sees it, and the program that opens a browser gets
	// it; such programs take 8 KiB and more.
	maxAddress = 16 << 10
)

// absentError says that there is no document: the answer was not a success, or it was a web page that some servers
// answer everything with.
type absentError string

func (e absentError) Error() string { return string(e) }

// forbiddenError says why mcpl must not send to an address.
type forbiddenError string

func (e forbiddenError) Error() string { return string(e) }

// send sends a request that a server's word leads to. Its errors hold no URL, which may hold a secret.
func (m *Manager) send(ctx context.Context, s *config.Server, method, to, body string, h http.Header) (*http.Response,
	error) {
	req, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(body))
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	h.Set("User-Agent", "mcpl/"+m.opt.Version)
	req.Header = h
	resp, err := m.net.client(s, to).Do(req)
	return resp, plainError(err)
}

// document fetches a JSON object into v. It follows redirects to addresses that are allowed.
func (m *Manager) document(ctx context.Context, s *config.Server, from string, v any) error {
	for hop := 0; ; hop++ {
		if err := allowed(s, from); err != nil {
			return err
		}
		resp, err := m.send(ctx, s, http.MethodGet, from, "",
			http.Header{"Accept": {"application/json"}, "Mcp-Protocol-Version": {protocolVersion}})
		if err != nil {
			return err
		}
		to, redirected := resp.Location()
		if resp.StatusCode/100 == 3 && redirected == nil && hop < maxRedirects {
			resp.Body.Close()
			from = to.String()
			continue
		}
		return readDocument(resp, v)
	}
}

// readDocument reads and closes an answer.
func readDocument(resp *http.Response, v any) error {
	defer resp.Body.Close()
	if resp.StatusCode/100 == 5 {
		return fmt.Errorf("it answered with HTTP %s", resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return absentError("it answered with HTTP " + resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return plainError(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return absentError("its answer is not the JSON that it should be")
	}
	return nil
}

// plainError takes the URL, which may hold a secret, off an error of net/http.
func plainError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// allowed checks an address that a server names. It may be https, plain http on this machine, and plain http at the
// server's own origin, which its entry allows. A server on another machine must not name this one.
func allowed(s *config.Server, text string) error {
	own, err := url.Parse(s.URL)
	if err != nil {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return forbiddenError("it is not an https:// URL")
	case originOf(u) == originOf(own):
		return nil
	case config.IsLoopback(u.Hostname()) && !config.IsLoopback(own.Hostname()):
		return forbiddenError("it points to this machine, and the server is another one")
	case u.Scheme == "http" && !config.IsLoopback(u.Hostname()):
		return forbiddenError("it is plain http://, which others can read")
	}
	return nil
}

// originOf returns scheme, host and port of a URL (RFC 6454, 4).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// quoted makes a foreign text fit for one line of an error, masked before it is cut: half a secret would not be found.
func quoted(s *config.Server, text string) string { return fault.Excerpt(s.Mask(text), maxQuoted) }
