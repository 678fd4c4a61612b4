package index

import (
	"encoding/binary"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// reader decodes what pack.go's append functions wrote. Once something is amiss, bad is set and
// all further reads are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads the number of things that follow, each of at least one byte.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail()
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) string() string { return string(r.take(r.count())) }

func (r *reader) strings() []string {
	var list []string
	for range r.count() {
		list = append(list, r.string())
	}
	return list
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) server() ServerInfo {
	s := ServerInfo{Name: r.string(), State: State(r.string()), ServerName: r.string(), Instructions: r.string(),
		ListedAt: timeOf(r.varint()), TriedAt: timeOf(r.varint()), TTL: time.Duration(r.varint()),
		Tools: int(r.uvarint()), Resources: int(r.uvarint()), Templates: int(r.uvarint()), Prompts: int(r.uvarint()), Tokens: int(r.uvarint())}
	if known := r.strings(); len(known) == 2 {
		s.Known = tool.Known{Protocol: known[0], Transport: known[1]}
	}
	s.Known.Asks, s.Off, s.Notes = r.byte() != 0, r.byte() != 0, r.strings()
	s.Error = r.fault(s.Name)
	return s
}

// fault reads what packFault has written of a server.
func (r *reader) fault(server string) *fault.Fault {
	texts := r.strings()
	if len(texts) != 4 {
		return nil
	}
	f := &fault.Fault{Type: fault.Type(texts[0]), Message: texts[1], Traceback: texts[2], Help: texts[3], Server: server}
	for range r.count() {
		why, isStep, words := r.string(), r.byte() != 0, r.strings()
		switch {
		case isStep && len(words) >= 3:
			f.Then(why, fault.Step{Verb: words[0], Server: words[1], Tool: words[2], Args: words[3:]})
		case !isStep && len(words) == 2:
			f.ThenSet(why, fault.Set{Variable: words[0], File: words[1]})
		}
	}
	return f
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
