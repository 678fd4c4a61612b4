package search

import (
	"slices"
	"strings"
)

// queryWord is a word of a query and its weight.
type queryWord struct {
	token
	weight float64
	hint   bool // it does not stand in the query
}

// queryWords splits a query. The words of paths and URLs count less, since they are mostly about one thing of the
// user's, except the extension; but a path says that the query is about files, and a URL that it is about URLs. Stop
// words are dropped unless the query has no others.
func queryWords(text string, m *Model) []queryWord {
	var all []queryWord
	pos := 0
	for chunk := range strings.FieldsSeq(text) {
		kind, ext := chunkKind(chunk)
		ws := words(chunk)
		for _, t := range ws {
			t.pos += pos
			w := queryWord{token: t, weight: 1}
			if kind != plainChunk && t.text != ext {
				w.weight = m.PathWord
			}
			if isWeakWord(t.text) {
				w.weight *= m.WeakWord
			}
			all = append(all, w)
		}
		if n := len(ws); n > 0 {
			pos += ws[n-1].pos + 1
		}
		// A hint is not a neighbour of any word of the query: the gap of two keeps it out of bigrams.
		hint := [...]string{pathChunk: "file", urlChunk: "url", placeholderChunk: ""}[kind]
		if hint != "" && m.Hint != 0 {
			all = append(all, queryWord{token{text: hint, pos: pos + 1}, m.Hint, true})
			pos += 3
		}
	}
	meaning := slices.DeleteFunc(slices.Clone(all), func(w queryWord) bool { return isStopWord(w.text) })
	if len(meaning) > 0 {
		all = meaning
	}
	return slices.DeleteFunc(all, func(w queryWord) bool { return w.weight == 0 })
}

// The longest query whose words are looked for as written, in words and in tokens: a long request names no tool, and of
// words without spaces between them each gives several tokens.
const (
	fewWords  = 2
	fewTokens = 8
)

// isFew reports whether a query is so short that a tool which has all of its words as written is meant.
func isFew(text string, tokens []queryWord) bool {
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(w queryWord) bool { return w.hint })
	return len(tokens) <= fewWords || len(tokens) <= fewTokens && len(strings.Fields(text)) <= fewWords
}

// The kinds of the parts of a query between spaces.
const (
	plainChunk = iota
	pathChunk
	urlChunk
	placeholderChunk // <name>
)

// chunkKind returns the kind of a part of a query, and the extension if it is a file.
func chunkKind(s string) (kind int, ext string) {
	if strings.HasPrefix(s, "<") && strings.Contains(s, ">") {
		return placeholderChunk, ""
	}
	s = strings.ToLower(strings.Trim(s, "'\"()[]{}<>,;:!?.`"))
	if strings.Contains(s, "://") || strings.HasPrefix(s, "www.") {
		return urlChunk, ""
	}
	if i := strings.LastIndexByte(s, '.'); i > 0 && isFileExtension(s[i+1:]) {
		return pathChunk, s[i+1:]
	}
	switch {
	case strings.HasPrefix(s, "/") && len(s) > 1, strings.HasPrefix(s, "./"), strings.HasPrefix(s, "~/"),
		strings.Count(s, "/") > 1, strings.Contains(s, `:\`):
		return pathChunk, ""
	}
	return plainChunk, ""
}

// isFileExtension reports whether a name that ends so is a file's. It does not know endings that are as often those
// of a product (node.js) or a host (claude.ai).
func isFileExtension(s string) bool {
	switch s {
	case "txt", "md", "pdf", "doc", "docx", "rtf", "odt", "tex", "bib", "epub",
		"xls", "xlsx", "csv", "tsv", "ppt", "pptx", "json", "jsonl", "xml", "yaml", "yml", "toml", "ini", "env", "cfg",
		"conf", "log",
		"html", "htm", "css", "py", "ts", "tsx", "jsx", "go", "java", "rs", "rb", "php", "c", "cpp", "h", "sh", "sql",
		"ipynb",
		"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "tiff", "mp3", "wav", "ogg", "flac", "mp4", "mov", "avi",
		"mkv", "webm",
		"zip", "tar", "gz", "tgz", "rar", "db", "sqlite", "parquet", "bak", "lock":
		return true
	}
	return false
}
