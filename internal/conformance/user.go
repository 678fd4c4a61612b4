package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// user is someone at a shell with an mcpl of their own: a home, a configuration with one server,
// and nothing left from before.
type user struct {
	mcpl, config string
	env          []string
}

// server is the name of the only server in the configuration.
const server = "it"

func newUser(mcpl, dir string, entry map[string]any) (*user, error) {
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{server: entry}})
	if err != nil {
		return nil, err
	}
	u := &user{
		mcpl:   mcpl,
		config: filepath.Join(dir, "mcp.json"),
		env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir},
	}
	for _, name := range []string{"CONFIG_HOME", "CACHE_HOME", "STATE_HOME", "RUNTIME_DIR"} {
		folder := filepath.Join(dir, strings.ToLower(name))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
		u.env = append(u.env, "XDG_"+name+"="+folder)
	}
	return u, os.WriteFile(u.config, config, 0o600)
}

// command makes an mcpl process; --verbose leaves in the transcript what went over the wire.
func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append([]string{"--json", "--verbose", "--no-daemon", "--config", u.config}, args...)
	fmt.Printf("$ mcpl %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, u.mcpl, all...)
	cmd.Dir, cmd.Env = filepath.Dir(u.config), u.env
	return cmd
}

// complaint is a failure of mcpl, as --json prints it.
type complaint struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Help    string `json:"help"`
}

func (c *complaint) Error() string { return c.Type + ": " + c.Message + " (" + c.Help + ")" }

// run types a command and returns what mcpl answered.
func (u *user) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := u.command(ctx, args...)
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	fmt.Printf("%s%s", told.Bytes(), out.Bytes())
	if err == nil {
		return out.Bytes(), nil
	}
	var answer struct {
		Error *complaint `json:"error"`
	}
	if json.Unmarshal(out.Bytes(), &answer) == nil && answer.Error != nil {
		return nil, answer.Error
	}
	return nil, fmt.Errorf("mcpl %s: %w", strings.Join(args, " "), err)
}

// maxLogins is how often a user logs in for one command before losing patience.
const maxLogins = 2

// do types a command, and whenever mcpl says that a login is needed, logs in as it says and types it
// again.
func (u *user) do(ctx context.Context, args ...string) ([]byte, error) {
	for logins := 0; ; logins++ {
		out, err := u.run(ctx, args...)
		var c *complaint
		if !errors.As(err, &c) || c.Type != "AuthRequiredError" || logins == maxLogins {
			return out, err
		}
		advice := loginAdvice(c.Help)
		if advice == nil {
			return nil, err
		}
		if err := u.login(ctx, advice); err != nil {
			return nil, err
		}
	}
}

// loginAdvice takes the command "mcpl auth login ..." out of a help text, as words without mcpl. It
// is nil where the text has none.
func loginAdvice(help string) []string {
	login := regexp.MustCompile(`mcpl (auth login [\w.-]+(?: --scope (?:'[^']*'|"[^"]*"|[^\s'"]+))?)`)
	command := login.FindStringSubmatch(help)
	if command == nil {
		return nil
	}
	words := strings.SplitN(strings.TrimRight(command[1], ".,"), " ", 5)
	if len(words) == 5 {
		words[4] = strings.Trim(words[4], `'"`)
	}
	return words
}

// each calls every tool that mcpl lists, with the arguments that mcpl gives as an example, and returns
// the last failure.
func (u *user) each(ctx context.Context) error {
	out, err := u.do(ctx, "list", server, "--refresh")
	if err != nil {
		return err
	}
	var listed struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		return fmt.Errorf("mcpl list: %w", err)
	}
	var failure error
	for _, t := range listed.Tools {
		def, err := u.inspect(ctx, t.Name)
		if err != nil {
			return err
		}
		if _, err := u.do(ctx, "call", server, t.Name, string(def.Example.Arguments)); err != nil {
			failure = err
		}
	}
	return failure
}

// definition is what mcpl inspect --example says of a tool.
type definition struct {
	InputSchema json.RawMessage `json:"inputSchema"`
	Example     struct {
		Arguments json.RawMessage `json:"arguments"`
	} `json:"example"`
}

func (u *user) inspect(ctx context.Context, tool string) (definition, error) {
	out, err := u.do(ctx, "inspect", server, tool, "--example")
	if err != nil {
		return definition{}, err
	}
	var def definition
	if err := json.Unmarshal(out, &def); err != nil {
		return definition{}, fmt.Errorf("mcpl inspect %s: %w", tool, err)
	}
	return def, nil
}
