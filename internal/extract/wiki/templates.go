package wiki

import (
	"strings"
	"unicode"

	"parley/internal/extract/compose"
)

// wikiTemplates replaces the templates of a page by their text, or by nothing.
type wikiTemplates struct {
	source    string
	ends      map[int]int // for each closed "{{", the offset after its "}}"
	links     map[int]int // the same for "[["
	infoboxes []wikiInfobox
}

// wikiInfobox is the table of facts beside an article. Its place in the text is marked by
// infoboxMark.
type wikiInfobox struct {
	name string
	rows [][2]string
}

const infoboxMark = "\x01"

// newWikiTemplates finds the pairs of brackets, in one pass.
func newWikiTemplates(source string) *wikiTemplates {
	t := &wikiTemplates{source: source, ends: map[int]int{}, links: map[int]int{}}
	var open []int // offsets of brackets; those of links are negative
	braces, links := 0, 0
	for i := 0; i+1 < len(source); i++ {
		if source[i] != source[i+1] {
			continue
		}
		switch source[i] {
		case '{':
			open = append(open, i)
			braces++
		case '[':
			open = append(open, -i-1)
			links++
		case '}':
			if braces == 0 {
				continue
			}
			for open[len(open)-1] < 0 { // a link that is not closed
				open = open[:len(open)-1]
				links--
			}
			t.ends[open[len(open)-1]] = i + 2
			open = open[:len(open)-1]
			braces--
		case ']':
			if links == 0 || open[len(open)-1] >= 0 {
				continue
			}
			t.links[-open[len(open)-1]-1] = i + 2
			open = open[:len(open)-1]
			links--
		default:
			continue
		}
		i++
	}
	return t
}

func (t *wikiTemplates) expand() string {
	var b strings.Builder
	t.text(&b, 0, len(t.source), 0)
	return b.String()
}

// maxWikiDepth is the maximum depth of templates inside each other.
const maxWikiDepth = 40

// text writes a part of the source with its templates replaced.
func (t *wikiTemplates) text(b *strings.Builder, from, to, depth int) {
	for from < to {
		i := strings.Index(t.source[from:to], "{{")
		if i < 0 {
			break
		}
		b.WriteString(t.source[from : from+i])
		from += i
		end, closed := t.ends[from]
		if !closed || end > to {
			b.WriteString("{{")
			from += 2
			continue
		}
		if depth < maxWikiDepth {
			t.template(b, from, end, depth+1)
		}
		from = end
	}
	if from < to {
		b.WriteString(t.source[from:to])
	}
}

// wikiCall is a use of a template.
type wikiCall struct {
	name  string      // in small letters
	title string      // as it is written
	args  []string    // those without a name
	named [][2]string // those with one
	lines int         // arguments that begin a line
}

func (t *wikiTemplates) template(b *strings.Builder, from, end, depth int) {
	call := t.call(from+2, end-2, depth)
	if call.isInfobox() && (from == 0 || t.source[from-1] == '\n' || depth == 1) {
		t.infoboxes = append(t.infoboxes, wikiInfobox{call.title, call.named})
		b.WriteString("\n" + infoboxMark + "\n")
		return
	}
	b.WriteString(call.text())
}

// call parses the use of a template.
func (t *wikiTemplates) call(from, to, depth int) wikiCall {
	var c wikiCall
	for first := true; from <= to; first = false {
		end := t.argument(from, to)
		raw := t.source[from:end]
		if first {
			c.title = compose.OneLine(strings.ReplaceAll(raw, "_", " "))
			c.name = strings.ToLower(c.title)
		} else {
			if strings.HasSuffix(strings.TrimRight(t.source[:from-1], " \t"), "\n") {
				c.lines++
			}
			t.add(&c, from, end, depth)
		}
		from = end + 1
	}
	return c
}

// add adds the argument between two offsets to a call.
func (t *wikiTemplates) add(c *wikiCall, from, end, depth int) {
	name, _, named := strings.Cut(t.source[from:end], "=")
	key := strings.TrimSpace(name)
	if named = named && key != "" && !strings.ContainsAny(key, "{[<\n"); named {
		from += len(name) + 1
	}
	var value strings.Builder
	t.text(&value, from, end, depth)
	switch text := strings.TrimSpace(value.String()); {
	case !named:
		c.args = append(c.args, text)
	case len(key) <= 2 && strings.Trim(key, "0123456789") == "": // {{small|1=text}}
		c.args = append(c.args, text)
	default:
		c.named = append(c.named, [2]string{key, text})
	}
}

// argument returns the offset of the bar that ends the argument which begins at from.
func (t *wikiTemplates) argument(from, to int) int {
	for i := from; i < to; i++ {
		switch t.source[i] {
		case '|':
			return i
		case '{':
			if end, ok := t.ends[i]; ok && end <= to {
				i = end - 1
			}
		case '[':
			if end, ok := t.links[i]; ok && end <= to {
				i = end - 1
			}
		}
	}
	return to
}

// isInfobox reports whether a template is an infobox, whatever its language and name: it has many named arguments, each on a
// line of its own.
func (c wikiCall) isInfobox() bool {
	for _, prefix := range []string{"cite", "citation", "navbox", "literatur", "internetquelle"} {
		if strings.HasPrefix(c.name, prefix) {
			return false
		}
	}
	return len(c.named) > 0 && (strings.HasPrefix(c.name, "infobox") || strings.HasPrefix(c.name, "taxobox")) ||
		len(c.named) >= 4 && c.lines >= 4 && len(c.args) <= 2
}

// arg returns an argument without a name, or "" if it is not there.
func (c wikiCall) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

func (c wikiCall) last() string { return c.arg(len(c.args) - 1) }

// numbers returns the arguments before the first that is not a number.
func (c wikiCall) numbers(most int) []string {
	var out []string
	for _, a := range c.args {
		if len(out) == most || a == "" || strings.ContainsFunc(a, func(r rune) bool { return !unicode.IsDigit(r) }) {
			break
		}
		out = append(out, a)
	}
	return out
}
