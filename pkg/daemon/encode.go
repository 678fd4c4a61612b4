package daemon

import (
	"encoding/json"
	"strconv"
	"strings"
)

// encode returns the JSON of a query. A process makes one query, for which encoding/json would examine six types, on a
// stack that it has to enlarge: that takes longer than everything else that a client does with the daemon.
func (q *query) encode() []byte {
	s, opt := &q.Surroundings, &q.Options
	var limits, surroundings, known, options, can, all object
	limits.number("connect", int64(s.Limits.Connect))
	limits.number("call", int64(s.Limits.Call))
	limits.number("forceConnect", int64(s.Limits.ForceConnect))
	surroundings.text("Dir", s.Dir)
	surroundings.text("Home", s.Home)
	surroundings.texts("Configs", s.Configs)
	surroundings.texts("EnvFiles", s.EnvFiles)
	surroundings.object("Limits", limits)
	surroundings.number("Idle", int64(s.Idle))
	known.text("protocol", opt.Known.Protocol)
	known.text("transport", opt.Known.Transport)
	known.flag("asks", opt.Known.Asks)
	options.number("Timeout", int64(opt.Timeout))
	options.number("MaxTime", int64(opt.MaxTime))
	options.flag("Repeatable", opt.Repeatable)
	options.flag("Task", opt.Task)
	options.object("Known", known)
	options.text("Principal", string(opt.Principal))
	options.text("Client", opt.Client)
	options.text("HeaderSchema", opt.HeaderSchema)
	can.flag("sample", q.Can.Sample)
	can.flag("roots", q.Can.Roots)
	all.text("op", q.Op)
	all.text("identity", q.Identity)
	all.text("server", q.Server)
	all.text("kind", string(q.Kind))
	all.text("name", q.Name)
	all.object("surroundings", surroundings)
	all.object("options", options)
	all.flag("audience", q.Audience)
	all.object("can", can)
	all.flag("events", q.Events)
	return append(all, '}')
}

// object is a JSON object that lacks its closing brace. Its methods append members, except those without a value.
type object []byte

func (o *object) member(name string) {
	before := byte(',')
	if len(*o) == 0 {
		before = '{'
	}
	*o = append(append(append(*o, before, '"'), name...), `":`...)
}

func (o *object) text(name, value string) {
	if value != "" {
		o.member(name)
		*o = appendString(*o, value)
	}
}

func (o *object) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.member(name)
	before := byte('[')
	for _, value := range values {
		*o = appendString(append(*o, before), value)
		before = ','
	}
	*o = append(*o, ']')
}

func (o *object) number(name string, value int64) {
	if value != 0 {
		o.member(name)
		*o = strconv.AppendInt(*o, value, 10)
	}
}

func (o *object) flag(name string, value bool) {
	if value {
		o.member(name)
		*o = append(*o, "true"...)
	}
}

func (o *object) object(name string, value object) {
	if len(value) > 0 {
		o.member(name)
		*o = append(append(*o, value...), '}')
	}
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
