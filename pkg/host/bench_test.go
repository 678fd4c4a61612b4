package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// instantCaller answers at once.
type instantCaller struct{}

func (instantCaller) List(context.Context, string, tool.CallOptions) (tool.Listing, error) {
	return tool.Listing{}, nil
}

func (instantCaller) Call(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
	return &tool.Result{}, nil
}

func (instantCaller) Request(
	context.Context, string, string, json.RawMessage, tool.CallOptions,
) (json.RawMessage, error) {
	return nil, nil
}

func (instantCaller) Watch(context.Context, string, tool.CallOptions, func(tool.Event)) (func(), error) {
	return func() {}, nil
}

func (instantCaller) Close() error { return nil }

// benchHome returns a home whose servers answer at once, and surroundings of the usual size.
func benchHome(b *testing.B) (*home, Surroundings) {
	h := newHome(b, func(o *Options) {
		o.NewCaller = func(*config.Config, CallerOptions) engine.Caller { return instantCaller{} }
	})
	h.configureAt(`{"s": {"command": "fake"}, "b": {"command": "fake"}}`, time.Now().Add(-time.Hour))
	var environ []string
	for i := range 60 {
		environ = append(environ, fmt.Sprintf("VARIABLE_%d=/a/value/of/the/usual/length/%d", i, i))
	}
	return h, h.here(environ...)
}

// BenchmarkWarmCall calls a warm server: through one caller, as an embedder does, and through one for each call, as
// the daemon does.
func BenchmarkWarmCall(b *testing.B) {
	ref := tool.Ref{Server: "s", Name: "t"}
	for name, each := range map[string]bool{"one caller": false, "a caller each": true} {
		b.Run(name, func(b *testing.B) {
			h, here := benchHome(b)
			c := h.Caller(here, nil)
			b.ReportAllocs()
			for b.Loop() {
				if each {
					c = h.Caller(here, nil)
				}
				if _, err := c.Call(b.Context(), ref, nil, tool.CallOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAcquire begins and ends uses of warm servers, one server or one for each of 100 keys, from many goroutines.
func BenchmarkAcquire(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			v := newBench(b)
			specs := make([]spec, n)
			for i := range specs {
				name := strconv.Itoa(i)
				specs[i] = v.spec(name, name)
				specs[i].env = envNamed(name)
				if err := v.call(specs[i]); err != nil {
					b.Fatal(err)
				}
			}
			defer v.close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					u, err := v.acquire(specs[i%n], nil)
					if err != nil {
						b.Error(err)
						return
					}
					v.release(u, nil)
				}
			})
		})
	}
}
