package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrUnfit says that something else is in the place of a file: a folder, a pipe, a device, or a file that is too large.
var ErrUnfit = errors.New("it is not a regular file")

// Open opens a file for reading. It does not wait, as for the other end of a pipe, and fails with an [ErrUnfit] unless
// the file is a regular one of at most limit bytes.
func Open(path string, limit int64) (*os.File, os.FileInfo, error) {
	file, err := openNow(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > limit) {
		err = fmt.Errorf("%w of at most %d MB", ErrUnfit, limit>>20)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// OpenOwn is [Open] for a file of the user's own. It fails if another user could have written it: see [Exposed].
func OpenOwn(path string, limit int64) (*os.File, os.FileInfo, error) {
	file, info, err := Open(path, limit)
	if err != nil {
		return nil, nil, err
	}
	if why := Exposed(info); why != "" {
		file.Close()
		return nil, nil, errors.New("it " + why)
	}
	return file, info, nil
}

// Read returns the content of a file that [Open] opens.
func Read(path string, limit int64) ([]byte, error) {
	data, _, err := readAll(Open(path, limit))
	return data, err
}

// ReadOwn returns the content of a file that [OpenOwn] opens.
func ReadOwn(path string, limit int64) ([]byte, os.FileInfo, error) {
	return readAll(OpenOwn(path, limit))
}

func readAll(file *os.File, info os.FileInfo, err error) ([]byte, os.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data)
	return data, info, err
}

// Reason says in a few words why a file cannot be read, without its path.
func Reason(err error) string {
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
