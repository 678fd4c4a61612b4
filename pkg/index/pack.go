package index

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/packed"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// The packed index, search.idx. All numbers are little-endian; strings are a uvarint length and bytes; checksums are
// CRC-32 (IEEE: the Castagnoli table takes 0.16 ms to build at first use).
//
//	header   magic[8], version u32, crc u32 of the rest of the header and the meta section,
//	         meta length u64, record table offset u64, documents u64, records offset u64, and of
//	         each ranking its offset u64 and length u64
//	meta     the stamp, tool_index.json's size and mtime, warnings, and per server what a list
//	         prints
//	table    per document: definition offset u64 and length u64 in tool_index.json, record offset
//	         u64 and length u32, crc u32 of these and the record
//	records  per document: name, title, description, signature, required names, media type
//	rankings what pkg/search packs, with checksums of its own: of all tools, of all resources and
//	         templates, and of all prompts, so that none changes how the others are ranked
//
// Documents are numbered in catalog order, and those of a server in the order of their kinds: its tools, resources,
// templates, prompts. A document's kind follows from how many of each kind its server has. Each ranking numbers its
// own documents, in the same order. The meta section is checked when the file is opened, each record when it is read:
// opening costs the same for ten tools and for a hundred thousand.
//
// Changelog of the version:
//
//	1: the first
//	2: resources and prompts, with rankings of their own; media types; how a server was reached
//	3: what can be done next about a server's failure; whether it asks while several clients use it
const (
	packedMagic   = "MCPLIDX\x00"
	packedVersion = 3
	headerSize    = 8 + 4 + 4 + (4+2*rankings)*8
	tableEntry    = 8 + 8 + 8 + 4 + 4
)

// maxDescription bounds the description of a hit, in bytes.
const maxDescription = 200

// pack renders search.idx. spans are the places of the definitions, in catalog order.
func pack(cat *Catalog, stamp Stamp, spans []span, defsSize, defsMTime int64) []byte {
	meta := packMeta(cat, stamp, defsSize, defsMTime)
	var table, records []byte
	var docs [rankings][]search.Document
	for _, server := range cat.Servers {
		server.documents(func(def tool.Def) {
			at := spans[len(table)/tableEntry]
			params := schema.Params(def.InputSchema)
			record := packRecord(def, params)
			entry := binary.LittleEndian.AppendUint64(nil, uint64(at.off))
			entry = binary.LittleEndian.AppendUint64(entry, uint64(at.len))
			entry = binary.LittleEndian.AppendUint64(entry, uint64(len(records)))
			entry = binary.LittleEndian.AppendUint32(entry, uint32(len(record)))
			crc := crc32.Update(crc32.ChecksumIEEE(entry), crc32.IEEETable, record)
			table = binary.LittleEndian.AppendUint32(append(table, entry...), crc)
			records = append(records, record...)
			which := rankingOf(def.Kind)
			docs[which] = append(docs[which], document(server.Name, def, params))
		})
	}
	tableAt := align(headerSize + len(meta))
	recordsAt := tableAt + len(table)
	end := recordsAt + len(records)
	numbers := []int{len(meta), tableAt, len(table) / tableEntry, recordsAt}
	var built [rankings][]byte
	for i := range built {
		built[i] = search.Build(docs[i])
		numbers = append(numbers, align(end), len(built[i]))
		end = align(end) + len(built[i])
	}
	out := make([]byte, end)
	copy(out, packedMagic)
	binary.LittleEndian.PutUint32(out[8:], packedVersion)
	for i, n := range numbers {
		binary.LittleEndian.PutUint64(out[16+8*i:], uint64(n))
	}
	copy(out[headerSize:], meta)
	copy(out[tableAt:], table)
	copy(out[recordsAt:], records)
	for i, ranking := range built {
		copy(out[numbers[4+2*i]:], ranking)
	}
	binary.LittleEndian.PutUint32(out[12:], crc32.ChecksumIEEE(out[16:headerSize+len(meta)]))
	return out
}

func align(n int) int { return (n + 7) &^ 7 }

// document returns the ranking's view of a definition.
func document(server string, def tool.Def, params []schema.Param) search.Document {
	doc := search.Document{Server: server, Name: def.Name, Title: def.DisplayTitle(), Description: def.Description}
	for _, p := range params {
		doc.Params = append(doc.Params, search.Param{Name: p.Name, Description: p.Description})
	}
	return doc
}

