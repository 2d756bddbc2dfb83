package crawl

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxRobots is the number of bytes that are read of a robots.txt (RFC 9309, section 2.5).
const maxRobots = 500 << 10

// robots is the part of a robots.txt that applies to one crawler (RFC 9309), with the extensions
// Crawl-delay and Sitemap.
type robots struct {
	rules    []robotsRule
	delay    time.Duration // 0 if not given
	sitemaps []string      // as written in the file
}

type robotsRule struct {
	pattern string // with "*" and "$", and with normalised escapes
	allow   bool
}

// parseRobots reads the rules of a robots.txt for the crawler with a product token: all groups that name
// it, or if there are none, the groups for "*". It skips lines that it does not understand.
func parseRobots(text, agent string) robots {
	text = strings.TrimPrefix(text[:min(len(text), maxRobots)], "\ufeff")
	p := robotsParser{agent: strings.ToLower(agent)}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if ok {
			p.line(strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value))
		}
	}
	group := p.everyone
	if p.named {
		group = p.own
	}
	group.sitemaps = p.sitemaps
	return group
}

// robotsParser collects the groups that apply to a crawler.
type robotsParser struct {
	agent         string
	own, everyone robots
	named         bool     // a group names the crawler
	sitemaps      []string // belong to no group

	forOwn, forEveryone bool // what the current group applies to
	ruled               bool // the current group has a rule, so that the next user-agent line starts another group
}

func (p *robotsParser) line(key, value string) {
	switch key {
	case "user-agent":
		if p.ruled {
			p.forOwn, p.forEveryone, p.ruled = false, false, false
		}
		switch token := strings.ToLower(productToken(value)); {
		case value == "*":
			p.forEveryone = true
		case token != "" && token == p.agent:
			p.forOwn, p.named = true, true
		}
	case "allow", "disallow":
		p.ruled = true
		if value != "" {
			p.put(func(r *robots) {
				r.rules = append(r.rules, robotsRule{normaliseEscapes(escapeRaw(value)), key == "allow"})
			})
		}
	case "crawl-delay":
		p.ruled = true
		if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
			p.put(func(r *robots) { r.delay = time.Duration(s * float64(time.Second)) })
		}
	case "sitemap":
		p.sitemaps = append(p.sitemaps, value)
	}
}

func (p *robotsParser) put(to func(*robots)) {
	if p.forOwn {
		to(&p.own)
	}
	if p.forEveryone {
		to(&p.everyone)
	}
}

// productToken returns the name at the start of a user agent (RFC 9309, section 2.2.1).
func productToken(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
	if end < 0 {
		return s
	}
	return s[:end]
}

// escapeRaw escapes the bytes of a pattern that an address would contain only in escaped form.
func escapeRaw(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > 0x7e || c <= ' ' {
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// allows reports whether the crawler may request an address: the longest matching pattern decides, and
// among equally long patterns one that allows (RFC 9309, section 2.2.2).
func (r robots) allows(u *url.URL) bool {
	target := normaliseEscapes(u.EscapedPath())
	target = cmp.Or(target, "/")
	if u.RawQuery != "" {
		target += "?" + normaliseEscapes(u.RawQuery)
	}
	if target == "/robots.txt" {
		return true
	}
	longest, allowed := -1, true
	for _, rule := range r.rules {
		n := len(rule.pattern)
		if n < longest || n == longest && !rule.allow || !matches(rule.pattern, target) {
			continue
		}
		longest, allowed = n, rule.allow
	}
	return allowed
}

// matches reports whether a pattern matches the beginning of a path, in time proportional to both.
func matches(pattern, target string) bool {
	anchored := strings.HasSuffix(pattern, "$")
	pattern = strings.TrimSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(target, parts[0]) {
		return false
	}
	rest := target[len(parts[0]):]
	if len(parts) == 1 {
		return !anchored || rest == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	if anchored {
		return strings.HasSuffix(rest, last)
	}
	return strings.Contains(rest, last)
}
