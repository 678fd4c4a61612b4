package index

import (
	"os"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxFile bounds each file of the index, in bytes. A larger one is not mcpl's: reading it costs as much memory.
const maxFile = 256 << 20

// openFile opens a file of the index for reading, see [atomicfile.Open].
func openFile(path string) (*os.File, os.FileInfo, error) {
	file, info, err := atomicfile.Open(path, maxFile)
	return file, info, exhausted(err)
}

// readFile reads a whole file of the index.
func readFile(path string) ([]byte, error) {
	data, err := atomicfile.Read(path, maxFile)
	return data, exhausted(err)
}

// exhausted returns err, or a fault if err says that this process may open no more files: then nothing is wrong with
// the file, and building the index anew would not help.
func exhausted(err error) error {
	if f := fault.NoMoreFiles(err); f != nil {
		return f
	}
	return err
}
