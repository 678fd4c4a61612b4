package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/itchyny/gojq"
)

// Query parses a jq expression. It returns a function that returns what the expression makes of a JSON value, in order.
// Numbers that it passes on keep their digits.
func Query(expr string) (func(context.Context, json.RawMessage) ([]json.RawMessage, error), error) {
	query, err := gojq.Parse(expr)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, value json.RawMessage) ([]json.RawMessage, error) {
		return run(ctx, code, value)
	}, nil
}

// run applies a compiled expression to a value.
func run(ctx context.Context, code *gojq.Code, value json.RawMessage) ([]json.RawMessage, error) {
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
