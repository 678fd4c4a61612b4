package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxFile bounds a configuration, environment or settings file. The largest one seen in the wild is another client's
// state file of a few MB that also holds its servers.
const maxFile = 16 << 20

// byteOrderMark begins a UTF-8 file of some Windows editors.
const byteOrderMark = "\xef\xbb\xbf"

// readText reads a text file of at most maxFile bytes. A UTF-8 byte order mark is taken off.
func readText(path string) ([]byte, error) {
	data, err := readBytes(path)
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), err
}

// readBytes reads a text file of at most maxFile bytes as it is.
func readBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, errors.New("it is larger than 16 MB")
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16, not UTF-8: save it again as UTF-8")
	}
	return data, nil
}

// ReadForeign reads another program's configuration file: text of at most 16 MB, its byte order mark taken off. If the
// file cannot be read, the error is a fault.Config that says why; errors.Is(err, fs.ErrNotExist) tells a missing file.
func ReadForeign(path string) ([]byte, error) {
	data, err := readText(path)
	if err != nil {
		return nil, unreadable(path, err, "Make it a readable text file.").Because(err)
	}
	return data, nil
}

// unreadable is the fault of a file that cannot be read.
func unreadable(path string, err error, help string) *fault.Fault {
	if f := fault.NoMoreFiles(err); f != nil {
		help = f.Help
	}
	return fault.New(fault.Config, fmt.Sprintf("cannot read %s: %s", path, reason(err)), help)
}

// reason says in a few words why a file cannot be read, without its path.
func reason(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is not there"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &path):
		return path.Err.Error()
	default:
		return err.Error()
	}
}
