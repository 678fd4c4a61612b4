package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if code, ok := Answers(context.Background(), os.Args[1:], os.Stdin, os.Stdout); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// newApart returns what runs expressions apart, until the test ends.
func newApart(t *testing.T) *Apart {
	a := new(Apart)
	t.Cleanup(a.Close)
	return a
}

// TestApart holds what expressions return that run apart: the same as in this process, unless they exhaust something.
func TestApart(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	for title, tc := range map[string]struct{ expr, value, want, fails string }{
		"values":        {".[]", `[1.50,"<a>",12345678901234567890123]`, `1.50 "<a>" 12345678901234567890123`, ""},
		"nothing":       {"empty", `1`, "", ""},
		"a large value": {"length", `"` + strings.Repeat("x", 1<<20) + `"`, "1048576", ""},
		"no variables":  {"env, $ENV", `1`, "{} {}", ""},
		"not jq":        {".[", `1`, "", "unexpected"},
		"an error":      {".a", `1`, "", "expected an object"},
		"much":          {`"x" * 20000000`, `1`, "", "more than 16 MB"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			values, err := a.Query(t.Context(), tc.expr, json.RawMessage(tc.value))
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("%v, not %q", err, tc.fails)
			}
			raw := make([][]byte, len(values))
			for i, v := range values {
				raw[i] = v
			}
			if got := string(bytes.Join(raw, []byte(" "))); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestApartMemory ends a query that takes too much memory, in one step or in many, wherever that can be bounded.
func TestApartMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this system bounds no memory: ", runtime.GOOS)
	}
	a := newApart(t)
	for _, expr := range []string{`"x" * 700000000 | length`, `[limit(1000; repeat("x" * 1000000))] | map(. + "y") | length`} {
		values, err := a.Query(t.Context(), expr, json.RawMessage(`1`))
		if err == nil || !strings.Contains(err.Error(), "more than 512 MB of memory") {
			t.Errorf("%s: %s, %v", expr, values, err)
		}
	}
}

// TestApartIsKilled ends a step that cannot be interrupted when the context ends.
func TestApartIsKilled(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	late := errors.New("it is late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, late)
	defer cancel()
	if values, err := a.Query(ctx, `[range(10000000)] | map(tojson) | sort | length`, json.RawMessage(`1`)); !errors.Is(err, late) {
		t.Errorf("%s, %v", values, err)
	}
}
