package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfiles reads profiles from the settings file, and asks what belongs to them.
func TestProfiles(t *testing.T) {
	t.Parallel()
	settings, _, err := loadProfiles(t, `limit = 7
[profiles.review]
servers = ["git*"]
tools = ["github/*pull*", "*read*"]
mode = "all"
[profiles.tools]
tools = ["github/*pull*"]
[profiles.servers]
servers = ["mail"]
[profiles.everything]
`)
	if err != nil {
		t.Fatal(err)
	}
	if mode := settings.Profiles["review"].Mode; mode != "all" {
		t.Errorf("the mode of review is %q", mode)
	}
	if mode := settings.Profiles["tools"].Mode; mode != "search" {
		t.Errorf("the mode of tools is %q", mode)
	}
	for asked, want := range map[string]string{
		"github ":            "review tools everything",
		"gitlab ":            "review everything",
		"mail ":              "servers everything",
		"github list_pulls":  "review tools everything",
		"gitlab list_pulls":  "everything",
		"gitlab read_file":   "review everything",
		"mail read":          "servers everything",
		"github delete_repo": "everything",
	} {
		server, name, _ := strings.Cut(asked, " ")
		var shown []string
		for _, profile := range []string{"review", "tools", "servers", "everything"} {
			if settings.Profiles[profile].Shows(server, name) {
				shown = append(shown, profile)
			}
		}
		if got := strings.Join(shown, " "); got != want {
			t.Errorf("%q belongs to %q, not %q", asked, got, want)
		}
	}
}

// TestProfilesWrong: a profile that cannot be used is an error that names it.
func TestProfilesWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[profiles.\"a b\"]":                  "letters, digits, _ and -",
		"[profiles.x]\nmode = \"some\"":       "mode: it is not",
		"[profiles.x]\nservers = [\"a/b\"]":   "names servers",
		"[profiles.x]\nservers = [\"\"]":      "the name of no server",
		"[profiles.x]\ntools = [\"github\"]":  "the name of no call",
		"[profiles.x]\nserver = [\"github\"]": "profiles.x.server",
		"[profiles.x]\nservers = \"github\"":  "profiles.x.servers",
	} {
		if _, _, err := loadProfiles(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
}

func loadProfiles(t *testing.T, text string) (Settings, []Setting, error) {
	t.Helper()
	e := Env{Dir: t.TempDir(), Home: t.TempDir(), GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}
	if err := os.MkdirAll(filepath.Dir(e.SettingsFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.SettingsFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return e.LoadSettings()
}
