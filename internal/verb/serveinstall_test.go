package verb

import "testing"

func TestServeInstallOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "serve install", map[string]options{
		"a client": {args: []string{"codex"}, want: &serveInstallVerb{client: "codex"}},
		"all flags": {args: []string{"cursor", "--expose", "all", "--to", "f", "--yes"},
			want: &serveInstallVerb{client: "cursor", Expose: "all", To: "f", Yes: true}},
		"no client":         {says: "serve install takes the name of one client"},
		"two":               {args: []string{"cursor", "codex"}, says: "serve install takes the name of one client"},
		"unknown":           {args: []string{"emacs"}, says: `unknown client "emacs"`},
		"unknown exposures": {args: []string{"cursor", "--expose", "x"}, says: `unknown exposure "x"`},
	})
}

func TestNearestClient(t *testing.T) {
	t.Parallel()
	names := []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex", claudeAI}
	for word, want := range map[string]string{"Claude Code": "claude-code", "claude_desktop": "claude-desktop", "curser": "cursor",
		"vs-code": "vscode", "claude-ai": claudeAI, "claude-d": "claude-desktop", "": "", "zed": "", "emacs": ""} {
		near := append(nearestClient(word, names), "")
		if near[0] != want {
			t.Errorf("%q: %q, want %q", word, near, want)
		}
	}
}
