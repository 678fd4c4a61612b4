package conn

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// rootsOf returns the result of roots/list (MCP 2025-11-25, client/roots): the roots of the entry or, if it does not
// say, the project's folder. It is nil if the server is offered no roots.
func rootsOf(server *config.Server, project string) json.RawMessage {
	roots := server.Roots
	if roots == nil && project != "" {
		roots = []string{project}
	}
	if len(roots) == 0 {
		return nil
	}
	var list []json.RawMessage
	for _, root := range roots {
		uri := root
		if !strings.HasPrefix(root, "file:") {
			uri = fileURI(root, runtime.GOOS == "windows")
		}
		list = append(list, tool.JoinObject([]tool.Field{
			{Key: "uri", Value: tool.Quote(uri)}, {Key: "name", Value: tool.Quote(rootName(uri))}}))
	}
	return tool.JoinObject([]tool.Field{{Key: "roots", Value: tool.JoinArray(list)}})
}

// Bounds of [session.settleRoots].
const (
	rootsGrace  = 5 * time.Second
	rootsSettle = 100 * time.Millisecond
)

// rootsAsked says whether the server has asked for its roots.
type rootsAsked struct {
	first    *atomic.Bool  // it has asked
	answered chan struct{} // closed when the first answer was sent
	answer   func()        // closes answered
}

func newRootsAsked() rootsAsked {
	answered := make(chan struct{})
	return rootsAsked{new(atomic.Bool), answered, sync.OnceFunc(func() { close(answered) })}
}

// settleRoots returns when the server has taken over the roots that it was offered. A server that limits itself to
// them asks for them right after the handshake, and a request that overtakes the answer would be judged by its other
// folders. A server reads in order: if it asks, it has done so before it answers a ping. So a server that does not ask
// costs the time of a ping. After the answer a second ping says that it was read, and rootsSettle is for the look at
// the folders, which the reference file server takes after that.
//
// Over Streamable HTTP nothing waits: a server sends such a request on the stream that the first call opens. From
// 2026-07-28 on servers ask in the course of a call.
func (s *session) settleRoots(ctx context.Context) {
	if s.roots == nil || s.modern() || s.overHTTP() {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rootsGrace, errTimeout)
	defer cancel()
	// If the server refuses the ping, that is an answer too. If it is gone, the first request will tell.
	_, _ = s.request(ctx, nil, string(mcp.MethodPing), nil)
	if !s.asked.first.Load() {
		return
	}
	select {
	case <-s.asked.answered:
	case <-ctx.Done():
		return
	}
	_, _ = s.request(ctx, nil, string(mcp.MethodPing), nil)
	_, _ = s.sleep(ctx, rootsSettle, nil)
	s.log("it has its roots")
}

// fileURI returns the file URI of an absolute path (RFC 8089). A Windows share's server is the host.
func fileURI(path string, windows bool) string {
	u := url.URL{Scheme: "file", Path: path}
	if windows {
		u.Path = strings.ReplaceAll(path, `\`, "/")
		if share, ok := strings.CutPrefix(u.Path, "//"); ok {
			host, rest, _ := strings.Cut(share, "/")
			u.Host, u.Path = host, "/"+rest
		} else {
			u.Path = "/" + u.Path
		}
	}
	return u.String()
}

// rootName returns the last part of a root's path, for people.
func rootName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	return path.Base(filepath.ToSlash(u.Path))
}
