package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func(want Settings, shown string) {
		t.Helper()
		got, list, err := w.LoadSettings()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		var all []string
		for _, s := range list {
			all = append(all, s.Name+"="+s.Value+" ("+strings.ReplaceAll(s.From, w.SettingsFile(), "file")+")")
		}
		if got := strings.Join(all, ", "); got != shown {
			t.Errorf("shown %s, want %s", got, shown)
		}
	}
	s := Settings{30 * time.Second, 30 * time.Second, 10 * time.Minute, 24 * time.Hour, 7 * 24 * time.Hour, 5, 24_000,
		true, 15 * time.Minute, false, AutoCredentials, WarnPins, InDescription, NoAudit, "", nil, nil, nil, nil}
	check(s, "connect_timeout=30s (default), call_timeout=30s (default), max_time=10m (default), ttl=24h (default), grace=168h (default), limit=5 (default), max_bytes=24000 (default), daemon=true (default), idle=15m (default), roots=false (default), credentials=auto (default), pins=warn (default), catalog=description (default), audit=off (default)")
	w.write(w.SettingsFile(), "\ufeff# mine\ncall_timeout = \"1m\"\n\n\"ttl\" = '90m' # x\nlimit = 7\nmax_bytes = 1_000\ndaemon = false\n\nmax_time = '1h'\n")
	s.CallTimeout, s.TTL, s.Limit, s.MaxBytes, s.Daemon = time.Minute, 90*time.Minute, 7, 1000, false
	s.MaxTime = time.Hour
	check(s, "connect_timeout=30s (default), call_timeout=1m (file:2), max_time=1h (file:9), ttl=1h30m (file:4), grace=168h (default), limit=7 (file:5), max_bytes=1000 (file:6), daemon=false (file:7), idle=15m (default), roots=false (default), credentials=auto (default), pins=warn (default), catalog=description (default), audit=off (default)")
	w.vars["MCPL_CONNECT_TIMEOUT"], w.vars["MCPL_LIMIT"], w.vars["MCPL_TTL"], w.vars["MCPL_DAEMON"], w.vars["MCPL_IDLE"] = "5s", "3", "", "On", "1m"
	w.vars["MCPL_ROOTS"], s.Roots = "on", true
	w.vars["MCPL_MAX_TIME"], s.MaxTime = "20m", 20*time.Minute
	w.vars["MCPL_PINS"], s.Pins = "Hold", HoldPins
	w.vars["MCPL_CATALOG"], s.Catalog = "answer", InAnswer
	w.vars["MCPL_AUDIT"], s.Audit = "/a/b", "/a/b"
	s.ConnectTimeout, s.Limit, s.Daemon, s.Idle = 5*time.Second, 3, true, time.Minute
	check(s, "connect_timeout=5s (MCPL_CONNECT_TIMEOUT), call_timeout=1m (file:2), max_time=20m (MCPL_MAX_TIME), ttl=1h30m (file:4), grace=168h (default), limit=3 (MCPL_LIMIT), max_bytes=1000 (file:6), daemon=true (MCPL_DAEMON), idle=1m (MCPL_IDLE), roots=true (MCPL_ROOTS), credentials=auto (default), pins=hold (MCPL_PINS), catalog=answer (MCPL_CATALOG), audit=/a/b (MCPL_AUDIT)")
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for content, texts := range map[string][]string{
		"# x\ncal_timeout = '1s'\n":         {"config.toml:2", `no setting "cal_timeout"`, "Did you mean call_timeout?"},
		"limit = 1\n[timeouts]\ncall = '1'": {"config.toml:2", `"timeouts"`},
		"zzz = 1":                           {"config.toml:1", "The settings are connect_timeout, call_timeout, max_time, ttl, grace, limit, max_bytes, daemon, idle, roots, credentials, pins, catalog, audit, public_url, trusted, policy, profiles, gateway.jwt."},
		"trusted = '/x'":                    {"config.toml:1", "trusted", "not a setting in TOML", `trusted = ["~/work"]`},
		"ttl = 30":                          {"config.toml:1", "ttl", "time with a unit"},
		"\nttl = '-5s'":                     {"config.toml:2", "time with a unit"},
		"ttl = ''":                          {"config.toml:1", "time with a unit"},
		"limit = 0":                         {"config.toml:1", "limit", "at least 1"},
		"limit = 'many'":                    {"config.toml:1", "whole number"},
		"limit = 1.5":                       {"config.toml:1", "whole number"},
		"max_bytes = -1":                    {"config.toml:1", "at least 0"},
		"daemon = 2":                        {"config.toml:1", "daemon", "neither on nor off"},
		"idle = '0s'":                       {"config.toml:1", "idle", "time with a unit"},
		"pins = 'maybe'":                    {"config.toml:1", "pins", `not "warn", "hold" or "off"`},
		"catalog = 'here'":                  {"config.toml:1", `not "description" or "answer"`},
		"audit = 'log'":                     {"config.toml:1", "audit", `not the path of a file from the root on`},
		"limit = [1]":                       {"config.toml:1", "limit", "not a setting in TOML"},
		"a = 1\n= 2":                        {"config.toml:2", "not a setting in TOML"},
		"limit = 1\nlimit = 2":              {"config.toml:2", "already defined"},
		"\xff\xfel":                         {"config.toml", "UTF-16"},
	} {
		w := newWorld(t)
		w.write(w.SettingsFile(), content)
		_, _, err := w.LoadSettings()
		if err == nil {
			t.Errorf("%q is taken", content)
			continue
		}
		wantFault(t, err, fault.Config, texts...)
	}
	for variable, value := range map[string]string{"MCPL_TTL": "5", "MCPL_LIMIT": "0", "MCPL_MAX_BYTES": "x", "MCPL_CALL_TIMEOUT": "soon", "MCPL_DAEMON": "maybe"} {
		w := newWorld(t)
		w.vars[variable] = value
		_, _, err := w.LoadSettings()
		wantFault(t, err, fault.Config, variable)
	}
	w := newWorld(t)
	if err := os.MkdirAll(w.SettingsFile(), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.LoadSettings()
	wantFault(t, err, fault.Config, "cannot read")
}

func BenchmarkSettings(b *testing.B) {
	e := Env{Home: b.TempDir(), Lookup: os.LookupEnv, GOOS: "linux"}
	for b.Loop() {
		if _, _, err := e.LoadSettings(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTrustsNothing: a notice names an entry of "trusted" that is not a folder, and the place that it was looked for.
func TestTrustsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("~/work/x", "")
	if got := w.TrustsNothing([]string{"~/work", "~/", "~", w.path("~/work")}); got != nil {
		t.Errorf("folders: %q", got)
	}
	got := w.TrustsNothing([]string{"/no/such/folder", "~/work/x", "~other/x", "work", "", ".", ".."})
	if len(got) != 7 || !strings.HasPrefix(got[0], `"/no/such/folder" of "trusted" in `) ||
		!strings.Contains(got[0], "there is no folder /no/such/folder") || !strings.Contains(got[6], "not a whole path") {
		t.Errorf("no folders: %q", got)
	}
}
