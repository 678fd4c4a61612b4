package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
)

// Settings are mcpl's own settings, the values in force. Flags and a server's entry win over them.
type Settings struct {
	// ConnectTimeout bounds start and handshake of a server, CallTimeout a call of a tool.
	ConnectTimeout, CallTimeout time.Duration
	// MaxTime bounds a call, however much progress the server reports. A longer limit of the call replaces
	// [DefaultMaxTime].
	MaxTime time.Duration
	// TTL is the age at which mcpl asks a server for its lists again.
	TTL time.Duration
	// Grace is how much older than its TTL a list may be and still serve, while it is renewed behind the answer. Zero
	// makes every answer wait for an expired list.
	Grace time.Duration
	// Limit bounds the hits of a search.
	Limit int
	// MaxBytes is the size above which a result goes to a file instead of a JSON answer. Zero means no limit.
	MaxBytes int
	// Daemon says that a daemon keeps servers warm. Idle is the time without a request after which it stops one.
	Daemon bool
	Idle   time.Duration
	// Roots offers the project's folder as a root to servers whose entry has no "roots".
	Roots bool
	// Credentials is the place of tokens.
	Credentials Credentials
	// Pins says what becomes of definitions that have changed since a person last saw them.
	Pins Pins
	// Catalog is where a gateway shows what can be activated. A tools.toml wins over it.
	Catalog CatalogPlace
	// Audit is the file that a gateway appends a line to for each call.
	Audit AuditFile
	// PublicURL is where clients of a gateway over HTTP find it, without the path /mcp: that of the proxy before it. It
	// has no slash at its end, and may be empty.
	PublicURL PublicURL
	// Trusted are folders, as written: the servers of projects in them need no approval, and their files count whoever
	// owns them. Only the settings file can name them.
	Trusted []string
	// Policy are the rules for calls. Only the settings file has them: no project and no variable can loosen them.
	Policy policy.Rules
	// Profiles are what clients of a gateway can ask for, by name. Only the settings file has them.
	Profiles map[string]Profile
	// JWT says whose JSON Web Tokens a gateway over HTTP takes; nil if it takes none. No project can say so.
	JWT *JWT
}

// DefaultMaxTime is the MaxTime unless a setting says otherwise.
const DefaultMaxTime = 10 * time.Minute

// Credentials is the place where tokens of logins are kept.
type Credentials string

// The places for tokens.
const (
	AutoCredentials Credentials = "auto"    // the keyring if there is one, else files
	InFiles         Credentials = "file"    // files of mode 0600 in mcpl's state folder
	InKeyring       Credentials = "keyring" // the system's keyring, and nowhere else
)

// PublicURL is an https:// URL, or an http:// URL of this machine, without a slash at its end.
type PublicURL string

// Pins says what becomes of a definition that has changed since a person last saw it.
type Pins string

// The ways to treat definitions that have changed, from the strictest on.
const (
	HoldPins Pins = "hold" // the old one counts until a person has approved the new one
	WarnPins Pins = "warn" // the new one counts, unless it is less safe, and answers say so
	NoPins   Pins = "off"  // the new one counts
)

// AuditFile is the path of a file, or one of these.
type AuditFile string

// The values that are not the path of a file.
const (
	NoAudit       AuditFile = "off"
	AuditToStderr AuditFile = "-"
)

// valid fails for a path that would mean another file in each folder.
func (a AuditFile) valid() error {
	if a != NoAudit && a != AuditToStderr && !filepath.IsAbs(string(a)) {
		return errors.New(`it is not the path of a file from the root on, nor "-", which is stderr, nor "off"`)
	}
	return nil
}

// valid reports whether p is one of these.
func (p Pins) valid() bool { return p == HoldPins || p == WarnPins || p == NoPins }

// Setting is one setting as the verb config shows it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// From is "default", a variable's name, or the settings file with its line.
	From string `json:"from"`
}

