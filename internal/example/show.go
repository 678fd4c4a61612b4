package example

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

func showTools() []server.ServerTool {
	return []server.ServerTool{
		define(spec{
			name:  "draw_chart",
			title: "Draw a bar chart",
			description: "Draw a small bar chart of labelled numbers as a PNG image. The text beside it says which bar " +
				"is which.",
			input: `{
				"type": "object",
				"properties": {
					"points": {
						"type": "array", "minItems": 1, "maxItems": 60, "description": "The bars, from left to right",
						"items": {
							"type": "object",
							"properties": {"label": {"type": "string"}, "value": {"type": "number"}},
							"required": ["label", "value"],
							"additionalProperties": false
						}
					},
					"color": {"type": "string", "enum": ["blue", "green", "orange", "gray"], "default": "blue",
						"description": "The color of the bars; negative ones are red"},
					"width": {"type": "integer", "minimum": 64, "maximum": 1024, "default": 320, "description": "Pixels"},
					"height": {"type": "integer", "minimum": 32, "maximum": 1024, "default": 160, "description": "Pixels"}
				},
				"required": ["points"],
				"additionalProperties": false
			}`,
		}, func(_ context.Context, in chart) (answer, error) { return in.draw() }),
		define(spec{
			name:  "count_down",
			title: "Count down",
			description: "Count down slowly and report progress at every step; for trying out progress, timeouts and " +
				"cancellation.",
			input: `{
				"type": "object",
				"properties": {
					"steps": {"type": "integer", "minimum": 1, "maximum": 600, "default": 3, "description": "How many steps"},
					"delay_ms": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 300,
						"description": "Milliseconds per step"}
				},
				"additionalProperties": false
			}`,
		}, func(ctx context.Context, in struct {
			Steps *int
			Delay *int `json:"delay_ms"`
		}) (answer, error) {
			return countDown(ctx, or(in.Steps, 3), time.Duration(or(in.Delay, 300))*time.Millisecond)
		}),
	}
}

type chart struct {
	Points []struct {
		Label string
		Value float64
	}
	Color         string
	Width, Height *int
}

func (c chart) draw() (answer, error) {
	low, high := 0.0, 0.0
	legend := []string{"Bars from left to right:"}
	for _, p := range c.Points {
		low, high = min(low, p.Value), max(high, p.Value)
		legend = append(legend, fmt.Sprintf("%s: %v", p.Label, p.Value))
	}
	span := high - low
	if math.IsInf(span, 0) {
		return answer{}, errors.New("the values are too far apart to be drawn: their difference has to be a number")
	}
	if span == 0 {
		span = 1
	}
	width, height := or(c.Width, 320), or(c.Height, 160)
	img := newPicture(width, height)
	const margin = 8
	y := func(v float64) int { return margin + int((high-v)/span*float64(height-2*margin)) }
	slot := float64(width-2*margin) / float64(len(c.Points))
	for i, p := range c.Points {
		left := margin + int(float64(i)*slot)
		right := max(margin+int(float64(i+1)*slot-slot/5), left+1)
		img.fill(left, y(p.Value), right, y(0), c.fill(p.Value))
	}
	img.fill(margin, y(0), width-margin, y(0)+1, axisGray)
	return answer{text: strings.Join(legend, "\n"), png: img.png()}, nil
}

func (c chart) fill(value float64) colour {
	switch {
	case value < 0:
		return red
	case c.Color == "green":
		return green
	case c.Color == "orange":
		return orange
	case c.Color == "gray":
		return gray
	}
	return blue
}

// countDown sends a progress notification at each step, if the caller gave a token for them.
// It stops when the call is cancelled.
func countDown(ctx context.Context, steps int, delay time.Duration) (answer, error) {
	token := ctx.Value(tokenKey{})
	s := server.ServerFromContext(ctx)
	tick := time.NewTicker(delay)
	defer tick.Stop()
	for i := 1; i <= steps; i++ {
		if token != nil && s != nil {
			// A caller that takes no notifications still gets the result.
			_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": token, "progress": i, "total": steps, "message": fmt.Sprintf("%d to go", steps-i),
			})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return answer{}, fmt.Errorf("stopped at step %d of %d: %w", i, steps, ctx.Err())
		}
	}
	return answer{text: fmt.Sprintf("Counted down %d steps.", steps)}, nil
}
