package atomicfile

import (
	"errors"
	"fmt"
	"io"
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

// Read returns the content of a file that [Open] opens.
func Read(path string, limit int64) ([]byte, error) {
	file, info, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data)
	return data, err
}
