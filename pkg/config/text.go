package config

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxFile bounds a configuration, environment or settings file. The largest one seen in the wild is another client's
// state file of a few MB that also holds its servers.
const maxFile = 16 << 20

// byteOrderMark begins a UTF-8 file of some Windows editors.
const byteOrderMark = "\xef\xbb\xbf"

// readNamed reads a text file of at most maxFile bytes, which may be a pipe: the user named it, or a password manager
// made it. It waits for a pipe, but not for ever.
func readNamed(path string) ([]byte, error) {
	data, err := atomicfile.ReadNamed(path, maxFile)
	if err == nil && len(data) > maxFile {
		err = errors.New("it is larger than 16 MB")
	}
	return plain(withoutWide(data, err))
}

// readRegular reads a regular text file of at most maxFile bytes, without its byte order mark. It waits for nothing.
func readRegular(path string) ([]byte, error) {
	return plain(readBytes(path))
}

// readBytes reads a regular text file of at most maxFile bytes as it is.
func readBytes(path string) ([]byte, error) { return withoutWide(atomicfile.Read(path, maxFile)) }

// plain takes a UTF-8 byte order mark off.
func plain(data []byte, err error) ([]byte, error) {
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), err
}

// withoutWide fails for UTF-16.
func withoutWide(data []byte, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16, not UTF-8: save it again as UTF-8")
	}
	return data, nil
}

// ReadForeign reads another program's configuration file: a regular file with text of at most 16 MB, its byte order
// mark taken off. If it cannot be read, the error is a fault.Config that says why; errors.Is(err, fs.ErrNotExist) tells
// a missing file.
func ReadForeign(path string) ([]byte, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, unreadable(path, err, "Make it a readable text file.").Because(err)
	}
	return data, nil
}

// ReadOwn is [ReadForeign] for a file of mcpl's own, that a person may edit. It fails if another user could have
// written the file.
func ReadOwn(path string) ([]byte, error) {
	data, _, err := atomicfile.ReadOwn(path, maxFile)
	if data, err = plain(withoutWide(data, err)); err != nil {
		return nil, unreadable(path, err, "Make it a readable text file that belongs to you and that no one else may write.").
			Because(err)
	}
	return data, nil
}

// unreadable is the fault of a file that cannot be read.
func unreadable(path string, err error, help string) *fault.Fault {
	if f := fault.NoMoreFiles(err); f != nil {
		help = f.Help
	}
	help = orForPipe(err, help)
	return fault.New(fault.Config, fmt.Sprintf("cannot read %s: %s", path, atomicfile.Reason(err)), help)
}

// orForPipe returns what to do about a file that cannot be read: help, unless it is a pipe that mcpl has waited for.
func orForPipe(err error, help string) string {
	if silent, ok := errors.AsType[*atomicfile.SilentError](err); ok {
		return silent.Help()
	}
	return help
}
