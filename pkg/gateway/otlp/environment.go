package otlp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// settings are what the environment says of traces (OpenTelemetry, Environment Variable Specification, and Protocol
// Exporter).
type settings struct {
	endpoint string // empty: nothing is exported
	headers  http.Header
	timeout  time.Duration
	resource []attribute
	sampler  sampler
}

// environment looks up variables; a variable that is empty is unset.
type environment func(name string) (value string, set bool)

// read reads the settings. The error says which variable is wrong.
func (lookup environment) read(version string) (s settings, err error) {
	if strings.EqualFold(lookup.get("OTEL_SDK_DISABLED"), "true") {
		return settings{}, nil
	}
	if s.endpoint, err = lookup.endpoint(); err != nil || s.endpoint == "" {
		return settings{}, err
	}
	switch exporter := lookup.get("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return settings{}, nil
	default:
		return settings{}, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, and mcpl has otlp", exporter)
	}
	if name, protocol := lookup.either("PROTOCOL"); protocol != "" && protocol != "http/json" {
		return settings{}, fmt.Errorf("%s is %q, and mcpl exports OTLP as http/json", name, protocol)
	}
	err = lookup.rest(&s, version)
	return s, err
}

// rest reads what does not decide whether anything is exported.
func (lookup environment) rest(s *settings, version string) (err error) {
	name, given := lookup.either("HEADERS")
	pairs, err := pairsOf(name, given)
	if err != nil {
		return err
	}
	s.headers = make(http.Header)
	for _, p := range pairs {
		s.headers.Set(p[0], p[1])
	}
	s.timeout = 10 * time.Second
	if name, text := lookup.either("TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil || ms == 0 {
			return fmt.Errorf("%s is not a number of milliseconds", name)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	if pairs, err = pairsOf("OTEL_RESOURCE_ATTRIBUTES", lookup.get("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return err
	}
	s.resource = resourceOf(pairs, lookup.get("OTEL_SERVICE_NAME"), version)
	s.sampler, err = samplerOf(lookup.get("OTEL_TRACES_SAMPLER"), lookup.get("OTEL_TRACES_SAMPLER_ARG"))
	return err
}

func (lookup environment) get(name string) string {
	value, _ := lookup(name)
	return strings.TrimSpace(value)
}

// either returns the variable of traces if it is set, else that of all signals.
func (lookup environment) either(what string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_TRACES_" + what
	if value = lookup.get(name); value != "" {
		return name, value
	}
	name = "OTEL_EXPORTER_OTLP_" + what
	return name, lookup.get(name)
}

// endpoint returns the URL that spans are sent to; "" if there is none.
func (lookup environment) endpoint() (string, error) {
	name, text := lookup.either("ENDPOINT")
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is not a URL with http or https", name) // which may hold a secret
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// pairsOf returns the names and values of "name=value,name=value", where values are percent-encoded (W3C Baggage).
func pairsOf(variable, text string) ([][2]string, error) {
	var pairs [][2]string
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, fmt.Errorf("%s is not a list of name=value,name=value", variable) // a value may be a secret
		}
		pairs = append(pairs, [2]string{name, value})
	}
	return pairs, nil
}

// resourceOf returns the attributes of the process: those that are given, and its name and version.
func resourceOf(given [][2]string, service, version string) []attribute {
	var attributes []attribute
	has := make(map[string]bool)
	for _, p := range given {
		if p[0] == "service.name" {
			service = cmp.Or(service, p[1])
		} else if !has[p[0]] {
			attributes = append(attributes, textAttribute(p[0], p[1]))
		}
		has[p[0]] = true
	}
	attributes = append(attributes, textAttribute("service.name", cmp.Or(service, "mcpl")))
	if !has["service.version"] {
		attributes = append(attributes, textAttribute("service.version", version))
	}
	return attributes
}

// sampler decides which spans are recorded.
type sampler struct {
	parentBased bool    // the decision of the client's span counts, if it has one
	ratio       float64 // of the traces that begin here, or of all
}

func samplerOf(name, arg string) (sampler, error) {
	s := sampler{parentBased: true, ratio: 1}
	kind, parentBased := strings.CutPrefix(name, "parentbased_")
	switch kind {
	case "":
		if parentBased {
			return s, fmt.Errorf("OTEL_TRACES_SAMPLER is %q, which is not known", name)
		}
		return s, nil
	case "always_on":
	case "always_off":
		s.ratio = 0
	case "traceidratio":
		if arg == "" {
			break
		}
		ratio, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q, and not a number from 0 to 1", arg)
		}
		s.ratio = ratio
	default:
		return s, fmt.Errorf("OTEL_TRACES_SAMPLER is %q, which is not known", name)
	}
	s.parentBased = parentBased
	return s, nil
}
