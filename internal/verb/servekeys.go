package verb

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// keysFile is the variable that names a file with session keys.
const keysFile = config.SessionKeys + "_FILE"

// sessionKeys returns the keys that replicas of a gateway have in common; none if they are not set. No error has a key
// in it.
func sessionKeys(env config.Env) (keys [][]byte, err error) {
	text, from := "", config.SessionKeys
	text, _ = env.Lookup(config.SessionKeys)
	if path, _ := env.Lookup(keysFile); path != "" {
		if text != "" {
			return nil, fault.New(fault.Config, config.SessionKeys+" and "+keysFile+" are both set", "Unset one of them.")
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fault.New(fault.Config, keysFile+" cannot be read: "+err.Error(), "Correct the path, or unset it.")
		}
		text, from = string(content), path
		if strings.TrimSpace(text) == "" {
			return nil, fault.New(fault.Config, path+" has no key", keyHelp)
		}
	}
	split := func(c rune) bool { return c == ',' || unicode.IsSpace(c) }
	for i, word := range strings.FieldsFunc(text, split) {
		word = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(word, "="))
		key, err := base64.RawStdEncoding.DecodeString(word)
		if err != nil || len(key) != gateway.KeySize {
			return nil, fault.New(fault.Config, fmt.Sprintf("key %d of %s is not %d bytes in base64", i+1, from,
				gateway.KeySize), keyHelp)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

const keyHelp = "Make a key with: openssl rand -base64 32"
