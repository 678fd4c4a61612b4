package verb

import (
	"fmt"
	"runtime"
	"testing"
)

func TestVersionOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "version", map[string]options{
		"alone":       {want: &versionVerb{plain{[]string{}}}},
		"with a word": {args: []string{"x"}, want: &versionVerb{plain{[]string{"x"}}}},
	})
}

func TestVersionAnswers(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	checkAnswers(t, func(t *testing.T) *world { return newWorld(t, "", nil) }, map[string]answer{
		"as it is": {args: []string{"version"}, text: fmt.Sprintf("mcpl v1.2.3 (%s, %s)\n", runtime.Version(), platform),
			json: fmt.Sprintf(`{"version":"v1.2.3","go":%q,"platform":%q}`, runtime.Version(), platform)},
	})
}
