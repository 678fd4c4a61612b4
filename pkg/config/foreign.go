package config

import (
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// ReadForeign reads another program's configuration file: text of at most 16 MB, its byte order mark taken off. If the
// file cannot be read, the error is a fault.Config that says why; errors.Is(err, fs.ErrNotExist) tells a missing file.
func ReadForeign(path string) ([]byte, error) {
	data, err := readText(path)
	if err != nil {
		return nil, fault.New(fault.Config, fmt.Sprintf("cannot read %s: %s", path, reason(err)),
			"Make it a readable text file.").Because(err)
	}
	return data, nil
}

// ParseForeign parses JSON with comments and trailing commas. For other text the error is a fault.Config that names
// the line and quotes nothing. line returns the line of an offset, from 1.
func ParseForeign(path string, data []byte) (root hujson.Value, line func(offset int) int, err error) {
	p := &parser{path: path, data: data}
	root, err = p.parse()
	return root, p.line, err
}
