package config

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMaskArguments(t *testing.T) {
	t.Parallel()
	s := &Server{Name: "s", secrets: replacer([]string{"CANARY-entry", `quo"ted-secret`})}
	for name, test := range map[string]struct{ raw, want string }{
		"as it is":     {`{ "b" : [1.0, 2e3,` + "\n" + ` true,null],"a":{"é":"x \u0041"} }`, `{"b":[1.0,2e3,true,null],"a":{"é":"x \u0041"}}`},
		"by name":      {`{"password":"x","API-Key":"k","accessToken":"t","n":1}`, `{"password":"***","API-Key":"***","accessToken":"***","n":1}`},
		"a number":     {`{"passcode":1234,"max_tokens":1234,"secret":null}`, `{"passcode":"***","max_tokens":1234,"secret":null}`},
		"no text":      {`{"token":5,"pin":1234,"secret":{"a":1},"access_key":true}`, `{"token":"***","pin":"***","secret":{"a":"***"},"access_key":"***"}`},
		"far inside":   {`{"secret":{"a":{"b":["c",-1.5,false,null]}},"d":1}`, `{"secret":{"a":{"b":["***","***","***",null]}},"d":1}`},
		"counts":       {`{"maxTokens":5,"token_limit":5,"tokens":5,"token_count":5}`, `{"maxTokens":5,"token_limit":5,"tokens":5,"token_count":5}`},
		"pins":         {`{"pin":true,"pinned":1,"card_pin":9,"pin_message":"m"}`, `{"pin":true,"pinned":1,"card_pin":"***","pin_message":"m"}`},
		"codes":        {`{"2fa":123456,"securityCode":123,"mfa_code":"1","mfa":true,"code":5}`, `{"2fa":"***","securityCode":"***","mfa_code":"***","mfa":true,"code":5}`},
		"in a list":    {`{"secrets":["a",{"name":"b"}],"c":"d"}`, `{"secrets":["***",{"name":"***"}],"c":"d"}`},
		"to judge by":  {`{"key":"PROJ-1","session":"s","pageToken":"p","author":"a"}`, `{"key":"PROJ-1","session":"s","pageToken":"p","author":"a"}`},
		"of the entry": {`{"q":"is CANARY-entry here","r":"quo\"ted-secret"}`, `{"q":"is *** here","r":"***"}`},
		"by form":      {`{"q":"use ghp_abcdefghijklmnop now"}`, `{"q":"use *** now"}`},
		"empty":        {`{"password":""}`, `{"password":""}`},
		"after it":     {`{"token":"x","list":[["y"]],"z":"w"}`, `{"token":"***","list":[["y"]],"z":"w"}`},
		"no object":    {` "CANARY-entry" `, `"***"`},
		"not JSON":     {`{"password":`, `"***"`},
		"nothing":      {``, `"***"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(s.MaskArguments(json.RawMessage(test.raw))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestMaskArgumentsDeep: the work does not grow with the depth.
func TestMaskArgumentsDeep(t *testing.T) {
	t.Parallel()
	raw := strings.Repeat(`{"a":[`, 4900) + `"` + strings.Repeat("x ", 1<<20) + `"` + strings.Repeat("]}", 4900)
	if got := new(Server).MaskArguments(json.RawMessage(raw)); string(got) != raw {
		t.Error("it became something else")
	}
}

// FuzzMaskArguments: what comes out is JSON of the same shape, without the secret.
func FuzzMaskArguments(f *testing.F) {
	s := &Server{Name: "s", secrets: replacer([]string{"CANARY"})}
	for _, seed := range []string{`{"a":"CANARY"}`, `{"password":[1,"x",{}]}`, `"\ud800"`, `[[],"\\\"",-1e9]`, ` null `, `{"CANARY":{"":""}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := s.MaskArguments(raw)
		if !json.Valid(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		var before, after any
		if json.Unmarshal(raw, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatal(err)
		}
		compare(t, "", before, after)
	})
}

// compare holds a masked value to what it was made of: names, lists and lengths stay, no text has the secret.
func compare(t *testing.T, name string, before, after any) {
	switch a := after.(type) {
	case string:
		if strings.Contains(a, "CANARY") {
			t.Errorf("%s: %q", name, a)
		}
		return
	case map[string]any:
		b, ok := before.(map[string]any)
		if !ok || len(a) != len(b) {
			t.Fatalf("%s: %v became %v", name, before, after)
		}
		for key := range a {
			compare(t, name+"/"+key, b[key], a[key])
		}
		return
	case []any:
		b, ok := before.([]any)
		if !ok || len(a) != len(b) {
			t.Fatalf("%s: %v became %v", name, before, after)
		}
		for i := range a {
			compare(t, name, b[i], a[i])
		}
		return
	}
	if before != after {
		t.Errorf("%s: %v became %v", name, before, after)
	}
}
