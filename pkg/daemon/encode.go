package daemon

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// encode returns the JSON of a query. A process makes one query, for which encoding/json would examine six types, on a
// stack that it has to enlarge: that takes longer than everything else that a client does with the daemon.
func (q *query) encode() []byte {
	s, opt := &q.Surroundings, &q.Options
	limits := object("connect", s.Limits.Connect, "call", s.Limits.Call, "forceConnect", s.Limits.ForceConnect)
	surroundings := object("Dir", s.Dir, "Home", s.Home, "Configs", s.Configs, "EnvFiles", s.EnvFiles,
		"Limits", limits, "Idle", s.Idle)
	known := object("protocol", opt.Known.Protocol, "transport", opt.Known.Transport, "asks", opt.Known.Asks)
	options := object("Timeout", opt.Timeout, "MaxTime", opt.MaxTime, "Repeatable", opt.Repeatable, "Task", opt.Task,
		"Known", known, "Principal", string(opt.Principal), "Client", opt.Client, "HeaderSchema", opt.HeaderSchema)
	can := object("sample", q.Can.Sample, "roots", q.Can.Roots)
	return object("op", q.Op, "identity", q.Identity, "server", q.Server, "kind", string(q.Kind), "name", q.Name,
		"surroundings", surroundings, "options", options, "audience", q.Audience, "can", can, "events", q.Events)
}

// object returns a JSON object of names and values in turn. A value is a text, a list of texts, a number, a flag or an
// object ([]byte). Empty texts, zero and false are left out.
func object(members ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(members); i += 2 {
		before := len(b)
		if before > 1 {
			b = append(b, ',')
		}
		b = append(appendString(b, members[i].(string)), ':')
		start := len(b)
		switch v := members[i+1].(type) {
		case string:
			if v != "" {
				b = appendString(b, v)
			}
		case []string:
			for j, text := range v {
				b = appendString(append(b, "[,"[min(j, 1)]), text)
			}
			if len(v) > 0 {
				b = append(b, ']')
			}
		case time.Duration:
			if v != 0 {
				b = strconv.AppendInt(b, int64(v), 10)
			}
		case bool:
			if v {
				b = append(b, "true"...)
			}
		case []byte:
			b = append(b, v...)
		}
		if len(b) == start {
			b = b[:before]
		}
	}
	return append(b, '}')
}

// appendString appends a JSON string.
func appendString(b []byte, text string) []byte {
	special := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if strings.IndexFunc(text, special) >= 0 {
		data, _ := json.Marshal(text) // a string always encodes
		return append(b, data...)
	}
	return append(append(append(b, '"'), text...), '"')
}
