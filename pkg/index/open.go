package index

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxFile bounds each file of the index, in bytes. A larger one is not mcpl's: reading it costs as much memory.
const maxFile = 256 << 20

// errUnfit says that something else is in the place of a file of the index.
var errUnfit = errors.New("it is not a regular file of at most 256 MB")

// openFile opens a file of the index for reading. It does not wait, as for the other end of a pipe, and fails unless
// the file is a regular one of at most maxFile bytes.
func openFile(path string) (*os.File, os.FileInfo, error) {
	file, err := openNow(path)
	if err != nil {
		return nil, nil, exhausted(err)
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = errUnfit
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// readFile reads a whole file of the index.
func readFile(path string) ([]byte, error) {
	file, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data)
	return data, err
}

// exhausted returns err, or a fault if err says that this process may open no more files: then nothing is wrong with
// the file, and building the index anew would not help.
func exhausted(err error) error {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err
	}
	return fault.New(fault.Config, "mcpl may open no more files",
		"Raise the limit of open files (ulimit -n), and type the command again.").Because(err)
}
