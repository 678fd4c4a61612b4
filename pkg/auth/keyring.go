package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	ring "github.com/zalando/go-keyring"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// ringService is the name under which the keyring shows mcpl's secrets.
const ringService = "mcpl"

// ringWait bounds how long the keyring may take: it may ask the person to unlock it, and the person may be away.
const ringWait = 30 * time.Second

// errNoKeyring says that this machine has no keyring.
var errNoKeyring = errors.New("this machine has no keyring that can be reached")

// keyring is a system's keyring.
type keyring interface {
	// Get returns a secret. A missing one is ring.ErrNotFound.
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// systemKeyring is the keyring of the desktop.
type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) { return ring.Get(service, user) }
func (systemKeyring) Set(service, user, secret string) error   { return ring.Set(service, user, secret) }
func (systemKeyring) Delete(service, user string) error        { return ring.Delete(service, user) }

// findKeyring returns the system's keyring. It is nil if there can be none: on Unix, if no session bus runs. The
// library would otherwise start a bus (dbus-launch) and leave it running.
func findKeyring(lookup func(string) (string, bool)) keyring {
	switch runtime.GOOS {
	case "darwin", "windows":
		return systemKeyring{}
	}
	if address, _ := lookup("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return systemKeyring{}
	}
	if dir, _ := lookup("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return systemKeyring{}
		}
	}
	return nil
}

// useRing runs do with the keyring. Only one such function runs at a time.
func (st *store) useRing(ctx context.Context, do func(keyring) error) error {
	if st.ring == nil {
		return errNoKeyring
	}
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	select {
	case st.ringTurn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("the keyring is busy: %w", ctx.Err())
	}
	done := make(chan error, 1)
	// The library has no way to give up. A call that hangs keeps the turn and ends with the process, so that there is
	// never more than one.
	go func() {
		done <- do(st.ring)
		<-st.ringTurn
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the keyring did not answer: %w", ctx.Err())
	}
}

// ringGet returns what the keyring holds for a binding. It is empty if the keyring holds nothing.
func (st *store) ringGet(ctx context.Context, binding string) (text string, err error) {
	got := make(chan string, 1)
	err = st.useRing(ctx, func(k keyring) error {
		text, err := k.Get(ringService, binding)
		if errors.Is(err, ring.ErrNotFound) {
			text, err = "{}", nil
		}
		got <- text
		return err
	})
	if err != nil {
		return "", err
	}
	return <-got, nil
}

func (st *store) toRing(ctx context.Context, r *record) error {
	text, err := json.Marshal(r.Secrets)
	if err != nil {
		return err
	}
	return st.useRing(ctx, func(k keyring) error { return k.Set(ringService, r.Binding, string(text)) })
}

func (st *store) ringDelete(ctx context.Context, binding string) error {
	return st.useRing(ctx, func(k keyring) error {
		if err := k.Delete(ringService, binding); err != nil && !errors.Is(err, ring.ErrNotFound) {
			return err
		}
		return nil
	})
}

// ringFault is the fault of a keyring that failed.
func ringFault(s *config.Server, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.Config, fmt.Sprintf("the login of %s cannot be kept in the keyring, or read from it", s.Name),
		"Unlock the keyring, or keep logins in files: put credentials = \"file\" into the settings.").
		Then("See where the settings are with", fault.Step{Verb: "config"}).
		Then("Then log in with", loginStep(s, nil)).On(s.Name, "").Because(err)
}
