package example

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

func numberTools() []server.ServerTool {
	return []server.ServerTool{
		define(spec{
			name:  "calculate",
			title: "Calculator",
			description: "Evaluate an arithmetic expression with + - * / % ^, parentheses, the functions sqrt, abs, round, " +
				"floor, ceil, min, max, " +
				"sin, cos, tan, exp, ln and log, the constants pi and e, and variables of your own.",
			input: `{
				"type": "object",
				"properties": {
					"expression": {"type": "string", "minLength": 1, "maxLength": 10000, "description": "Like (1 + rate)^years * 100"},
					"variables": {"type": "object", "additionalProperties": {"type": "number"},
						"description": "Values of the names in the expression"}
				},
				"required": ["expression"],
				"additionalProperties": false
			}`,
			output: `{"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]}`,
		}, func(_ context.Context, in struct {
			Expression string
			Variables  map[string]float64
		}) (answer, error) {
			v, err := calculate(in.Expression, in.Variables)
			if err != nil {
				return answer{}, fmt.Errorf("cannot evaluate %q: %w", in.Expression, err)
			}
			return answer{data: map[string]float64{"value": v}}, nil
		}),
		define(spec{
			name:  "convert_units",
			title: "Convert units",
			description: "Convert a quantity from one unit of measurement to another: length (m, km, mi, ft, in ...), mass " +
				"(kg, g, lb, oz ...), " +
				"temperature (C, F, K), volume, area, speed, duration, data size, energy.",
			input: `{
				"type": "object",
				"properties": {
					"value": {"type": "number", "description": "How many of the unit"},
					"from": {"type": "string", "description": "Unit to convert from, like km, lb, F or MiB"},
					"to": {"type": "string", "description": "Unit to convert to, of the same kind"}
				},
				"required": ["value", "from", "to"],
				"additionalProperties": false
			}`,
			output: `{
				"type": "object",
				"properties": {"value": {"type": "number"}, "unit": {"type": "string"}, "kind": {"type": "string"}},
				"required": ["value", "unit", "kind"]
			}`,
		}, func(_ context.Context, in struct {
			Value    float64
			From, To string
		}) (answer, error) {
			v, kind, err := convertUnits(in.Value, in.From, in.To)
			if err != nil {
				return answer{}, err
			}
			return answer{data: map[string]any{"value": v, "unit": in.To, "kind": kind}}, nil
		}),
	}
}

// unit is a unit of measurement: value*factor + offset is the value in the kind's base unit.
type unit struct {
	name           string
	factor, offset float64
}

type unitKind struct {
	name  string
	units []unit
}

// unitKinds lists the units. The factors are exact by definition (SI, the international yard
// and pound agreement of 1959, IEC 80000-13; the US gallon).
func unitKinds() []unitKind {
	return []unitKind{
		{"length", []unit{{"m", 1, 0}, {"km", 1000, 0}, {"cm", .01, 0}, {"mm", .001, 0}, {"mi", 1609.344, 0},
			{"yd", .9144, 0}, {"ft", .3048, 0}, {"in", .0254, 0}, {"nmi", 1852, 0}}},
		{"mass", []unit{{"kg", 1, 0}, {"g", .001, 0}, {"mg", 1e-6, 0}, {"t", 1000, 0}, {"lb", .45359237, 0},
			{"oz", .45359237 / 16, 0}}},
		{"temperature", []unit{{"K", 1, 0}, {"C", 1, 273.15}, {"F", 5. / 9, 273.15 - 32*5./9}}},
		{"volume", []unit{{"l", 1, 0}, {"ml", .001, 0}, {"m3", 1000, 0}, {"gal", 3.785411784, 0},
			{"floz", 3.785411784 / 128, 0}}},
		{"area", []unit{{"m2", 1, 0}, {"km2", 1e6, 0}, {"ha", 1e4, 0}, {"ft2", .09290304, 0}, {"acre", 4046.8564224, 0}}},
		{"speed", []unit{{"m/s", 1, 0}, {"km/h", 1 / 3.6, 0}, {"mph", .44704, 0}, {"kn", 1852. / 3600, 0}}},
		{"duration", []unit{{"s", 1, 0}, {"ms", .001, 0}, {"min", 60, 0}, {"h", 3600, 0}, {"d", 86400, 0},
			{"week", 604800, 0}}},
		{"data size", []unit{{"B", 1, 0}, {"bit", .125, 0}, {"kB", 1e3, 0}, {"MB", 1e6, 0}, {"GB", 1e9, 0}, {"TB", 1e12, 0},
			{"KiB", 1 << 10, 0}, {"MiB", 1 << 20, 0}, {"GiB", 1 << 30, 0}, {"TiB", 1 << 40, 0}}},
		{"energy", []unit{{"J", 1, 0}, {"kJ", 1000, 0}, {"kWh", 3.6e6, 0}, {"cal", 4.184, 0}, {"kcal", 4184, 0}}},
	}
}

func convertUnits(value float64, from, to string) (float64, string, error) {
	source, sourceKind, err := findUnit(from)
	if err != nil {
		return 0, "", err
	}
	target, targetKind, err := findUnit(to)
	if err != nil {
		return 0, "", err
	}
	if sourceKind.name != targetKind.name {
		return 0, "", fmt.Errorf("%s is a unit of %s and %s one of %s; of %s there are: %s",
			from, sourceKind.name, to, targetKind.name, sourceKind.name, strings.Join(sourceKind.names(), ", "))
	}
	return (value*source.factor + source.offset - target.offset) / target.factor, sourceKind.name, nil
}

// findUnit looks for the exact name first, since MB and mb are not the same to everybody.
func findUnit(name string) (unit, unitKind, error) {
	kinds := unitKinds()
	same := func(a, b string) bool { return a == b }
	for _, equal := range []func(a, b string) bool{same, strings.EqualFold} {
		for _, k := range kinds {
			for _, u := range k.units {
				if equal(u.name, strings.TrimPrefix(name, "°")) {
					return u, k, nil
				}
			}
		}
	}
	var known []string
	for _, k := range kinds {
		known = append(known, k.name+": "+strings.Join(k.names(), ", "))
	}
	return unit{}, unitKind{}, fmt.Errorf("unknown unit %q; there are\n%s", name, strings.Join(known, "\n"))
}

func (k unitKind) names() []string {
	names := make([]string, len(k.units))
	for i, u := range k.units {
		names[i] = u.name
	}
	return names
}
