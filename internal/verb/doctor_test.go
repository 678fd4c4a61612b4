package verb

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestDoctorOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "doctor", map[string]options{
		"all":  {want: &doctorVerb{plain: plain{[]string{}}}},
		"some": {args: []string{"a", "b"}, want: &doctorVerb{plain: plain{[]string{"a", "b"}}}},
	})
}

func TestDoctorAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"all": {args: []string{"doctor"}, code: 4, asked: []string{"demo", "down", "papers", "web"}, text: `demo  ok
  entry   DIR/.mcp.json:2
  stdio   demo --token '***'
  server  fake 1.0, protocol 2025-11-25
  offers  2 tools
  took    0s to connect, 0s to list
  next    mcpl list demo

papers  ok
  entry   DIR/.mcp.json:3
  stdio   papers
  server  fake 1.0, protocol 2025-11-25
  offers  1 tool, 2 resources, 1 prompt
  took    0s to connect, 0s to list
  next    mcpl list papers

down  cannot be reached
  entry   DIR/.mcp.json:4
  stdio   down
  failed  down exited with code 3
  next    Run it by hand. See what happened with: mcpl doctor down

off  disabled
  entry  DIR/.mcp.json:5
  stdio  off
  next   remove "disabled": true in DIR/.mcp.json, line 5

web  ok
  entry   DIR/.mcp.json:6
  stdio   https://web.example/mcp
  server  fake 1.0, protocol 2025-11-25
  offers  1 tool
  took    0s to connect, 0s to list
  next    mcpl list web

3 of 4 servers fine, 1 disabled.
MCPL_TRUST=all is set: servers of every project are used without an approval, with your own logins.
`},
		"one": {args: strings.Fields("doctor demo"), asked: []string{"demo"}, text: `demo  ok
  entry   DIR/.mcp.json:2
  stdio   demo --token '***'
  server  fake 1.0, protocol 2025-11-25
  offers  2 tools
  took    0s to connect, 0s to list
  next    mcpl list demo

1 of 1 server fine.
MCPL_TRUST=all is set: servers of every project are used without an approval, with your own logins.
`,
			json: `{"servers":[{"name":"demo","verdict":"ok","transport":"stdio","file":"DIR/.mcp.json","line":2,"start":"demo --token '***'","identity":"fake 1.0","protocol":"2025-11-25","connect_ms":0,"list_ms":0,"took_ms":0,"tools":2,"next":"mcpl list demo"}],"healthy":1,"trust":"all"}`},
		"one that failed": {args: strings.Fields("doctor down"), code: 4, asked: []string{"down"}, text: `down  cannot be reached
  entry   DIR/.mcp.json:4
  stdio   down
  failed  down exited with code 3
  next    Run it by hand. See what happened with: mcpl doctor down

0 of 1 server fine.
MCPL_TRUST=all is set: servers of every project are used without an approval, with your own logins.
`,
			json: `{"servers":[{"name":"down","verdict":"cannot be reached","transport":"stdio","file":"DIR/.mcp.json","line":4,"start":"down","connect_ms":0,"list_ms":0,"took_ms":0,"tools":0,"error":{"type":"ServerConnectionError","message":"down exited with code 3","traceback":"","help":"Run it by hand. See what happened with: mcpl doctor down","server":"down"},"next":"Run it by hand. See what happened with: mcpl doctor down"}],"healthy":0,"trust":"all"}`},
		"one that is off": {args: strings.Fields("doctor off"), text: `off  disabled
  entry  DIR/.mcp.json:5
  stdio  off
  next   remove "disabled": true in DIR/.mcp.json, line 5

0 of 0 servers fine, 1 disabled.
MCPL_TRUST=all is set: servers of every project are used without an approval, with your own logins.
`,
			json: `{"servers":[{"name":"off","verdict":"disabled","transport":"stdio","file":"DIR/.mcp.json","line":5,"start":"off","connect_ms":0,"list_ms":0,"took_ms":0,"tools":0,"next":"remove \"disabled\": true in DIR/.mcp.json, line 5"}],"healthy":0,"trust":"all"}`},
		"an unknown one": {args: strings.Fields("doctor nosuch"), code: 3, says: []string{`error: there is no server "nosuch"`}},
	})
}

// TestDoctorVerdicts holds the verdict on each kind of failure, and that the first one is the exit code.
func TestDoctorVerdicts(t *testing.T) {
	t.Parallel()
	for typ, want := range map[fault.Type]string{
		fault.Config: "cannot be used", fault.MissingVariable: "variable missing", fault.AuthRequired: "login needed",
		fault.Timeout: "too slow", fault.Protocol: "breaks the protocol", fault.ServerConnection: "cannot be reached",
	} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			w.servers["web"].down = fault.New(typ, "web is broken", "").Trace("because\n  of that")
			w.servers["web"].listing.Stderr = "a\nb\n"
			w.servers["demo"].listing.Notes = []string{"odd"}
			w.servers["demo"].listing.Stderr = "started\nlistening\n"
			w.servers["demo"].listing.Connect = 20 * time.Millisecond
			got := w.run(t.Context(), "doctor", "-v", "demo", "web")
			for _, part := range []string{"web  " + want, "failed  web is broken", "because", "of that", "note    odd",
				"stderr  started\n          listening\n", "20ms to connect"} {
				if !strings.Contains(got.stdout, part) {
					t.Errorf("no %q in\n%s", part, got.stdout)
				}
			}
			if login := strings.Contains(got.stdout, "login   not logged in"); got.code != typ.ExitCode() || login != (typ == fault.AuthRequired) {
				t.Errorf("exit code %d, login is %v", got.code, login)
			}
		})
	}
}

// TestServersDoctorReasons: the reason of a failure counts more than its type, for every kind of cause.
func TestServersDoctorReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"variable": "variable missing", "argument": "wrong arguments", "setting": "wrong setting", "setup": "not set up",
		"module": "broken installation", "addon": "broken installation", "runtime": "old runtime", "http": "serves HTTP",
		"refused": "service not reached", "host": "service not reached", "network": "service not reached",
		"": "too slow",
	} {
		f := fault.New(fault.Timeout, "m", "h")
		f.Reason = reason
		if got := verdictOn(f); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// TestDoctorOff: a server that a person has switched off is switched on by a verb.
func TestDoctorOff(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	w.run(t.Context(), "disable", "demo")
	if got := w.run(t.Context(), "doctor", "demo"); !strings.Contains(got.stdout, "next   mcpl enable demo\n") {
		t.Errorf("%+v", got)
	}
}

// TestDoctorExitCode: of several failures the first one counts.
func TestDoctorExitCode(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	w.servers["demo"].down = fault.New(fault.Timeout, "demo did not answer", "Try again.")
	w.servers["web"].down = fault.New(fault.AuthRequired, "web wants a login", "Log in.")
	got := w.run(t.Context(), "doctor", "papers", "demo", "web")
	if got.code != fault.Timeout.ExitCode() || !strings.Contains(got.stdout, "1 of 3 servers fine.") {
		t.Errorf("%+v", got)
	}
}
