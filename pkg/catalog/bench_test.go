package catalog

import (
	"fmt"
	"testing"
)

// many is a world with servers that have been listed.
func many(b *testing.B) *world {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("server%d", i))
	}
	w := newWorld(b, names...)
	if err := w.catalog().Read(b.Context(), Need{}, nil); err != nil {
		b.Fatal(err)
	}
	return w
}

func (c *Catalog) bench(b *testing.B) {
	v, err := c.Ensure(b.Context(), Need{})
	if err != nil {
		b.Fatal(err)
	}
	v.Release()
}

// BenchmarkFirst is what a process pays that answers one request from a fresh index.
func BenchmarkFirst(b *testing.B) {
	w := many(b)
	w.early = true
	b.ReportAllocs()
	for b.Loop() {
		c := New(w.options())
		c.bench(b)
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnsure is one more request on a fresh index.
func BenchmarkEnsure(b *testing.B) {
	c := many(b).catalog()
	b.ReportAllocs()
	for b.Loop() {
		c.bench(b)
	}
}

// BenchmarkEnsureParallel is BenchmarkEnsure from many goroutines.
func BenchmarkEnsureParallel(b *testing.B) {
	c := many(b).catalog()
	b.ReportAllocs()
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.bench(b)
		}
	})
}

// BenchmarkListAll lists all servers anew and writes the index.
func BenchmarkListAll(b *testing.B) {
	c := many(b).catalog()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Read(b.Context(), Need{List: ListAll}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
