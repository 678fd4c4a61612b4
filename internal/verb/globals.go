package verb

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Globals are the flags that every verb has, before and after its name.
type Globals struct {
	JSON, Verbose, NoColor bool
	NoDaemon               bool
	Configs, EnvFiles      []string
	ConnectTimeout         time.Duration
}

// Flags defines the global flags.
func (g *Globals) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&g.JSON, "json", false, "print one JSON document, also on failure")
	fs.BoolVarP(&g.Verbose, "verbose", "v", false, "show on stderr what happens, with times")
	fs.BoolVar(&g.NoColor, "no-color", false, "print without colours (or set NO_COLOR=1)")
	fs.StringArrayVar(&g.Configs, "config", nil, "use this configuration `FILE`; repeatable")
	fs.StringArrayVar(&g.EnvFiles, "env-file", nil, "use this environment `FILE`; repeatable")
	fs.BoolVar(&g.NoDaemon, "no-daemon", false, "start servers for this command only")
	fs.Var((*durationValue)(&g.ConnectTimeout), "connect-timeout", "limit for starting a server (default 30s)")
}

// durationValue is a flag that takes "30s", "2m" or a number of seconds.
type durationValue time.Duration

func (d *durationValue) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	v, err := time.ParseDuration(text)
	if err != nil || v <= 0 {
		return errors.New("give a duration like 30s or 2m")
	}
	*d = durationValue(v)
	return nil
}

func (d *durationValue) Type() string { return "duration" }

func (d *durationValue) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}
