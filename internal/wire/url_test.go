package wire

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestBaseURL_TrustsProxiesOnlyWhenTold(t *testing.T) {
	cases := []struct {
		name, public string
		trust, tls   bool
		headers      map[string]string
		want         string
	}{
		{name: "request", want: "http://example.com:8000"},
		{name: "TLS", tls: true, want: "https://example.com:8000"},
		{name: "public", public: "https://ask.example.org/parley/", want: "https://ask.example.org/parley"},
		{name: "not trusted", headers: map[string]string{"X-Forwarded-Host": "evil", "X-Forwarded-Proto": "https"}, want: "http://example.com:8000"},
		{name: "trusted", trust: true, headers: map[string]string{"X-Forwarded-Host": "a.example, b", "X-Forwarded-Proto": "https, http"}, want: "https://a.example"},
		{name: "odd scheme", trust: true, headers: map[string]string{"X-Forwarded-Proto": "javascript"}, want: "http://example.com:8000"},
		{name: "odd host", trust: true, headers: map[string]string{"X-Forwarded-Host": "a/../b c"}, want: "http://a%2F..%2Fb%20c"},
	}
	for _, c := range cases {
		r := httptest.NewRequest(http.MethodGet, "http://example.com:8000/chat", nil)
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		if r.TLS = nil; c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := BaseURL(r, c.public, c.trust); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestContentURL_EscapesThePathAndKeepsThePage(t *testing.T) {
	cases := map[string]string{
		"a/b.pdf#page=3":          "/content/a/b.pdf#page=3",
		"a b/ü.pdf":               "/content/a%20b/%C3%BC.pdf",
		"c#.md":                   "/content/c%23.md",
		"c#page=x":                "/content/c%23page=x",
		"100%?.txt#page=2#page=4": "/content/100%25%3F.txt%23page=2#page=4",
	}
	for citation, want := range cases {
		got := ContentURL("https://h", citation)
		if got != "https://h"+want {
			t.Errorf("%s: got %s, want %s", citation, got, want)
		}
		if _, err := url.Parse(got); err != nil {
			t.Error(err)
		}
		path, page, paged := strings.Cut(want, "#")
		if path += "?namespace=h+r%26"; paged {
			path += "#" + page
		}
		if got := ContentURLIn("https://h", citation, "h r&"); got != "https://h"+path {
			t.Errorf("%s in another namespace: got %s, want %s", citation, got, path)
		}
		if got := ContentURLIn("https://h", citation, ""); got != "https://h"+want {
			t.Errorf("%s: got %s, want %s", citation, got, want)
		}
	}
}

func TestParseContentURL_ReadsWhatContentURLInWrites(t *testing.T) {
	const base = "https://docs.example.com"
	for _, want := range []Content{
		{Name: "a.pdf"}, {Name: "a b/ü?x=1#page=2.pdf", Page: "12"}, {Name: "hr/100%.md", Namespace: "h r&x"},
		{Name: "c.pdf", Page: "3", Namespace: "hr"},
	} {
		citation := want.Name
		if want.Page != "" {
			citation += "#page=" + want.Page
		}
		link := ContentURLIn(base, citation, want.Namespace)
		if got, ok := ParseContentURL(base, link); got != want || !ok {
			t.Errorf("%s: %+v, %v, want %+v", link, got, ok, want)
		}
	}
	for _, link := range []string{"", "https://example.com/content/a.pdf", base + "/", base + "/content", base + "/content/%zz", base + "/content/a?%zz"} {
		if got, ok := ParseContentURL(base, link); ok {
			t.Errorf("%s: %+v", link, got)
		}
	}
}
