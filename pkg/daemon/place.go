package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// Place is where the daemon of one configuration set lives.
type Place struct {
	Socket string // to connect to
	Lock   string // held, as long as it lives, by the daemon
	Start  string // held by a client while it starts the daemon
	Log    string // the daemon's log; beside it, ending in .1, what was rotated away
}

// maxSocket is the longest path of a socket in bytes: sun_path has 104 with its NUL on macOS, 108
// on Linux.
const maxSocket = 103

// PlaceOf returns the place of the daemon of a configuration set ([config.Sources.Key]): in
// $XDG_RUNTIME_DIR/mcpl, else in the folder "run" of the cache, else, where those paths are too
// long for a socket, in /tmp/mcpl-UID. The folder is made where it is missing. It fails where
// none of them can be used by this user alone.
func PlaceOf(env config.Env, key string) (Place, error) {
	if !Supported {
		return Place{}, errors.New("mcpl has no daemon on this system")
	}
	// In /tmp a configuration set alone does not tell two homes of a user apart.
	sum := sha256.Sum256([]byte(env.CacheDir() + "\x00" + key))
	short := hex.EncodeToString(sum[:8])
	candidates := [][2]string{
		{filepath.Join(env.CacheDir(), "run"), key},
		{fmt.Sprintf("/tmp/mcpl-%d", os.Geteuid()), short},
	}
	if dir, _ := env.Lookup("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		// The system makes it; a mere name of nothing is not taken for it.
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			candidates = append([][2]string{{filepath.Join(dir, "mcpl"), key}}, candidates...)
		}
	}
	var failed error
	for _, c := range candidates {
		base := filepath.Join(c[0], c[1])
		if len(base+".sock") > maxSocket {
			continue
		}
		if failed = private(c[0]); failed == nil {
			return Place{Socket: base + ".sock", Lock: base + ".lock", Start: base + ".start",
				Log: filepath.Join(env.StateDir(), "daemon", key+".log")}, nil
		}
	}
	return Place{}, fmt.Errorf("there is no private folder for the daemon's socket: %w", failed)
}

// Identity tells one build of mcpl from another. Released versions are known by their name; what
// has none, or was built from changed sources, also by the time and size of its file.
func Identity(version string) string {
	if strings.HasPrefix(version, "v") && !strings.HasSuffix(version, "+dirty") {
		return version
	}
	self, err := os.Executable()
	if err != nil {
		return version
	}
	info, err := os.Stat(self)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%s %d %d", version, info.ModTime().UnixNano(), info.Size())
}
