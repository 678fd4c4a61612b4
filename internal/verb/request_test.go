package verb

import (
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// TestMaxTime holds what limits a request: the flag, else the setting unless it is the default.
func TestMaxTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ flag, timeout, setting, want time.Duration }{
		"nothing is set":           {0, 0, config.DefaultMaxTime, 0},
		"a long timeout":           {0, time.Hour, config.DefaultMaxTime, 0},
		"the flag":                 {time.Minute, 0, config.DefaultMaxTime, time.Minute},
		"the flag and the setting": {time.Minute, time.Hour, time.Hour, time.Minute},
		"the setting":              {0, 0, time.Hour, time.Hour},
		"a timeout beyond it":      {0, 2 * time.Hour, time.Hour, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := request{Timeout: tc.timeout, MaxTime: tc.flag}
			if got := v.options(config.Settings{MaxTime: tc.setting}); got.MaxTime != tc.want || got.Timeout != tc.timeout {
				t.Errorf("got %+v", got)
			}
		})
	}
}
