package crawl

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestRobots_FollowsTheStandard(t *testing.T) {
	for _, c := range []struct {
		name, text string
		allowed    string // paths, separated by spaces
		forbidden  string
	}{
		{"none", "", "/ /a", ""},
		{"not a robots.txt", "<html><body>User-agent Disallow</body></html>", "/a", ""},
		{"all", "User-agent: *\nDisallow: /", "/robots.txt", "/ /a /a?b"},
		{"an empty rule", "User-agent: *\nDisallow:", "/ /a", ""},
		{"the longest match wins", "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c", "/a/b/x /b", "/a /a/c /a/b/c"},
		{"the one that allows wins a draw", "User-agent: *\nDisallow: /x\nAllow: /x", "/x", ""},
		{"its own group instead of that for all", "User-agent: *\nDisallow: /\n\nUser-Agent: Parley\nDisallow: /mine", "/a", "/mine"},
		{"with a version", "User-agent: parley/1.0\nDisallow: /mine", "/a", "/mine"},
		{"a name that only begins so", "User-agent: parley-images\nDisallow: /", "/a", ""},
		{"groups are taken together", "User-agent: parley\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: parley\nDisallow: /c", "/b", "/a /c"},
		{"a group for several", "User-agent: x\nUser-agent: *\nUser-agent: y\nDisallow: /a", "/b", "/a"},
		{"rules before a group", "Disallow: /a\nUser-agent: *\nDisallow: /b", "/a", "/b"},
		{"wildcards", "User-agent: *\nDisallow: /*.pdf$\nDisallow: /a/*/c\nDisallow: *?print=", "/x.pdf?y /a/c", "/x.pdf /d/x.pdf /a/b/c/d /q?print=1"},
		{"a dollar within", "User-agent: *\nDisallow: /a$b", "/a", "/a$b"},
		{"escapes", "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /a%3cd\nDisallow: /%7ejoe", "/cafe", "/caf%C3%A9 /a%3Cd /~joe"},
		{"comments and spaces", "# hi\r\nuser-AGENT : * # all\r\n  DISALLOW : /a # b\r\n", "/b", "/a"},
		{"a byte order mark", "\ufeffUser-agent: *\nDisallow: /a", "/b", "/a"},
		{"bare returns", "User-agent: *\rDisallow: /a\r", "/b", "/a"},
	} {
		r := parseRobots(c.text, "parley")
		for _, path := range strings.Fields(c.allowed) {
			if u, _ := url.Parse("https://h" + path); !r.allows(u) {
				t.Errorf("%s: %s is forbidden", c.name, path)
			}
		}
		for _, path := range strings.Fields(c.forbidden) {
			if u, _ := url.Parse("https://h" + path); r.allows(u) {
				t.Errorf("%s: %s is allowed", c.name, path)
			}
		}
	}
}

func TestRobots_ReadsDelayAndSitemaps(t *testing.T) {
	r := parseRobots("Sitemap: https://h/a.xml\nUser-agent: parley\nCrawl-delay: 2.5\nUser-agent: *\nCrawl-delay: 9\nSitemap: /b.xml", "parley")
	if r.delay != 2500*time.Millisecond || fmt.Sprint(r.sitemaps) != "[https://h/a.xml /b.xml]" {
		t.Errorf("%+v", r)
	}
	for _, odd := range []string{"-1", "NaN", "Inf", "1e300", "x"} {
		if r := parseRobots("User-agent: *\nCrawl-delay: "+odd, "parley"); r.delay != 0 {
			t.Errorf("a delay of %s is %v", odd, r.delay)
		}
	}
}

// The robots.txt of a hostile site must not take much time.
func BenchmarkRobots_HostilePatterns(b *testing.B) {
	text := "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("a*", 40)+"z$\n", 5000)
	r := parseRobots(text, "parley")
	u, _ := url.Parse("https://h/" + strings.Repeat("a", 2000))
	for b.Loop() {
		r.allows(u)
	}
}

// A page that consists only of links must not take much time.
func BenchmarkReadHead_OnlyLinks(b *testing.B) {
	page, _ := url.Parse("https://example.com/docs/")
	body := []byte(strings.Repeat("<a href='/x?y=z#a'>", 10<<20/19))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		readHead(page, body, "parley")
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /*a$", "/b?c")
	f.Fuzz(func(t *testing.T, text, path string) {
		if u, err := url.Parse("https://h/" + path); err == nil {
			parseRobots(text, "parley").allows(u)
		}
	})
}

func FuzzNormalise(f *testing.F) {
	f.Add("https://example.com/%7ea/../b;jsessionid=1?utm_x=1&b#c")
	for _, raw := range []string{
		"http://$/.//\xd7", "http://h/a;jsessionid=1/b;%6asessionid=2", "http://h/?%75tm_x=1&%%37%35tm_x=2",
		"http://0? #", "http://h/?q=é\u00a0", "http://\ufeff", "http://a。",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, err := Normalise(raw)
		if err != nil {
			return
		}
		if twice, err := Normalise(once); twice != once {
			t.Errorf("%q gives %q, and that %q (%v)", raw, once, twice, err)
		}
		Name(once)
	})
}

func FuzzReadHead(f *testing.F) {
	f.Add([]byte("<base href=//x><a href='?y#z'><meta http-equiv=refresh content='0;url=/a'><link rel=canonical href=b>"))
	page, _ := url.Parse("https://example.com/docs/")
	f.Fuzz(func(t *testing.T, body []byte) {
		h := readHead(page, body, "parley")
		for _, u := range h.links {
			if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				t.Errorf("link %s", u)
			}
		}
		readWikiHead(page, body)
		readSitemap(body)
	})
}
