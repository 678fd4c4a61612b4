package daemon

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncodeQuery(t *testing.T) {
	t.Parallel()
	var full query
	fill(t, reflect.ValueOf(&full).Elem(), "query")
	full.Options.Audience, full.Surroundings.Environ = nil, nil // they do not cross in the query
	for name, q := range map[string]query{"operation": {Op: opStop}, "every field": full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var back query
			if err := json.Unmarshal(q.encode(), &back); err != nil {
				t.Fatalf("%v in %s", err, q.encode())
			}
			if diff := cmp.Diff(q, back); diff != "" {
				t.Errorf("a query is another one on the other side (-sent +received):\n%s", diff)
			}
		})
	}
}

// fill gives every field of a struct, and of the structs in it, a value.
func fill(t *testing.T, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.String:
		v.SetString(name + ` "é\` + "\n\x00☃<&>")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(-int64(len(name)) << 40)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), name)
		fill(t, v.Index(1), name+" 2")
	case reflect.Interface: // the audience
	default:
		t.Fatalf("%s is of a kind that this test does not know: %s", name, v.Kind())
	}
}
