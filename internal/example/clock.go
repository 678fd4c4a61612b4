package example

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones on machines without them (Windows, small containers)

	"github.com/mark3labs/mcp-go/server"
)

const momentSchema = `{
	"type": "object",
	"properties": {
		"timezone": {"type": "string"},
		"time": {"type": "string", "description": "RFC 3339 with the zone's offset"},
		"weekday": {"type": "string"},
		"utc_offset": {"type": "string", "description": "Like +09:00"}
	},
	"required": ["timezone", "time", "weekday", "utc_offset"]
}`

// moment is a time as it is in a zone.
type moment struct {
	Timezone  string `json:"timezone"`
	Time      string `json:"time"`
	Weekday   string `json:"weekday"`
	UTCOffset string `json:"utc_offset"`
}

func momentIn(t time.Time, zone *time.Location) moment {
	t = t.In(zone)
	return moment{zone.String(), t.Format(time.RFC3339), t.Weekday().String(), t.Format("-07:00")}
}

func clockTools(now func() time.Time) []server.ServerTool {
	return []server.ServerTool{
		define(spec{
			name:  "current_time",
			title: "Current time",
			description: "Get the current time and date in a time zone, for example to know what time it is in Tokyo right " +
				"now. Returns the local time, the weekday and the offset from UTC.",
			input: `{
				"type": "object",
				"properties": {
					"timezone": {"type": "string",
						"description": "IANA time zone name of the place, like Asia/Tokyo, Europe/Berlin or UTC", "default": "UTC"}
				},
				"additionalProperties": false
			}`,
			output: momentSchema,
		}, func(_ context.Context, in struct{ Timezone string }) (answer, error) {
			zone, err := zoneOf(in.Timezone)
			if err != nil {
				return answer{}, err
			}
			return answer{data: momentIn(now(), zone)}, nil
		}),
		define(spec{
			name:  "convert_time",
			title: "Convert time between zones",
			description: "Convert a time from one time zone to one or more others, for planning a meeting across cities for " +
				"example. A time without a date means today in the zone it comes from.",
			input: `{
				"type": "object",
				"properties": {
					"time": {"type": "string", "description": "The time: 15:30, 2026-03-01 15:30 or RFC 3339"},
					"from": {"type": "string", "description": "IANA time zone of the time; ignored where the time has an offset",
						"default": "UTC"},
					"to": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20,
						"description": "IANA time zones to convert to"}
				},
				"required": ["time", "to"],
				"additionalProperties": false
			}`,
			output: `{
				"type": "object",
				"properties": {"source": ` + momentSchema + `, "times": {"type": "array", "items": ` + momentSchema + `}},
				"required": ["source", "times"]
			}`,
		}, func(_ context.Context, in struct {
			Time, From string
			To         []string
		}) (answer, error) {
			return convertTime(in.Time, in.From, in.To, now())
		}),
	}
}

func convertTime(text, from string, to []string, now time.Time) (answer, error) {
	zone, err := zoneOf(from)
	if err != nil {
		return answer{}, err
	}
	t, err := parseTime(text, zone, now)
	if err != nil {
		return answer{}, err
	}
	times := make([]moment, len(to))
	for i, name := range to {
		target, err := zoneOf(name)
		if err != nil {
			return answer{}, err
		}
		times[i] = momentIn(t, target)
	}
	return answer{data: map[string]any{"source": momentIn(t, zone), "times": times}}, nil
}

// zoneOf returns the zone of that name. "Local" is refused: it says nothing to who asks.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q: give an IANA name, Area/City with underscores, like Asia/Tokyo or "+
			"America/New_York", name)
	}
	return zone, nil
}

func parseTime(text string, zone *time.Location, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05",
		"2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04", "15:04:05", "3:04pm", "3:04 pm", "3pm", "3 pm"} {
		if t, err := time.Parse(layout, strings.ToLower(text)); err == nil {
			y, m, d := now.In(zone).Date()
			return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot read the time %q: write 15:30, 3:30pm, 2026-03-01 15:30 or "+
		"2026-03-01T15:30:00+01:00", text)
}
