package telemetry

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// families reads what is written as Prometheus does.
func families(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	var b bytes.Buffer
	if err := m.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	var parser expfmt.TextParser
	got, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestHistogram counts each call in the buckets that it belongs to, and none that was not made.
func TestHistogram(t *testing.T) {
	t.Parallel()
	m := NewMetrics("1.0", "go1", time.Unix(100, 500e6))
	for _, took := range []time.Duration{0, 5 * time.Millisecond, 6 * time.Millisecond, time.Minute, 2 * time.Minute} {
		r := aCall("x")
		r.Took = took
		m.Observe(r)
	}
	refused := aCall("x")
	refused.Outcome = gateway.Refused
	m.Observe(refused)
	got := families(t, m)
	h := got["mcpl_call_duration_seconds"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 5 || math.Abs(h.GetSampleSum()-180.011) > 1e-9 {
		t.Errorf("%v", h)
	}
	for i, want := range map[int]uint64{0: 2, 1: 3, 10: 3, 11: 4, 12: 5} {
		if n := h.GetBucket()[i].GetCumulativeCount(); n != want {
			t.Errorf("bucket up to %v has %d, not %d", h.GetBucket()[i].GetUpperBound(), n, want)
		}
	}
	calls := got["mcpl_calls_total"].GetMetric()
	if len(calls) != 2 || calls[0].GetCounter().GetValue() != 5 || calls[1].GetCounter().GetValue() != 1 {
		t.Errorf("%v", calls)
	}
	if start := got["process_start_time_seconds"].GetMetric()[0].GetGauge().GetValue(); start != 100.5 {
		t.Error(start)
	}
}

// TestMetricsAreBounded: however many servers there are and whatever they are called, the numbers are read and bounded.
func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	m := NewMetrics(`1"\`, "go1\n", time.Now())
	for i := range 3 * maxServers {
		r := aCall("x")
		r.Server = fmt.Sprintf("s\"%d\\\n\xff", i)
		m.Observe(r)
	}
	got := families(t, m)["mcpl_calls_total"].GetMetric()
	if len(got) != maxServers+1 {
		t.Errorf("%d servers", len(got))
	}
	for _, metric := range got {
		if label := metric.GetLabel()[0].GetValue(); label == "other" {
			if n := metric.GetCounter().GetValue(); n != 2*maxServers {
				t.Errorf("%v calls of others", n)
			}
			return
		}
	}
	t.Error("others are missing")
}