// LoadSettings returns the settings in force and the source of each: the variables MCPL_CONNECT_TIMEOUT,
// MCPL_CALL_TIMEOUT, MCPL_MAX_TIME, MCPL_TTL, MCPL_GRACE, MCPL_LIMIT, MCPL_MAX_BYTES, MCPL_DAEMON, MCPL_IDLE,
// MCPL_ROOTS, MCPL_CREDENTIALS, MCPL_PINS, MCPL_CATALOG, MCPL_AUDIT and MCPL_PUBLIC_URL; else the same names in small
// letters in the settings file; else 30 s, 30 s, 10 min, 24 h, 7 days, 5, 24 kB, true, 15 min, false, auto, warn,
// description, off and no URL. Times are texts with a unit, such as "30s" or "24h". An unknown key and an invalid value
// are a fault.Config
// that names the line. A missing file costs one failed open.
func (e Env) LoadSettings() (Settings, []Setting, error) {
	s := Settings{ConnectTimeout: 30 * time.Second, CallTimeout: 30 * time.Second, MaxTime: DefaultMaxTime,
		TTL: 24 * time.Hour, Grace: 7 * 24 * time.Hour, Limit: 5, MaxBytes: 24_000, Daemon: true, Idle: 15 * time.Minute,
		Credentials: AutoCredentials, Pins: WarnPins, Catalog: InDescription,
		Audit: NoAudit}
	file, err := e.readSettings()
	if err != nil {
		return Settings{}, nil, err
	}
	if s.Policy, err = file.policy(); err != nil {
		return Settings{}, nil, err
	}
	if s.Profiles, err = file.profiles(); err != nil {
		return Settings{}, nil, err
	}
	var shown []Setting
	for _, slot := range s.slots(file.values) {
		from := "default"
		if slot.text != nil {
			from = fmt.Sprintf("%s:%d", file.path, file.line(slot.name))
			if err := slot.set(string(*slot.text)); err != nil {
				return Settings{}, nil, badSetting(from+": "+slot.name, err)
			}
		}
		if variable := "MCPL_" + strings.ToUpper(slot.name); e.get(variable) != "" {
			from = variable
			if err := slot.set(e.get(variable)); err != nil {
				return Settings{}, nil, badSetting(variable, err)
			}
		}
		if slot.show() != "" {
			shown = append(shown, Setting{slot.name, slot.show(), from})
		}
	}
	if s.Trusted = file.values.Trusted; len(s.Trusted) > 0 {
		from := fmt.Sprintf("%s:%d", file.path, file.line("trusted"))
		shown = append(shown, Setting{"trusted", strings.Join(s.Trusted, ", "), from})
	}
	jwt, jwtShown, err := file.jwt(e, string(s.PublicURL))
	if err != nil {
		return Settings{}, nil, err
	}
	s.JWT, shown = jwt, append(shown, jwtShown...)
	if word := e.get("MCPL_TRUST"); word != "" && !e.TrustsAll() {
		return Settings{}, nil, badSetting("MCPL_TRUST", fmt.Errorf(`%q is not "all", which is all that it can be`, word))
	}
	return s, shown, nil
}

// slot is one setting by its name in the file.
type slot struct {
	name string
	at   any      // a *time.Duration, *int, *bool, *Credentials, *Pins, *CatalogPlace, *AuditFile or *PublicURL
	text *rawText // in the settings file; nil if that does not set it
	zero bool     // the time or number may be 0
}

func (s *Settings) slots(file settingValues) []slot {
	return []slot{
		{"connect_timeout", &s.ConnectTimeout, file.ConnectTimeout, false},
		{"call_timeout", &s.CallTimeout, file.CallTimeout, false},
		{"max_time", &s.MaxTime, file.MaxTime, false},
		{"ttl", &s.TTL, file.TTL, false},
		{"grace", &s.Grace, file.Grace, true},
		{"limit", &s.Limit, file.Limit, false},
		{"max_bytes", &s.MaxBytes, file.MaxBytes, true},
		{"daemon", &s.Daemon, file.Daemon, false},
		{"idle", &s.Idle, file.Idle, false},
		{"roots", &s.Roots, file.Roots, false},
		{"credentials", &s.Credentials, file.Credentials, false},
		{"pins", &s.Pins, file.Pins, false},
		{"catalog", &s.Catalog, file.Catalog, false},
		{"audit", &s.Audit, file.Audit, false},
		{"public_url", &s.PublicURL, file.PublicURL, false},
	}
}

func (s slot) set(text string) error {
	word := strings.ToLower(text)
	switch at := s.at.(type) {
	case *Credentials:
		*at = Credentials(word)
		return oneOf(word, string(AutoCredentials), string(InFiles), string(InKeyring))
	case *Pins:
		*at = Pins(word)
		return oneOf(word, string(WarnPins), string(HoldPins), string(NoPins))
	case *CatalogPlace:
		*at = CatalogPlace(word)
		return oneOf(word, string(InDescription), string(InAnswer))
	case *AuditFile:
		*at = AuditFile(text)
		return at.valid()
	case *PublicURL:
		_, err := webAddress(text)
		*at = PublicURL(strings.TrimRight(text, "/"))
		return err
	}
	return s.setValue(text)
}

