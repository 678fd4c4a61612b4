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

// keyring is a system's keyring, as the functions of the library.
type keyring struct {
	get    func(service, user string) (string, error)
	set    func(service, user, secret string) error
	delete func(service, user string) error
}

// findKeyring returns the system's keyring. It is nil if there can be none: on Unix, if no session bus runs. The
// library would otherwise start a bus (dbus-launch) and leave it running.
func findKeyring(lookup func(string) (string, bool)) *keyring {
	address, _ := lookup("DBUS_SESSION_BUS_ADDRESS")
	dir, _ := lookup("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(dir, "bus"))
	hasBus := address != "" && address != "autolaunch:" || dir != "" && err == nil
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && !hasBus {
		return nil
	}
	return &keyring{ring.Get, ring.Set, ring.Delete}
}

// useRing runs do with the keyring. Only one such function runs at a time. Nothing to be found is an empty text.
func (st *store) useRing(ctx context.Context, do func(*keyring) (string, error)) (string, error) {
	if st.ring == nil {
		return "", errNoKeyring
	}
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	select {
	case st.ringTurn <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("the keyring is busy: %w", ctx.Err())
	}
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	// The library has no way to give up. A call that hangs keeps the turn and ends with the process, so that there is
	// never more than one.
	go func() {
		text, err := do(st.ring)
		if errors.Is(err, ring.ErrNotFound) {
			text, err = "", nil
		}
		done <- outcome{text, err}
		<-st.ringTurn
	}()
	select {
	case got := <-done:
		return got.text, got.err
	case <-ctx.Done():
		return "", fmt.Errorf("the keyring did not answer: %w", ctx.Err())
	}
}

func (st *store) toRing(ctx context.Context, r *record) error {
	text, err := json.Marshal(r.Secrets)
	if err == nil {
		_, err = st.useRing(ctx, func(k *keyring) (string, error) { return "", k.set(ringService, r.Binding, string(text)) })
	}
	return err
}

func (st *store) ringDelete(ctx context.Context, binding string) error {
	_, err := st.useRing(ctx, func(k *keyring) (string, error) { return "", k.delete(ringService, binding) })
	return err
}

// ringFault is the fault of a keyring that failed.
func ringFault(s *config.Server, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return newFault(s, fault.Config, fmt.Sprintf("the login of %s cannot be kept in the keyring, or read from it", s.Name),
		"Unlock the keyring, or keep logins in files: put credentials = \"file\" into the settings.").
		Then("See where the settings are with", fault.Step{Verb: "config"}).
		Then("Then log in with", loginStep(s, nil)).Because(err)
}
