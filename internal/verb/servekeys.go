package verb

import (
	"context"
	"encoding/base64"
	"errors"
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

// newGateway returns a gateway, and what ends it. Over HTTP it may be one of several replicas: opt then gets what they
// have in common.
func (s *Session) newGateway(ctx context.Context, opt *gateway.Options, to *doors, overHTTP bool) (
	g *gateway.Gateway, end func() error, err error) {
	leave := func() error { return nil }
	if overHTTP {
		if leave, err = s.joinReplicas(ctx, opt); err != nil {
			return nil, nil, err
		}
		if opt.Shared != nil && len(opt.Keys) > 0 {
			if to.listings, err = gateway.NewListings(opt.Shared, opt.Keys, opt.Now); err != nil {
				return nil, nil, errors.Join(err, leave())
			}
		}
	}
	if g, err = gateway.New(*opt); err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	return g, func() error { return errors.Join(g.Close(), leave()) }, nil
}

// joinReplicas has a gateway work together with others, as the environment says. leave is called behind its end.
func (s *Session) joinReplicas(ctx context.Context, opt *gateway.Options) (leave func() error, err error) {
	if opt.Keys, err = sessionKeys(s.App.Env); err != nil {
		return nil, err
	}
	if url, _ := s.App.Env.Lookup(config.RedisURL); url == "" {
		return func() error { return nil }, nil
	}
	if len(opt.Keys) == 0 {
		s.Printer.Notice("%s is set, and %s is not, so no replica continues sessions of another. Give all of them the same "+
			"key. %s", config.RedisURL, config.SessionKeys, keyHelp)
	}
	opt.Shared, leave, err = s.share(ctx)
	return leave, err
}

// share opens what replicas have in common, at the URL of the environment.
func (s *Session) share(ctx context.Context) (gateway.Shared, func() error, error) {
	url, _ := s.App.Env.Lookup(config.RedisURL)
	return s.App.Share(ctx, url, func(text string) { s.Printer.Notice("%s", text) })
}

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
