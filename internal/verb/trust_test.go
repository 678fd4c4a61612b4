package verb

import "testing"

func TestTrustOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "trust", map[string]options{
		"nothing":     {want: &trustVerb{names: []string{}}},
		"all":         {args: []string{"--all"}, want: &trustVerb{All: true, names: []string{}}},
		"all, names":  {args: []string{"--all", "x"}, says: "--all takes no names"},
		"list":        {args: []string{"--list", "x"}, want: &trustVerb{List: true, names: []string{"x"}}},
		"lock, diff":  {args: []string{"--lock", "--diff"}, says: "--diff and --lock do not go together"},
		"diff, list":  {args: []string{"x", "--diff", "--list"}, says: "--list and --diff do not go together"},
		"lock, yes":   {args: []string{"x", "--lock", "--yes", "0123456789ab"}, says: "--lock and --yes do not go together"},
		"yes, no one": {args: []string{"--yes", "0123456789ab"}, says: "--yes takes the name of one server or tool"},
	})
}
