//go:build !unix

package atomicfile

import "os"

func openNow(path string) (*os.File, error) { return os.Open(path) }
