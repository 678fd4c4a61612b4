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
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

const (
	// requestLimit bounds each request to an authorization server.
	requestLimit = 20 * time.Second
	// maxDocument bounds how much of an answer is read, in bytes.
	maxDocument = 1 << 20
	// maxRedirects bounds how many redirects in a row are followed. Only documents may redirect.
	maxRedirects = 5
	// maxQuoted bounds how much of a foreign text an error quotes, in characters.
	maxQuoted = 200
	// maxAddress bounds the address to log in at, in bytes. A person sees it, and the program that opens a browser gets
	// it; such programs take 8 KiB and more.
	maxAddress = 16 << 10
)

// absentError says that there is no document: the answer was not a success, or it was a web page that some servers
// answer everything with.
type absentError struct{ what string }

func (e *absentError) Error() string { return e.what }

// forbiddenError says why mcpl must not send to an address.
type forbiddenError struct{ why string }

func (e *forbiddenError) Error() string { return e.why }

// document fetches a JSON object into v. It follows redirects to addresses that allowed lets through.
func (m *Manager) document(ctx context.Context, s *config.Server, from string, allowed func(string) error,
	v any) error {
	client := m.net.client(s)
	for hop := 0; ; hop++ {
		if err := allowed(from); err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
		if err != nil {
			return errors.New("it is not a URL")
		}
		req.Header.Set("Accept", "application/json")
		req.Header.Set("User-Agent", m.agent())
		req.Header.Set("MCP-Protocol-Version", protocolVersion)
		resp, err := client.Do(req)
		if err != nil {
			return plainError(err)
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
		return &absentError{"it answered with HTTP " + resp.Status}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return plainError(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &absentError{"its answer is not the JSON that it should be"}
	}
	return nil
}

func isAbsent(err error) bool {
	var absent *absentError
	return errors.As(err, &absent)
}

// plainError takes the URL, which may hold a secret, off an error of net/http.
func plainError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// endpointCheck returns the check of addresses that a server names: https, plain http on this machine, and plain http
// at the server's own origin, which its entry allows. A server on another machine must not name this one.
func endpointCheck(s *config.Server) (func(string) error, error) {
	own, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	return func(text string) error {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
			return &forbiddenError{"it is not an https:// URL"}
		case originOf(u) == originOf(own):
			return nil
		case config.IsLoopback(u.Hostname()) && !config.IsLoopback(own.Hostname()):
			return &forbiddenError{"it points to this machine, and the server is another one"}
		case u.Scheme == "http" && !config.IsLoopback(u.Hostname()):
			return &forbiddenError{"it is plain http://, which others can read"}
		}
		return nil
	}, nil
}

// originOf returns scheme, host and port of a URL (RFC 6454, 4).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// quoted makes a foreign text fit for one line of an error.
func quoted(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if runes := []rune(text); len(runes) > maxQuoted {
		return string(runes[:maxQuoted]) + "…"
	}
	return text
}
