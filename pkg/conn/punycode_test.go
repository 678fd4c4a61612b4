package conn

import (
	"net/url"
	"testing"
)

// TestF20HostInASCII takes its hosts from RFC 3492, section 7.1, and from registered names.
func TestF20HostInASCII(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://example.com/a?b=c#d":                                     "https://example.com/a?b=c#d",
		"http://127.0.0.1:80/":                                            "http://127.0.0.1:80/",
		"http://[::1]:80/":                                                "http://[::1]:80/",
		"https://ex\u0430mple.com/":                                       "https://xn--exmple-4nf.com/",
		"https://www.b\u00fccher.example:8443/\u00fc":                     "https://www.xn--bcher-kva.example:8443/%C3%BC",
		"https://B\u00dcCHER.example":                                     "https://xn--bcher-kva.example",
		"https://\u4f8b\u3048.jp/":                                        "https://xn--r8jz45g.jp/",
		"https://a\u3002b\u00fc/":                                         "https://a.xn--b-eha/",
		"https://ex%D0%B0mple.com/":                                       "https://xn--exmple-4nf.com/",
		"https://\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587/": "https://xn--ihqwcrb4cv8a8dqg056pqjye/",
		"https://\u0645\u062b\u0627\u0644/":                               "https://xn--mgbh0fb/",
		"https://3\u5e74b\u7d44\u91d1\u516b\u5148\u751f/":                 "https://xn--3b-ww4c5e180e575a65lsy2b/",
		"https://m\u00fcnchen/":                                           "https://xn--mnchen-3ya/",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := asciiURL(u); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
