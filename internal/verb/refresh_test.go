package verb

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRefreshOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, RefreshName, map[string]options{"alone": {want: &refreshVerb{plain{[]string{}}}}})
}

func TestRefreshAnswers(t *testing.T) {
	t.Parallel()
	expired := func(t *testing.T) *world {
		w := fixture(t)
		w.app.Now = func() time.Time { return noon.Add(25 * time.Hour) }
		return w
	}
	checkAnswers(t, expired, map[string]answer{
		"what has expired": {args: []string{RefreshName}, asked: []string{"demo", "down", "papers", "web"}},
	})
	checkAnswers(t, fixture, map[string]answer{"nothing has expired": {args: []string{RefreshName}}})
}

// TestBehindAnAnswer: an answer from a list that has expired has the list renewed behind it, by a process
// that knows the same files.
func TestBehindAnAnswer(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		later time.Duration
		want  string
	}{
		"a fresh list":        {time.Hour, ""},
		"an expired list":     {25 * time.Hour, "renew --config other.json --env-file vars.env"},
		"a list of last year": {9000 * time.Hour, ""}, // asked again before the answer
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			w.write("other.json", fixtureConfig)
			w.write("vars.env", "")
			files := []string{"--config", "other.json", "--env-file", "vars.env"}
			if got := w.run(t.Context(), append(files, "list", "demo")...); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			var started []string
			w.app.Detach = func(args []string) error {
				started = append(started, strings.Join(args, " "))
				return nil
			}
			w.app.Now = func() time.Time { return noon.Add(tc.later) }
			if got := w.run(t.Context(), append(files, "list", "demo")...); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			want := []string{tc.want}
			if tc.want == "" {
				want = nil
			}
			if !slices.Equal(started, want) {
				t.Errorf("started %q, want %q", started, want)
			}
		})
	}
}