// setValue sets a setting that is a switch, a time or a number.
func (s slot) setValue(text string) error {
	least := 1
	if s.zero {
		least = 0
	}
	switch at := s.at.(type) {
	case *bool:
		word := strings.ToLower(text)
		*at = slices.Contains([]string{"true", "on", "yes", "1"}, word)
		if !*at && !slices.Contains([]string{"false", "off", "no", "0"}, word) {
			return errors.New("it is neither on nor off: write true or false")
		}
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Duration(least) {
			return errors.New(`it is not a time with a unit: write it as "30s", "5m" or "24h"`)
		}
		*at = d
	case *int:
		n, err := strconv.ParseInt(text, 0, 0)
		if err != nil || n < int64(least) {
			return fmt.Errorf("it is not a whole number of at least %d", least)
		}
		*at = int(n)
	}
	return nil
}

// oneOf fails for a word that is none of these, of which there are at least two.
func oneOf(word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	last := len(words) - 1
	return fmt.Errorf(`it is not "%s" or "%s"`, strings.Join(words[:last], `", "`), words[last])
}

func (s slot) show() string {
	if d, ok := s.at.(*time.Duration); ok {
		return shortDuration(*d)
	}
	return fmt.Sprint(reflect.ValueOf(s.at).Elem())
}

// shortDuration writes 24h0m0s as 24h.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func badSetting(where string, err error) *fault.Fault {
	return fault.New(fault.Config, where+": "+err.Error(), "Correct it there.").
		Then("See the settings in force with", fault.Step{Verb: "config"})
}

// rawText is a scalar of the settings file, as written there.
type rawText string

// UnmarshalText keeps the text.
func (t *rawText) UnmarshalText(text []byte) error {
	*t = rawText(text)
	return nil
}

// settingValues holds the keys of the settings file.
type settingValues struct {
	ConnectTimeout *rawText `toml:"connect_timeout"`
	CallTimeout    *rawText `toml:"call_timeout"`
	MaxTime        *rawText `toml:"max_time"`
	TTL            *rawText `toml:"ttl"`
	Grace          *rawText `toml:"grace"`
	Limit          *rawText `toml:"limit"`
	MaxBytes       *rawText `toml:"max_bytes"`
	Daemon         *rawText `toml:"daemon"`
	Idle           *rawText `toml:"idle"`
	Roots          *rawText `toml:"roots"`
	Credentials    *rawText `toml:"credentials"`
	Pins           *rawText `toml:"pins"`
	Catalog        *rawText `toml:"catalog"`
	Audit          *rawText `toml:"audit"`
	PublicURL      *rawText `toml:"public_url"`
	Trusted        []string `toml:"trusted"`

	Policy   []policyTable           `toml:"policy"`
	Profiles map[string]profileTable `toml:"profiles"`
	Gateway  gatewayTable            `toml:"gateway"`
}

// settingsFile is a parsed settings file.
type settingsFile struct {
	path   string
	data   []byte
	values settingValues
}

func (e Env) readSettings() (settingsFile, error) {
	f := settingsFile{path: e.SettingsFile()}
	data, err := readRegular(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, unreadable(f.path, err, "Make it a readable text file, or remove it.")
	}
	f.data = data
	return f, f.parse()
}

func (f *settingsFile) parse() error {
	err := toml.NewDecoder(bytes.NewReader(f.data)).DisallowUnknownFields().Decode(&f.values)
	if err == nil {
		return nil
	}
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		row, _ := unknown.Errors[0].Position()
		return f.unknown(row, strings.Join(unknown.Errors[0].Key(), "."))
	}
	where, example := f.path+": ", `Write each setting on a line of its own, as in: call_timeout = "60s"`
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, _ := wrong.Position()
		where = fmt.Sprintf("%s:%d: ", f.path, row)
		if key := strings.Join(wrong.Key(), "."); key != "" {
			where += key + ": "
			if key == "trusted" {
				example = `Write a list of folders, as in: trusted = ["~/work"]`
			}
		}
	}
	return fault.New(fault.Config, where+"not a setting in TOML", example).Because(err)
}

func (f *settingsFile) unknown(line int, key string) *fault.Fault {
	if inner, ok := strings.CutPrefix(key, "policy."); ok {
		return f.unknownInPolicy(line, inner)
	}
	if inner, ok := strings.CutPrefix(key, "gateway."); ok {
		return f.unknownInGateway(line, inner)
	}
	var known []string
	for _, slot := range new(Settings).slots(settingValues{}) {
		known = append(known, slot.name)
	}
	known = append(known, "trusted", "policy", "profiles", "gateway.jwt")
	fix := "The settings are " + strings.Join(known, ", ") + "."
	near := nearest(key, known)
	if len(near) > 0 {
		fix = fmt.Sprintf("Did you mean %s? %s", near[0], fix)
	}
	unknown := fault.New(fault.Config, fmt.Sprintf("%s:%d: there is no setting %q", f.path, line, key), fix)
	unknown.Suggestions = near
	return unknown
}

// line returns the line that sets a known key, of a file that was accepted.
func (f *settingsFile) line(key string) int { return lineOf(f.data, key) }
