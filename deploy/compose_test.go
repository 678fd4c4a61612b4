package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose reads compose.yaml as docker compose config does.
func compose(t *testing.T, environ ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithEnv(environ), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// TestCompose reads compose.yaml: two replicas that are held as in the chart, and a balancer that knows both.
func TestCompose(t *testing.T) {
	t.Parallel()
	if _, err := compose(t); err == nil || !strings.Contains(err.Error(), "openssl rand -base64 32") {
		t.Errorf("without a key: %v", err)
	}
	p, err := compose(t, "MCPL_SESSION_KEYS=k")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the services", p.ServiceNames(), `["balancer","mcpl-a","mcpl-b","redis"]`)
	for _, name := range []string{"mcpl-a", "mcpl-b"} {
		s := p.Services[name]
		equal(t, "the environment", s.Environment, `{"MCPL_REDIS_URL":"redis://redis:6379/0","MCPL_SESSION_KEYS":"k",
			"MCPL_TOKENS_FILE":"/etc/mcpl/tokens.json"}`)
		if !s.ReadOnly || s.User != "" || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.Ports) > 0 {
			t.Errorf("%s: read-only %t, user %q, drops %v, ports %v", name, s.ReadOnly, s.User, s.CapDrop, s.Ports)
		}
		if grace := s.StopGracePeriod; grace == nil || grace.String() != "30s" {
			t.Errorf("%s: %v to end", name, grace)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		equal(t, "tmpfs", s.Tmpfs, `["/home/mcpl:uid=65532,gid=65532,mode=0700","/tmp"]`)
	}
	balancer := p.Services["balancer"]
	equal(t, "the balancer", balancer.Environment,
		`{"MCPL_HTTPS":":8443","MCPL_A":"mcpl-a:7332","MCPL_B":"mcpl-b:7332"}`)
	equal(t, "the balancer's port", balancer.Ports, `[{"mode":"ingress","target":8443,"published":"443","protocol":"tcp"}]`)
	here, err := filepath.Abs("haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	if mount := balancer.Volumes[0]; mount.Source != here || mount.Target != "/usr/local/etc/haproxy/haproxy.cfg" || !mount.ReadOnly {
		t.Errorf("%+v", mount)
	}
	for name, s := range p.Services {
		_, outer := s.Networks["outer"]
		if outer != (name == "balancer") {
			t.Errorf("%s is in the networks %v", name, s.NetworksByPriority())
		}
	}
}
