//go:build !unix

package verb

import (
	"errors"
	"io"
)

func isClosedPipe(err error) bool { return errors.Is(err, io.ErrClosedPipe) }