func packRecord(def tool.Def, params []schema.Param) []byte {
	var required []string
	for _, p := range params {
		if p.Required {
			required = append(required, p.Name)
		}
	}
	b := packed.AppendText(nil, def.Name)
	b = packed.AppendText(b, def.DisplayTitle())
	b = packed.AppendText(b, FirstSentences(def.Description, maxDescription))
	b = packed.AppendText(b, schema.Signature(params))
	b = packed.AppendTexts(b, required)
	return packed.AppendText(b, mediaType(def))
}

// mediaType returns the media type of a resource or template. It is empty if the definition does not say.
func mediaType(def tool.Def) (mime string) {
	if def.Kind != tool.Resource && def.Kind != tool.Template {
		return ""
	}
	if json.Unmarshal(def.Field("mimeType"), &mime) != nil {
		return "" // not a string
	}
	return mime
}

func packMeta(cat *Catalog, stamp Stamp, defsSize, defsMTime int64) []byte {
	b := binary.AppendUvarint(nil, uint64(defsSize))
	b = binary.AppendVarint(b, defsMTime)
	b = binary.AppendUvarint(b, uint64(len(stamp.Sources)))
	for _, src := range stamp.Sources {
		b = packed.AppendText(b, src.Path)
		b = binary.AppendVarint(b, src.MTime)
		b = binary.AppendVarint(b, src.Size)
	}
	b = packed.AppendTexts(b, stamp.EnvNames)
	b = binary.LittleEndian.AppendUint64(b, stamp.EnvDigest)
	b = packed.AppendTexts(b, cat.Warnings)
	b = binary.AppendUvarint(b, uint64(len(cat.Servers)))
	for _, s := range cat.Servers {
		b = packServer(b, s)
	}
	return b
}

func packServer(b []byte, s Server) []byte {
	tokens := 0
	for _, def := range s.Tools {
		tokens += def.Tokens()
	}
	b = packed.AppendText(b, s.Name)
	b = packed.AppendText(b, string(s.State))
	b = packed.AppendText(b, s.ServerName)
	b = packed.AppendText(b, FirstSentences(s.Instructions, maxDescription))
	b = binary.AppendVarint(b, nanos(s.ListedAt))
	b = binary.AppendVarint(b, nanos(s.TriedAt))
	b = binary.AppendVarint(b, int64(s.TTL))
	for _, kind := range kinds() {
		b = binary.AppendUvarint(b, uint64(s.count(kind)))
	}
	b = binary.AppendUvarint(b, uint64(tokens))
	b = packed.AppendTexts(b, []string{s.Known.Protocol, s.Known.Transport})
	b = append(b, bit(s.Known.Asks), bit(s.Off))
	b = packed.AppendTexts(b, s.Notes)
	return packFault(b, s.Error)
}

// packFault appends a fault: its type and texts, and then what can be done next. A nil fault has no texts.
func packFault(b []byte, f *fault.Fault) []byte {
	if f == nil {
		return packed.AppendTexts(b, nil)
	}
	b = packed.AppendTexts(b, []string{string(f.Type), f.Message, f.Traceback, f.Help})
	b = binary.AppendUvarint(b, uint64(len(f.Next)))
	for _, next := range f.Next {
		b = packed.AppendText(b, next.Why)
		var words []string // of a step, its verb first; or of a variable and its file
		switch {
		case next.Step != nil:
			words = append([]string{next.Step.Verb, next.Step.Server, next.Step.Tool}, next.Step.Args...)
		case next.Set != nil:
			words = []string{next.Set.Variable, next.Set.File}
		}
		b = packed.AppendTexts(append(b, bit(next.Step != nil)), words)
	}
	return b
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// nanos returns t in Unix nanoseconds. The zero time gives 0.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// FirstSentences returns the beginning of a text in at most limit bytes: whole sentences of its first paragraph below
// any headings if at least one fits, else words and an ellipsis. It folds white space.
func FirstSentences(text string, limit int) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	for strings.HasPrefix(text, "#") { // a Markdown heading says less than the text below it
		heading, below, more := strings.Cut(text, "\n")
		if text = strings.TrimSpace(below); !more || text == "" {
			text = strings.TrimSpace(strings.TrimLeft(heading, "#"))
			break
		}
	}
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	end := 0
	for i := 0; i < limit-1; i++ {
		if strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' {
			end = i + 1
		}
	}
	if end > limit/4 {
		return text[:end]
	}
	cut := text[:limit-len("…")]
	if i := strings.LastIndexByte(cut, ' '); i > limit/2 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + "…"
}
