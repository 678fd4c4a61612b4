package telemetry

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// MetricsType is the media type of what [Metrics.WriteText] writes: the text format of Prometheus, version 0.0.4.
const MetricsType = "text/plain; version=0.0.4; charset=utf-8"

// maxServers bounds the servers that have numbers of their own: each costs a scrape some 2 kB. Further ones are counted
// together, as the server "other".
const maxServers = 1000

// Metrics counts what happens in a gateway. Make one with [NewMetrics]. Its methods may be called concurrently.
type Metrics struct {
	mu        sync.Mutex
	servers   map[string]*serverCalls
	responses map[int]uint64 // by status
	gauges    []gauge
}

// serverCalls are the calls of one server.
type serverCalls struct {
	ended   map[ending]uint64
	buckets [13]uint64 // by index of bounds; the last one has what takes longer
	sum     time.Duration
}

// ending is how calls ended.
type ending struct {
	method  string
	outcome gateway.Outcome
}

// gauge is a number that is read when somebody asks for it.
type gauge struct {
	name, help, labels string
	value              func() float64
}

// bounds are the upper bounds of the buckets of durations.
func bounds() [12]time.Duration {
	const ms = time.Millisecond
	return [...]time.Duration{5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second,
		2500 * ms, 5 * time.Second, 10 * time.Second, 60 * time.Second}
}

// NewMetrics returns metrics of a process of this version of mcpl, which began at started.
func NewMetrics(version, goVersion string, started time.Time) *Metrics {
	m := &Metrics{servers: make(map[string]*serverCalls), responses: make(map[int]uint64)}
	m.Gauge("mcpl_build_info", "The version of mcpl that runs.",
		fmt.Sprintf("version=%s,go_version=%s", label(version), label(goVersion)), func() float64 { return 1 })
	m.Gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.", "",
		func() float64 { return float64(started.UnixMilli()) / 1000 })
	return m
}

// Gauge adds a number that is read at each scrape. labels are as the text format has them, without braces. Gauges of
// one name are added one after the other.
func (m *Metrics) Gauge(name, help, labels string, value func() float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gauges = append(m.gauges, gauge{name, help, labels, value})
}

// Observe counts a call.
func (m *Metrics) Observe(r gateway.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.servers[r.Server]
	if calls == nil {
		name := r.Server
		if len(m.servers) >= maxServers {
			name = "other"
		}
		if calls = m.servers[name]; calls == nil {
			calls = &serverCalls{ended: make(map[ending]uint64)}
			m.servers[name] = calls
		}
	}
	calls.ended[ending{r.Method, r.Outcome}]++
	if r.Outcome == gateway.Refused {
		return // the server was not asked
	}
	limits := bounds()
	i, _ := slices.BinarySearch(limits[:], r.Took)
	calls.buckets[i]++
	calls.sum += r.Took
}

// Responded counts a response over HTTP.
func (m *Metrics) Responded(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.responses[status]++
}

// WriteText writes all numbers in the text format of Prometheus.
func (m *Metrics) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	m.mu.Lock()
	gauges := slices.Clone(m.gauges)
	m.writeCounts(out)
	m.mu.Unlock()
	last := ""
	for _, g := range gauges { // without mu: they may ask whoever counts here
		if g.name != last {
			head(out, g.name, "gauge", g.help)
		}
		last = g.name
		sample(out, g.name, g.labels, strconv.FormatFloat(g.value(), 'f', -1, 64))
	}
	return out.Flush()
}

// writeCounts writes what is counted. It needs mu.
func (m *Metrics) writeCounts(w *bufio.Writer) {
	names := slices.Sorted(maps.Keys(m.servers))
	head(w, "mcpl_calls_total", "counter", "Calls by server, method and outcome.")
	for _, name := range names {
		endings := slices.SortedFunc(maps.Keys(m.servers[name].ended), func(a, b ending) int {
			return cmp.Or(strings.Compare(a.method, b.method), strings.Compare(string(a.outcome), string(b.outcome)))
		})
		for _, e := range endings {
			sample(w, "mcpl_calls_total", fmt.Sprintf("server=%s,method=%s,outcome=%s", label(name), label(e.method),
				label(string(e.outcome))), strconv.FormatUint(m.servers[name].ended[e], 10))
		}
	}
	const duration = "mcpl_call_duration_seconds"
	head(w, duration, "histogram", "Durations of the calls that were made, by server.")
	for _, name := range names {
		calls, count, of := m.servers[name], uint64(0), "server="+label(name)
		for i, limit := range bounds() {
			count += calls.buckets[i]
			sample(w, duration+"_bucket", fmt.Sprintf(`%s,le="%g"`, of, limit.Seconds()), strconv.FormatUint(count, 10))
		}
		count += calls.buckets[len(calls.buckets)-1]
		sample(w, duration+"_bucket", of+`,le="+Inf"`, strconv.FormatUint(count, 10))
		sample(w, duration+"_sum", of, strconv.FormatFloat(calls.sum.Seconds(), 'f', -1, 64))
		sample(w, duration+"_count", of, strconv.FormatUint(count, 10))
	}
	head(w, "mcpl_http_responses_total", "counter", "Responses over HTTP by status, counted as they begin.")
	for _, status := range slices.Sorted(maps.Keys(m.responses)) {
		sample(w, "mcpl_http_responses_total", fmt.Sprintf(`code="%d"`, status),
			strconv.FormatUint(m.responses[status], 10))
	}
}

func head(w *bufio.Writer, name, kind, help string) {
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) // Flush has the error
}

func sample(w *bufio.Writer, name, labels, value string) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	_, _ = fmt.Fprintf(w, "%s%s %s\n", name, labels, value) // Flush has the error
}

// label quotes the value of a label.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}
