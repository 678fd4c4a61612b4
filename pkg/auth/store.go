package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// recordVersion is the version of the files.
const recordVersion = 1

// lockWait bounds how long one mcpl waits for another that renews the token of the same server. The other one makes
// at most a few requests of requestLimit.
const lockWait = 2 * time.Minute

// maxRecord bounds the file of a login, in bytes. Tokens have a few kB.
const maxRecord = 16 << 20

// record is everything known of the login to one server. It is one file; if the keyring holds the secrets, the file
// does not.
type record struct {
	Version int `json:"version"`
	// Server and URL are for readers of the file. Binding decides: see bindingOf.
	Server  string `json:"server"`
	URL     string `json:"url"`
	Binding string `json:"binding"`
	// Serial changes with each write.
	Serial string `json:"serial"`
	// Kept is the place of the secrets.
	Kept   config.Credentials `json:"kept"`
	Grant  config.Grant       `json:"grant"`
	Issuer string             `json:"issuer"`
	// Resource is the resource that the tokens are for (RFC 8707).
	Resource string    `json:"resource"`
	Token    string    `json:"token_endpoint"`
	Revoke   string    `json:"revocation_endpoint,omitempty"`
	Client   client    `json:"client"`
	Asked    []string  `json:"scopes_asked,omitempty"`
	Granted  []string  `json:"scopes_granted,omitempty"`
	Obtained time.Time `json:"obtained,omitzero"`
	Expires  time.Time `json:"expires,omitzero"` // zero: the server did not say
	// Renewable says that there is a refresh token.
	Renewable bool     `json:"renewable"`
	Secrets   *secrets `json:"secrets,omitempty"`
}

// secrets holds what no other user may see.
type secrets struct {
	Access  string `json:"access_token,omitempty"`
	Refresh string `json:"refresh_token,omitempty"`
	// Client is the secret of a client that registered itself. An entry's secret stays in the entry.
	Client string `json:"client_secret,omitempty"`
}

// header returns the Authorization header of the record. It is empty if the record has no token.
func (r *record) header() string {
	if r == nil || r.Secrets.Access == "" {
		return ""
	}
	return "Bearer " + r.Secrets.Access
}

// forgetTokens removes the tokens and keeps the registration of the client.
func (r *record) forgetTokens() {
	r.Secrets.Access, r.Secrets.Refresh = "", ""
	r.Granted, r.Obtained, r.Expires, r.Renewable = nil, time.Time{}, time.Time{}, false
}

