package conn

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// response is a JSON-RPC response to a call with a text of n bytes.
func response(id, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}],"isError":false}}`,
		id, strings.Repeat("All work. ", n/10))
}

// sizes are of the text in each message of a benchmark.
var sizes = []int{100, 10_000, 1_000_000}

// BenchmarkMessageFilter reads the stdout of a server: for each response a line of progress, which is taken off,
// and one of a banner, which is dropped.
func BenchmarkMessageFilter(b *testing.B) {
	for _, size := range sizes {
		var stream strings.Builder
		for id := range 20 {
			stream.WriteString(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n")
			stream.WriteString("server: request served\n" + response(id, size) + "\n")
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(stream.Len()))
			for b.Loop() {
				taken, dropped := 0, 0
				f := newMessageFilter(strings.NewReader(stream.String()), func([]byte) { taken++ }, func([]byte) { dropped++ },
					func(err error) { b.Fatal(err) })
				drain(b, f, 20)
				if taken != 20 || dropped != 20 {
					b.Fatalf("%d taken, %d dropped", taken, dropped)
				}
			}
		})
	}
}

// events is the stream of events of 20 responses, each after one of progress.
func events(size int) []byte {
	var stream bytes.Buffer
	for id := range 20 {
		fmt.Fprintf(&stream, "event: message\nid: %d\ndata: %s\n\n", 2*id,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		fmt.Fprintf(&stream, "event: message\nid: %d\ndata: %s\n\n", 2*id+1, response(id, size))
	}
	return stream.Bytes()
}

// BenchmarkEventReader reads the stream of a server over SSE, with all that is in it.
func BenchmarkEventReader(b *testing.B) {
	for _, size := range sizes {
		stream := events(size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				drain(b, newEventReader(bytes.NewReader(stream)), 40)
			}
		})
	}
}

// BenchmarkEventFilter reads a stream of Streamable HTTP: the notifications are taken off.
func BenchmarkEventFilter(b *testing.B) {
	for _, size := range sizes {
		stream := events(size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				taken := 0
				f := newEventFilter(io.NopCloser(bytes.NewReader(stream)), "", func([]byte) { taken++ })
				if _, err := io.Copy(io.Discard, f); err != nil || taken != 20 {
					b.Fatal(taken, err)
				}
			}
		})
	}
}

// drain reads to the end and checks the number of lines.
func drain(b *testing.B, r io.Reader, lines int) {
	b.Helper()
	var counted counter
	if _, err := io.Copy(&counted, r); err != nil || int(counted) != lines {
		b.Fatal(counted, err)
	}
}

// counter counts the lines that are written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}
