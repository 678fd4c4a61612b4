package example

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/server"
)

func codecTools() []server.ServerTool {
	return []server.ServerTool{hashTextTool(), encodeBase64Tool(), decodeBase64Tool(), generateUuidTool()}
}

func hashTextTool() server.ServerTool {
	return define(spec{
		name:  "hash_text",
		title: "Hash",
		description: "Compute the checksum, fingerprint or cryptographic hash of a text: SHA-256, SHA-512, SHA-1, MD5 or " +
			"CRC-32, as hexadecimal digits.",
		input: `{
				"type": "object",
				"properties": {
					"text": {"type": "string", "description": "The text to hash, as UTF-8"},
					"algorithm": {"type": "string", "enum": ["sha256", "sha512", "sha1", "md5", "crc32"], "default": "sha256",
						"description": "The hash function; sha1, md5 and crc32 are for comparison, not for security"}
				},
				"required": ["text"],
				"additionalProperties": false
			}`,
		output: `{
				"type": "object",
				"properties": {"algorithm": {"type": "string"}, "hex": {"type": "string"},
					"bytes": {"type": "integer", "description": "Length of the text"}},
				"required": ["algorithm", "hex", "bytes"]
			}`,
	}, func(_ context.Context, in struct{ Text, Algorithm string }) (answer, error) {
		h, name := hashOf(in.Algorithm)
		h.Write([]byte(in.Text)) // a hash takes everything
		sum := hex.EncodeToString(h.Sum(nil))
		return answer{data: map[string]any{"algorithm": name, "hex": sum, "bytes": len(in.Text)}}, nil
	})
}

func encodeBase64Tool() server.ServerTool {
	return define(spec{
		name:        "encode_base64",
		title:       "Encode Base64",
		description: "Encode a text as Base64, in the standard alphabet or in the one for URLs.",
		input: `{
				"type": "object",
				"properties": {
					"text": {"type": "string", "description": "The text to encode, as UTF-8"},
					"url_safe": {"type": "boolean", "default": false,
						"description": "Use - and _ and no padding, as in URLs and tokens"}
				},
				"required": ["text"],
				"additionalProperties": false
			}`,
	}, func(_ context.Context, in struct {
		Text    string
		URLSafe bool `json:"url_safe"`
	}) (answer, error) {
		if in.URLSafe {
			return answer{text: base64.RawURLEncoding.EncodeToString([]byte(in.Text))}, nil
		}
		return answer{text: base64.StdEncoding.EncodeToString([]byte(in.Text))}, nil
	})
}

func decodeBase64Tool() server.ServerTool {
	return define(spec{
		name:  "decode_base64",
		title: "Decode Base64",
		description: "Decode a Base64 string to text. Both alphabets are understood, with or without padding; bytes that " +
			"are not text come back as hexadecimal digits.",
		input: `{
				"type": "object",
				"properties": {"data": {"type": "string", "description": "The Base64 string"}},
				"required": ["data"],
				"additionalProperties": false
			}`,
	}, func(_ context.Context, in struct{ Data string }) (answer, error) {
		text, err := decodeBase64(in.Data)
		return answer{text: text}, err
	})
}

func generateUuidTool() server.ServerTool {
	return define(spec{
		name:  "generate_uuid",
		title: "Generate UUIDs",
		description: "Generate one or more unique identifiers (UUIDs): random ones of version 4, or of version 7, which " +
			"sort by time.",
		input: `{
				"type": "object",
				"properties": {
					"count": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1, "description": "How many"},
					"version": {"type": "integer", "enum": [4, 7], "default": 4, "description": "4 is random, 7 is time-ordered"}
				},
				"additionalProperties": false
			}`,
		output: `{
				"type": "object",
				"properties": {"uuids": {"type": "array", "items": {"type": "string", "format": "uuid"}}},
				"required": ["uuids"]
			}`,
	}, func(_ context.Context, in struct{ Count, Version *int }) (answer, error) {
		return newUUIDs(or(in.Count, 1), or(in.Version, 4))
	})
}

// hashOf returns a hash function and its name; the schema allows no other names than these.
func hashOf(algorithm string) (hash.Hash, string) {
	switch algorithm {
	case "sha512":
		return sha512.New(), algorithm
	case "sha1":
		return sha1.New(), algorithm
	case "md5":
		return md5.New(), algorithm
	case "crc32":
		return crc32.NewIEEE(), algorithm
	}
	return sha256.New(), "sha256"
}

func decodeBase64(data string) (string, error) {
	// Line breaks come from mail and PEM files.
	clean := strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "").Replace(data)
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(clean, "="))
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		return "", fmt.Errorf("not Base64: wrong character or length at character %d of the data, blanks not counted",
			int(corrupt)+1)
	case err != nil:
		return "", fmt.Errorf("not Base64: %w", err)
	case !utf8.Valid(raw):
		return "hex:" + hex.EncodeToString(raw), nil
	}
	return string(raw), nil
}

func newUUIDs(count, version int) (answer, error) {
	next := uuid.NewRandom
	if version == 7 {
		next = uuid.NewV7
	}
	ids := make([]string, count)
	for i := range ids {
		id, err := next()
		if err != nil {
			return answer{}, fmt.Errorf("no random numbers from this system: %w", err)
		}
		ids[i] = id.String()
	}
	return answer{data: map[string]any{"uuids": ids}}, nil
}