// bindingOf identifies the server that a login is for: the entry's name, its URL and its Host header, the project that
// the entry comes with, and the principal of a gateway whose login it is. mcpl does not use a record of another
// binding, so that no token goes elsewhere, and no project or principal uses the login of another.
func bindingOf(s *config.Server) string {
	text := "mcpl login 1\x00" + s.Name + "\x00" + s.URL
	for _, h := range s.Headers {
		if strings.EqualFold(h.Name, "Host") { // another server behind the same address
			text += "\x00" + h.Value
		}
	}
	if owner := s.LoginOwner(); owner != "" {
		text += "\x00project\x00" + owner
	}
	if s.Principal() != "" {
		text += "\x00principal\x00" + s.Principal()
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// store keeps records, in files and in the keyring.
type store struct {
	dir   string
	place config.Credentials
	ring  *keyring // nil if there is none
	// ringTurn is full while a call of the keyring runs. It has room for one.
	ringTurn chan struct{}

	cached sync.Map // by binding, of a keptSecrets, since the keyring is slow
}

// keptSecrets are the secrets of a record with that serial.
type keptSecrets struct {
	serial string
	secrets
}

func (st *store) path(binding string) string { return filepath.Join(st.dir, binding[:24]+".json") }

// lock makes this the only mcpl that changes the login of a server.
func (st *store) lock(ctx context.Context, s *config.Server) (unlock func(), err error) {
	path := st.path(bindingOf(s)) + ".lock"
	if err := st.makePrivate(); err != nil {
		return nil, st.unwritable(path, err)
	}
	unlock, err = atomicfile.Lock(ctx, path, lockWait)
	switch held, ok := errors.AsType[*atomicfile.HeldError](err); {
	case ctx.Err() != nil:
		return nil, newFault(s, fault.Interrupted, "interrupted while another mcpl renews the login of "+s.Name, "Try again.")
	case ok:
		return nil, newFault(s, fault.Timeout, fmt.Sprintf("another mcpl is busy with the login of %s: %v", s.Name, held),
			"Wait for the other mcpl or end it, and try again.")
	case err != nil:
		return nil, st.unwritable(path, err)
	}
	return unlock, nil
}

// makePrivate makes the folder for this user alone, even if it exists. It fails if the folder belongs to another user.
func (st *store) makePrivate() error {
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(st.dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(st.dir, 0o700)
}

// load returns the record of a server's login. It is nil if there is none. A damaged file is a fault.Config, and stays.
func (st *store) load(ctx context.Context, s *config.Server) (*record, error) {
	binding := bindingOf(s)
	path := st.path(binding)
	data, err := atomicfile.Read(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		help := cmp.Or(atomicfile.Remedy(path, err), "Make it readable for you.")
		return nil, newFault(s, fault.Config, "cannot read "+path+": "+atomicfile.Reason(err), help).
			Then("Or log in again with", loginStep(s, nil)).Because(err)
	}
	r, err := parseRecord(data, binding)
	if err != nil {
		message := fmt.Sprintf("%s, which holds the login of %s, is damaged: %v", path, s.Name, err)
		return nil, newFault(s, fault.Config, message, "").
			Then("Log in again, which keeps the damaged file as a copy", loginStep(s, nil))
	}
	if r.Kept == config.InKeyring {
		err = st.fromRing(ctx, s, r)
	}
	r.hide(s)
	return r, err
}

// hide keeps the secrets of a record out of what mcpl says of its server.
func (r *record) hide(s *config.Server) {
	s.Hide(r.Secrets.Access, r.Secrets.Refresh, r.Secrets.Client)
}

// parseRecord reads a file. Its errors quote nothing.
func parseRecord(data []byte, binding string) (*record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, errors.New("it is not the JSON of a login")
	}
	switch {
	case r.Version != recordVersion:
		return nil, fmt.Errorf("it is of version %d, and this mcpl knows %d", r.Version, recordVersion)
	case r.Binding != binding:
		return nil, errors.New("it belongs to another server")
	case r.Issuer == "" || r.Token == "" || r.Resource == "" || r.Client.ID == "":
		return nil, errors.New("something is missing in it")
	case r.Kept != config.InKeyring && (r.Kept != config.InFiles || r.Secrets == nil):
		return nil, errors.New("it does not say where the tokens are")
	case r.Secrets == nil:
		r.Secrets = new(secrets) // they are in the keyring
	case r.header() != "" && !isBearer(r.Secrets.Access):
		return nil, errors.New("its token is not a bearer token")
	}
	return &r, nil
}

// fromRing fills in the secrets of a record. If the keyring has none, they stay empty.
func (st *store) fromRing(ctx context.Context, s *config.Server, r *record) error {
	if known, ok := st.cached.Load(r.Binding); ok && known.(keptSecrets).serial == r.Serial {
		*r.Secrets = known.(keptSecrets).secrets
		return nil
	}
	text, err := st.useRing(ctx, func(k *keyring) (string, error) { return k.get(ringService, r.Binding) })
	if err != nil {
		return ringFault(s, err)
	}
	if err := json.Unmarshal([]byte(text), r.Secrets); err != nil || r.header() != "" && !isBearer(r.Secrets.Access) {
		*r.Secrets = secrets{}
	}
	st.cached.Store(r.Binding, keptSecrets{r.Serial, *r.Secrets})
	return nil
}

// save writes a record, the secrets into the keyring if that is wanted and works. The caller holds the lock. A
// damaged file in its place is kept as a copy.
func (st *store) save(ctx context.Context, s *config.Server, r *record) error {
	r.Version, r.Server, r.URL, r.Binding, r.Serial = recordVersion, s.Name, s.Display().URL, bindingOf(s), rand.Text()
	r.Renewable = r.Secrets.Refresh != ""
	r.hide(s)
	path := st.path(r.Binding)
	_ = atomicfile.Sweep(path) // the next one tries again
	wasInRing, err := st.setAside(path, r.Binding)
	if err != nil {
		return err
	}
	written := *r
	written.Kept, r.Kept = config.InFiles, config.InFiles
	if st.place != config.InFiles {
		switch err := st.toRing(ctx, r); {
		case err == nil:
			written.Kept, written.Secrets, r.Kept = config.InKeyring, nil, config.InKeyring
		case st.place == config.InKeyring:
			return ringFault(s, err)
		}
	}
	data, err := json.MarshalIndent(written, "", "  ")
	if err != nil {
		return err
	}
	if err := errors.Join(st.makePrivate(), atomicfile.Write(path, append(data, '\n'), 0o600)); err != nil {
		return st.unwritable(path, err)
	}
	if wasInRing && r.Kept != config.InKeyring {
		_ = st.ringDelete(ctx, r.Binding) // the keyring's copy is out of date
	}
	st.cached.Store(r.Binding, keptSecrets{r.Serial, *r.Secrets})
	return nil
}

// setAside keeps a damaged file as a copy. For a sound file it reports whether its secrets are in the keyring.
func (st *store) setAside(path, binding string) (inRing bool, err error) {
	data, err := atomicfile.Read(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		var old *record
		if old, err = parseRecord(data, binding); err == nil {
			return old.Kept == config.InKeyring, nil
		}
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.Rename(path, path+".bak")); err != nil {
		return false, st.unwritable(path, err)
	}
	return false, nil
}

// remove forgets the login of a server. The caller holds the lock.
func (st *store) remove(ctx context.Context, s *config.Server) error {
	binding := bindingOf(s)
	path := st.path(binding)
	st.cached.Delete(binding)
	_ = atomicfile.Sweep(path) // the next one tries again
	inRing, err := st.setAside(path, binding)
	if err != nil {
		return err
	}
	if inRing {
		if err := st.ringDelete(ctx, binding); err != nil {
			return ringFault(s, err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return st.unwritable(path, err)
	}
	return nil
}

func (st *store) unwritable(path string, err error) *fault.Fault {
	help := fmt.Sprintf("Make the folder %s writable for you, or point XDG_STATE_HOME to one that is.", filepath.Dir(path))
	return fault.New(fault.Config, "cannot write "+path, cmp.Or(atomicfile.Remedy(path, err), help)).Because(err)
}
