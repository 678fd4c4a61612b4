package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/itchyny/gojq"
)

// Query returns what a jq expression makes of a JSON value, in order. Numbers that it passes on keep their digits.
func Query(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error) {
	query, err := gojq.Parse(expr)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var input any
	if err := dec.Decode(&input); err != nil {
		return nil, err
	}
	results := []json.RawMessage{}
	for iter := code.RunWithContext(ctx, input); ; {
		v, ok := iter.Next()
		if !ok {
			return results, nil
		}
		if err, isErr := v.(error); isErr {
			return nil, err
		}
		out, err := gojq.Marshal(v)
		if err != nil {
			return nil, err
		}
		results = append(results, out)
	}
}
