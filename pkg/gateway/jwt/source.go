package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

const (
	// maxDocument bounds a document of an issuer, in bytes.
	maxDocument = 1 << 20
	// maxRedirects bounds the redirects of a request.
	maxRedirects = 5
	// maxQuoted bounds what an error quotes of an issuer, in bytes.
	maxQuoted = 200
)

// source is where the keys of an issuer are.
type source struct {
	issuer  string
	keys    string // the URL of the keys; empty if the issuer's metadata says it
	local   bool   // the settings name an address of this machine, where keys may come from
	version string
	client  *http.Client
}

func newSource(opt Options) *source {
	s := &source{issuer: opt.Settings.Issuer, keys: opt.Settings.JWKSURL, version: opt.Version}
	for _, own := range []string{s.issuer, s.keys} {
		u, err := url.Parse(own)
		s.local = s.local || err == nil && config.IsLoopback(u.Hostname())
	}
	s.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		DialContext: new(net.Dialer).DialContext, DisableKeepAlives: true}, CheckRedirect: s.mayFollow}
	return s
}

// mayFollow refuses a redirect to where no key may come from.
func (s *source) mayFollow(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return s.allowed(r.URL)
}

// allowed fails for an address that others could answer for: one without TLS that is not of this machine.
func (s *source) allowed(u *url.URL) error {
	if u.Scheme == "https" && u.Hostname() != "" || u.Scheme == "http" && s.local && config.IsLoopback(u.Hostname()) {
		return nil
	}
	return errors.New("it leads to an address that is not https://")
}

// fetch returns the keys of the issuer.
func (s *source) fetch(ctx context.Context) ([]key, error) {
	from := s.keys
	if from == "" {
		var err error
		if from, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	data, _, err := s.get(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fault.Excerpt(from, maxQuoted), err)
	}
	keys, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("the keys at %s cannot be used: %w", fault.Excerpt(from, maxQuoted), err)
	}
	return keys, nil
}

// discover returns where the keys are, as the issuer's metadata says at the first place that has any: that of RFC 8414,
// 3.1, or those of OpenID Connect Discovery, 4.1, old and new (RFC 8414, 5).
func (s *source) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(s.issuer)
	if err != nil {
		return "", err
	}
	root, path := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{root + "/.well-known/oauth-authorization-server" + path,
		root + path + "/.well-known/openid-configuration"}
	if path != "" {
		places = append(places, root+"/.well-known/openid-configuration"+path)
	}
	for _, place := range places {
		data, absent, err := s.get(ctx, place)
		if absent {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", place, err)
		}
		var metadata struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		if json.Unmarshal(data, &metadata) != nil || metadata.JWKS == "" {
			continue // metadata without jwks_uri may stand beside that of OpenID Connect
		}
		// "MUST be identical" (RFC 8414, 3.3): tokens are compared with the one of the settings.
		if metadata.Issuer != s.issuer {
			return "", fmt.Errorf("%s is that of another issuer, %s", place, fault.Excerpt(metadata.Issuer, maxQuoted))
		}
		return metadata.JWKS, nil
	}
	return "", errors.New("its metadata does not say where they are: set jwks_url in [gateway.jwt]")
}

// get returns a document. absent says that there is none.
func (s *source) get(ctx context.Context, from string) (data []byte, absent bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err == nil {
		err = s.allowed(r.URL)
	}
	if err != nil {
		return nil, false, err
	}
	r.Header.Set("Accept", "application/json, application/jwk-set+json")
	r.Header.Set("User-Agent", "mcpl/"+s.version)
	resp, err := s.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // its text would say the address again
			err = u.Err
		}
		return nil, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, resp.StatusCode/100 == 4, fmt.Errorf("it answered with HTTP %d", resp.StatusCode)
	}
	if data, err = io.ReadAll(io.LimitReader(resp.Body, maxDocument+1)); err == nil && len(data) > maxDocument {
		err = fmt.Errorf("it is larger than %d bytes", maxDocument)
	}
	return data, false, err
}
