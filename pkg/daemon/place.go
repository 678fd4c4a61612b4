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

// Place has the paths of the daemon of one configuration set.
type Place struct {
	Socket string // to connect to
	Lock   string // a lock that the daemon holds for its life
	Start  string // a lock that a client holds while it starts the daemon
	Log    string // the daemon's log; the rotated one beside it ends in .1
}

// maxSocket is the longest path of a socket in bytes: sun_path has 104 with its NUL on macOS, 108 on Linux.
const maxSocket = 103

// PlaceOf returns the place of the daemon of a configuration set ([config.Sources.Key]): in $XDG_RUNTIME_DIR/mcpl, else
// in the folder "run" of the cache, else, if those paths are too long for a socket, in /tmp/mcpl-UID. It makes the
// folder if need be. It fails if this user alone can use none of them.
func PlaceOf(env config.Env, key string) (Place, error) {
	if !Supported {
		return Place{}, errors.New("mcpl has no daemon on this system")
	}
	// In /tmp the key alone does not tell two homes of one user apart.
	sum := sha256.Sum256([]byte(env.CacheDir() + "\x00" + key))
	short := hex.EncodeToString(sum[:8])
	candidates := [][2]string{
		{filepath.Join(env.CacheDir(), "run"), key},
		{fmt.Sprintf("/tmp/mcpl-%d", os.Geteuid()), short},
	}
	if dir, _ := env.Lookup("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		// The system makes this folder, so that a name without a folder is a mistake.
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
	return Place{}, fmt.Errorf("the daemon's socket has no private folder: %w", failed)
}

// Identity tells one build of mcpl from another. A released version is its name. Any other build also has the time and
// size of its file.
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
