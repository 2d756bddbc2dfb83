package crawl

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// For each page, at most maxLinks addresses are followed, and maxReferences references are examined for
// them.
const (
	maxLinks      = 1000
	maxReferences = 20 * maxLinks
)

// head holds the facts for a crawler in the head and links of a page.
type head struct {
	links     []*url.URL // in document order, normalised, without duplicates
	canonical *url.URL   // nil if the page names none
	refresh   *url.URL   // the target of an immediate refresh; nil for none
	noIndex   bool
	noFollow  bool
}

// readHead reads the links and the crawler directives of a web page. It reads tokens and builds no tree,
// so that the cost of a hostile page is limited by its length.
func readHead(page *url.URL, body []byte, agent string) head {
	s := scanner{base: page, agent: agent, seen: map[string]bool{}}
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(256 << 10)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return s.head
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch tag := atom.Lookup(name); tag {
			case atom.A, atom.Area, atom.Base, atom.Link, atom.Meta:
				s.element(tag, attributes(z, more))
			}
		}
	}
}

// attributes returns the relevant attributes of an element.
func attributes(z *html.Tokenizer, more bool) map[string]string {
	all := map[string]string{}
	for range 64 {
		if !more {
			break
		}
		var key, value []byte
		key, value, more = z.TagAttr()
		if k := string(key); len(value) <= maxURL {
			if _, twice := all[k]; !twice {
				all[k] = string(value)
			}
		}
	}
	return all
}

// scanner collects the head of a page.
type scanner struct {
	head
	base  *url.URL
	based bool
	agent string
	seen  map[string]bool
	tried int // references examined
}

func (s *scanner) element(tag atom.Atom, attr map[string]string) {
	switch tag {
	case atom.Base:
		if href, ok := attr["href"]; ok && !s.based {
			s.based = true
			if u, err := s.base.Parse(strings.TrimSpace(href)); err == nil {
				s.base = u
			}
		}
	case atom.Link:
		if hasWord(attr["rel"], "canonical") && s.canonical == nil {
			s.canonical = s.resolve(attr["href"])
		}
	case atom.Meta:
		s.meta(attr)
	default:
		if !hasWord(attr["rel"], "nofollow") && len(s.links) < maxLinks {
			s.link(attr["href"])
		}
	}
}

func (s *scanner) link(href string) {
	if s.tried++; s.tried > maxReferences {
		return
	}
	if u := s.resolve(href); u != nil && !s.seen[u.String()] {
		s.seen[u.String()] = true
		s.links = append(s.links, u)
	}
}

// resolve returns the address of a reference in the page, or nil if it is not a web address.
func (s *scanner) resolve(href string) *url.URL {
	href = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(strings.TrimSpace(href))
	if href == "" {
		return nil
	}
	u, err := s.base.Parse(href)
	if err == nil {
		u, err = normalise(u)
	}
	if err != nil {
		return nil
	}
	return u
}

func (s *scanner) meta(attr map[string]string) {
	switch name := strings.ToLower(strings.TrimSpace(attr["name"])); {
	case name == "robots", name != "" && name == s.agent:
		s.directives(attr["content"])
	case strings.EqualFold(attr["http-equiv"], "refresh") && s.refresh == nil:
		const atOnce = 5 // seconds
		wait, to, _ := strings.Cut(attr["content"], ";")
		if n, err := strconv.ParseFloat(strings.TrimSpace(wait), 64); err != nil || n > atOnce {
			return
		}
		key, value, _ := strings.Cut(to, "=")
		if strings.EqualFold(strings.TrimSpace(key), "url") {
			s.refresh = s.resolve(strings.Trim(strings.TrimSpace(value), `'"`))
		}
	}
}

// directives reads the content of a robots meta element.
func (h *head) directives(content string) {
	for word := range strings.SplitSeq(content, ",") {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "noindex":
			h.noIndex = true
		case "nofollow":
			h.noFollow = true
		case "none":
			h.noIndex, h.noFollow = true, true
		}
	}
}

// header reads the header X-Robots-Tag. Directives may follow the name of the crawler to which they
// apply.
func (h *head) header(value, agent string) {
	other := false
	for word := range strings.SplitSeq(value, ",") {
		if name, rest, named := strings.Cut(word, ":"); named {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "max-snippet", "max-image-preview", "max-video-preview", "unavailable_after":
				continue
			case agent, "robots", "*":
				other = false
			default:
				other = true
			}
			word = rest
		}
		if !other {
			h.directives(word)
		}
	}
}

// hasWord reports whether a list of words separated by white space contains word.
func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
