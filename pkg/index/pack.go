package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

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
//	         u64 and length u32, crc u32 of the definition, crc u32 of all these and the record
//	records  per document: name, title, description, signature, media type, required names
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
//	4: the same, but all numbers of the meta section are varints
//	6: a checksum of each definition; of a failure its type and message, and what to do next
//	7: what was approved when the index was made; what a server's failure says of its approval
//	8: the key of a server's pins, and how many changes of it were not seen
//	9: of a failure the word that says why, as a list that asks the server has it
const (
	packedMagic   = "MCPLIDX\x00"
	packedVersion = 9
	headerSize    = 8 + 4 + 4 + (4+2*rankings)*8
	tableEntry    = 8 + 8 + 8 + 4 + 4 + 4
	entryCRC      = tableEntry - 4 // where in an entry its checksum is
)

// maxDescription bounds the description of a hit, in bytes, and likewise its title and media type.
const maxDescription = 200

// body is what search.idx has of the definitions: all behind the meta section.
type body struct {
	table, records []byte
	rankings       [rankings][]byte
}

// newBody packs definitions. spans are their places, in catalog order.
func newBody(cat *Catalog, spans []span) body {
	var b body
	var docs [rankings][]search.Document
	for _, server := range cat.Servers {
		server.documents(func(def tool.Def) {
			at := spans[len(b.table)/tableEntry]
			doc, record := describe(server.Name, def)
			entry := binary.LittleEndian.AppendUint64(nil, uint64(at.off))
			entry = binary.LittleEndian.AppendUint64(entry, uint64(at.len))
			entry = binary.LittleEndian.AppendUint64(entry, uint64(len(b.records)))
			entry = binary.LittleEndian.AppendUint32(entry, uint32(len(record)))
			entry = binary.LittleEndian.AppendUint32(entry, at.crc)
			crc := crc32.Update(crc32.ChecksumIEEE(entry), crc32.IEEETable, record)
			b.table = binary.LittleEndian.AppendUint32(append(b.table, entry...), crc)
			b.records = append(b.records, record...)
			which := rankingOf(def.Kind)
			docs[which] = append(docs[which], doc)
		})
	}
	for i := range b.rankings {
		b.rankings[i] = search.Build(docs[i])
	}
	return b
}

// body returns what the snapshot has of the definitions. It fails with [ErrDamaged] if any of it cannot be read.
func (sn *Snapshot) body() (b body, err error) {
	b = body{table: sn.table, records: sn.records}
	for doc := range sn.Len() {
		if _, err := sn.record(doc, false); err != nil {
			return b, err
		}
	}
	for i, r := range sn.ranked {
		ix, err := r.open()
		if err == nil {
			err = ix.Verify()
		}
		if err != nil {
			return b, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		b.rankings[i] = r.data
	}
	return b, nil
}

// pack renders search.idx. spans are the places of the definitions, in catalog order.
func pack(cat *Catalog, stamp Stamp, spans []span, defsSize, defsMTime int64) []byte {
	return packBody(cat, stamp, newBody(cat, spans), defsSize, defsMTime)
}

// packBody renders search.idx. from is what it has of the definitions.
func packBody(cat *Catalog, stamp Stamp, from body, defsSize, defsMTime int64) []byte {
	head := &Snapshot{defSize: defsSize, defTime: defsMTime, stamp: stamp, warn: cat.Warnings}
	for _, server := range cat.Servers {
		head.servers = append(head.servers, infoOf(server))
	}
	coded := new(packed.Codec)
	head.codeMeta(coded)
	meta := coded.To
	tableAt := align(headerSize + len(meta))
	recordsAt := tableAt + len(from.table)
	end := recordsAt + len(from.records)
	numbers := []int{len(meta), tableAt, len(from.table) / tableEntry, recordsAt}
	for _, ranking := range from.rankings {
		numbers = append(numbers, align(end), len(ranking))
		end = align(end) + len(ranking)
	}
	out := make([]byte, end)
	copy(out, packedMagic)
	binary.LittleEndian.PutUint32(out[8:], packedVersion)
	for i, n := range numbers {
		binary.LittleEndian.PutUint64(out[16+8*i:], uint64(n))
	}
	copy(out[headerSize:], meta)
	copy(out[tableAt:], from.table)
	copy(out[recordsAt:], from.records)
	for i, ranking := range from.rankings {
		copy(out[numbers[4+2*i]:], ranking)
	}
	binary.LittleEndian.PutUint32(out[12:], crc32.ChecksumIEEE(out[16:headerSize+len(meta)]))
	return out
}

func align(n int) int { return (n + 7) &^ 7 }

// maxRanked bounds what the ranking reads of a title and of a description, and of all parameters, in bytes. Each word
// costs the index more than its bytes, and a description may have millions.
const maxRanked = 64 << 10

// firstBytes returns the beginning of a text in at most n bytes.
func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// describe returns the ranking's view of a definition, and its packed record.
func describe(server string, def tool.Def) (search.Document, []byte) {
	doc := search.Document{Server: server, Name: def.Name, Title: firstBytes(def.DisplayTitle(), maxRanked),
		Description: firstBytes(def.Description, maxRanked)}
	params := schema.Params(def.InputSchema)
	r := Record{Name: def.Name, Title: doc.Title, Description: FirstSentences(doc.Description, maxDescription),
		Signature: schema.Signature(params)}
	if len(r.Title) > maxDescription {
		r.Title = FirstSentences(r.Title, maxDescription)
	}
	if def.Kind == tool.Resource || def.Kind == tool.Template {
		if r.MediaType = tool.Text(def.Field("mimeType")); len(r.MediaType) > maxDescription {
			r.MediaType = "" // nothing that a client could know
		}
	}
	room := maxRanked
	for _, p := range params {
		if room -= len(p.Name) + len(p.Description); room >= 0 {
			doc.Params = append(doc.Params, search.Param{Name: p.Name, Description: p.Description})
		}
		if p.Required {
			r.Required = append(r.Required, p.Name)
		}
	}
	c := new(packed.Codec)
	codeRecord(c, &r)
	return doc, c.To
}

// infoOf returns what a snapshot has of a server.
func infoOf(s Server) ServerInfo {
	info := ServerInfo{Facts: s.Facts, Tools: len(s.Tools), Prompts: len(s.Prompts)}
	info.Instructions, info.Error = FirstSentences(s.Instructions, maxDescription), kept(s.Error)
	for _, def := range s.Tools {
		info.Tokens += def.Tokens()
	}
	for _, def := range s.Resources {
		if def.Kind == tool.Template {
			info.Templates++
		} else {
			info.Resources++
		}
	}
	return info
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
