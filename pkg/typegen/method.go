package typegen

// arguments returns the type of a tool's arguments. It is nil if the tool takes none.
func arguments(t Tool) (typ *node, required bool) {
	r := newReader(t.Input)
	if r == nil {
		return leaf("any"), false
	}
	typ = r.typ(t.Input, 0)
	switch {
	case typ.text == "{}" || typ.text == "Record<string, any>":
		return nil, false
	case typ.members == nil:
		return typ, !typ.isAny()
	}
	return typ, typ.members[0].required
}

// result returns the type of what a tool gives.
func result(t Tool) *node {
	r := newReader(t.Output)
	if r == nil {
		return leaf("any")
	}
	return r.typ(t.Output, 0)
}

// method writes a tool as a method of its server.
func (w *writer) method(t Tool, indent int) {
	for range indent {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(name(t.Name))
	w.signature(t, indent, indent+len(t.Name))
}

// function writes a tool as a function.
func (w *writer) function(t Tool) {
	const call = "declare function call"
	w.b.WriteString(call)
	w.signature(t, 0, len(call))
}

// signature writes the parameters of a tool and what it gives, behind the columns that its name has used up.
func (w *writer) signature(t Tool, indent, used int) {
	typ, required := arguments(t)
	w.b.WriteByte('(')
	if typ != nil {
		w.b.WriteString("args")
		if !required {
			w.b.WriteByte('?')
		}
		w.b.WriteString(": ")
		w.typ(typ, indent, used+len("(args: ): Promise<any>;"))
	}
	w.b.WriteString("): Promise<")
	gives := writer{b: w.b}
	if used = indent; w.most > 0 {
		used = -maxLine
	}
	gives.typ(result(t), indent, used)
	w.b.WriteString(">;\n")
}
