package conn

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// rootsOf returns the result of roots/list (MCP 2025-11-25, client/roots): the roots of the entry, by default the
// project's folder. It is nil if the server is offered no roots.
func rootsOf(server *config.Server, project string) json.RawMessage {
	roots := server.Roots
	if roots == nil && project != "" {
		roots = []string{project}
	}
	if len(roots) == 0 {
		return nil
	}
	list := []byte("[")
	for i, root := range roots {
		if i > 0 {
			list = append(list, ',')
		}
		uri := root
		if !strings.HasPrefix(root, "file:") {
			uri = fileURI(root, runtime.GOOS == "windows")
		}
		list = append(list, tool.JoinObject([]tool.Field{
			{Key: "uri", Value: tool.Quote(uri)}, {Key: "name", Value: tool.Quote(rootName(uri))}})...)
	}
	return tool.JoinObject([]tool.Field{{Key: "roots", Value: append(list, ']')}})
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
