//go:build !unix

package early

import (
	"io"
	"os"
)

func stdout() io.Writer { return os.Stdout }
