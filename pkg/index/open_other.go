//go:build !unix

package index

import "os"

func openNow(path string) (*os.File, error) { return os.Open(path) }
