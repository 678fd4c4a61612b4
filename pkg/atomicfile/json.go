package atomicfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseJSON parses the JSON of one of mcpl's files into v. Members that v does not have are an error: what a file says
// is not to be taken without its conditions. If there is a mistake in the JSON itself, line is its line, else it is 0.
func ParseJSON(data []byte, v any) (line int, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return lineOf(data, syntax.Offset), err
	case errors.As(err, &typed) && typed.Field == "":
		return lineOf(data, typed.Offset), errors.New("it is not an object")
	case errors.As(err, &typed):
		return lineOf(data, typed.Offset), fmt.Errorf("%q is of the wrong type", typed.Field)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return lineOf(data, int64(len(data))), errors.New("it ends too early")
	case err != nil:
		return 0, err
	}
	if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) > 0 {
		return lineOf(data, d.InputOffset()), errors.New("there is more behind its end")
	}
	return 0, nil
}

// lineOf returns the line of a byte.
func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(int64(len(data)), max(0, offset))], []byte("\n"))
}

// At names a place in a file: "path:line", or the path alone if line is 0.
func At(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}
