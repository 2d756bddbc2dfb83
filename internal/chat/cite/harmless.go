package cite

import (
	"bytes"
	"regexp"
	"strings"
)

// The limits of what is held back to see where it leads.
const (
	maxTargetBytes = 2048 // of a link, an image or a definition
	maxTagBytes    = 200  // of an HTML tag
	maxAltBytes    = 250  // of the text of an image
)

// filter is the last thing that a text passes before it leaves the engine. Nothing that it gives out
// makes a renderer fetch something from another site, whether the renderer reads Markdown, Markdown
// with HTML in it, or takes the whole text for HTML. In what was given out,
//
//   - each "![" begins an image of plain text whose target is on the site that shows it, or one that
//     only a definition could give a target;
//   - each "]:" stands before something other than an address of another site;
//   - each "<" before a letter begins a whole tag that fetches nothing.
//
// An address that the user gave counts as one of this site. Whether something is code or escaped does
// not matter, since that depends on the renderer and on what follows. Each decision depends on the
// text alone, not on how it is cut. At most about maxTargetBytes are held back.
type filter struct {
	given func(text string) bool // whether the user gave that text

	held  string // what is not decided
	out   []byte // what is, and was not yet returned
	last  byte   // that was decided
	taken byte   // the last that was returned
	size  int    // bytes that were decided
}

// Harmless returns a text as it may stand in an answer: nothing in it makes a renderer fetch something
// from another site, except from addresses that the user gave.
func Harmless(text string, given func(string) bool) string {
	f := filter{given: given}
	return f.add(text) + f.end()
}

// HarmlessInAngles is Harmless for a text that a protocol puts between angle brackets: one that would
// be a tag there gets a space before it.
func HarmlessInAngles(text string, given func(string) bool) string {
	text = Harmless(text, given)
	if f := (filter{given: given}); text != "" && isLetter(text[0]) && !f.fetchesNothing(text) {
		return " " + text
	}
	return text
}

// Nothing is for Seen and Harmless when no user can have given a text.
func Nothing(string) bool { return false }

// add takes a piece of text and returns what is certain now. Text of which everything is certain is
// returned without a copy.
func (f *filter) add(text string) string {
	if f.held == "" && len(f.out) == 0 && isInert(text) {
		f.pass(text)
		f.taken = f.last
		return text
	}
	f.write(text)
	return f.take()
}

// end returns the rest.
func (f *filter) end() string {
	f.scan("", true)
	return f.take()
}

// write takes a piece of text.
func (f *filter) write(text string) { f.scan(text, false) }

// take returns what was decided since the last call.
func (f *filter) take() string {
	s := string(f.out)
	f.out, f.taken = f.out[:0], f.last
	return s
}

// at returns where in what is given out the next piece of text will stand, give or take what becomes
// of the text that is held back.
func (f *filter) at() int { return f.size + len(f.held) }

// isInert reports whether a text neither holds nor begins what a filter looks at.
func isInert(text string) bool {
	for i := 0; i < len(text); {
		n := nextMark(text[i:])
		if i += n; i == len(text) {
			return true
		}
		if text[i] == '<' || i == len(text)-1 || text[i+1] == markAfter(text[i]) {
			return false
		}
		i++
	}
	return true
}

// nextMark returns where the next byte stands that a filter looks at.
func nextMark(s string) int {
	for i := range len(s) {
		if c := s[i]; c == '!' || c == '<' || c == ']' {
			return i
		}
	}
	return len(s)
}

// markAfter returns what must stand behind a mark for it to mean anything.
func markAfter(mark byte) byte {
	if mark == '!' {
		return '['
	}
	return ':'
}

func (f *filter) pass(text string) {
	if text != "" {
		f.last = text[len(text)-1]
		f.size += len(text)
	}
}

func (f *filter) emit(text string) {
	f.pass(text)
	f.out = append(f.out, text...)
}

// scan decides as much as it can, and holds the rest.
func (f *filter) scan(text string, final bool) {
	in := f.held + text
	f.held = ""
	for in != "" {
		n := nextMark(in)
		f.emit(in[:n])
		if in = in[n:]; in == "" {
			return
		}
		if len(in) == 1 && !final || !f.decide(in, final) {
			f.held = f.openBracket() + in
			return
		}
		in = in[1:]
	}
}

// openBracket takes back what was decided since a bracket opened, up to the mark that is held back,
// so that a citation is given out whole.
func (f *filter) openBracket() string {
	from := max(0, len(f.out)-maxLabelBytes)
	i := from + bytes.LastIndexByte(f.out[from:], '[')
	if i < from || bytes.ContainsAny(f.out[i:], "]!<\n") {
		return ""
	}
	back := string(f.out[i:])
	f.out, f.size, f.last = f.out[:i], f.size-len(back), f.taken
	if i > 0 {
		f.last = f.out[i-1]
	}
	return back
}

// decide writes the mark with which in begins; ok is false when that takes more input.
func (f *filter) decide(in string, final bool) (ok bool) {
	mark, safe := in[:1], true
	switch {
	case len(in) == 1:
		ok = true
	case mark == "<":
		safe, ok = f.tag(in, final)
	case in[1] != markAfter(in[0]):
		ok = true
	case mark == "!":
		safe, ok = f.image(in, final)
	default:
		safe, ok = f.definition(in, final)
	}
	switch {
	case !ok:
		return false
	case safe:
		f.emit(mark)
	case mark == "!":
		if f.last == '!' { // which would make an image of the link
			f.emit(" ")
		}
	default:
		f.emit(mark + " ")
	}
	return true
}

// image decides whether the image with which in begins may be one. It may if no renderer can doubt
// where its text ends, and its target is on this site.
func (f *filter) image(in string, final bool) (safe, ok bool) {
	text := in[2:min(len(in), maxAltBytes)]
	end := strings.IndexAny(text, "]["+"\\`<$\r\n")
	switch {
	case end < 0:
		return false, final || len(in) >= maxAltBytes
	case text[end] != ']' || linkLike.MatchString(text[:end]):
		return false, true
	}
	rest := in[2+end+1:]
	switch {
	case rest == "":
		return true, final
	case rest[0] == '[': // defined elsewhere
		return false, true
	case rest[0] != '(':
		return true, true
	}
	t, ok := linkTarget(rest, final)
	return t.n > 0 && f.stays(t.url), ok
}

// linkLike matches what some renderers make links of, which may reach over brackets.
var linkLike = regexp.MustCompile(`(?i)\w:\S|www\.`)

// stays reports whether fetching an address leads nowhere but to the site that shows it, or to where
// the user has been.
func (f *filter) stays(address string) bool { return !isExternal(address) || f.given(address) }

// isExternal reports whether an address, or the attributes of a tag, may lead away from the site
// that shows them. It errs on the side of true: entities, escapes and control characters count as
// hiding something.
func isExternal(address string) bool {
	if strings.Contains(address, "//") {
		return true
	}
	for i := range len(address) {
		if c := address[i]; c < ' ' || c == 0x7f || c == ':' || c == '\\' || c == '&' {
			return true
		}
	}
	return false
}

// definition decides whether the colon behind a bracket may give a name to what follows: an address of
// another site would become that of an image which bears the name.
func (f *filter) definition(in string, final bool) (safe, ok bool) {
	rest := in[2:min(len(in), maxTargetBytes)]
	more := !final && len(in) < maxTargetBytes
	start, lines := 0, 0
	for start < len(rest) && (rest[start] <= ' ' || rest[start] == '>') { // which may be that of a quotation
		if rest[start] == '\n' || rest[start] == '\r' && !strings.HasPrefix(rest[start:], "\r\n") {
			lines++
		}
		start++
	}
	switch {
	case lines > 1:
		return true, true // a definition ends before an empty line
	case start == len(rest):
		return len(in) < maxTargetBytes, !more
	}
	address := rest[start:]
	isEnd := func(r rune) bool { return r <= ' ' }
	if address[0] == '<' {
		isEnd = func(r rune) bool { return r == '>' || r == '\n' || r == '\r' }
	}
	end := strings.IndexFunc(address, isEnd)
	if end < 0 {
		if more {
			return false, false
		}
		end = len(address)
	}
	return f.stays(strings.Trim(address[:end], "<>")), true
}

// target is what stands in the parentheses of a link or an image.
type target struct {
	n   int // with the parentheses; 0 when it is none
	url string
}

// linkTarget reads the target with which in begins; ok is false when that takes more input. It
// knows the simple forms only, on one line; what it does not know is none.
func linkTarget(in string, final bool) (t target, ok bool) {
	depth := 0
	for i := range min(len(in), maxTargetBytes) {
		switch in[i] {
		case '\n', '\r':
			return t, true
		case '(':
			depth++
		case ')':
			if depth--; depth > 0 {
				continue
			}
			url, title, titled := strings.Cut(strings.TrimSpace(in[1:i]), " ")
			if title = strings.TrimSpace(title); titled && !strings.HasPrefix(title, `"`) && !strings.HasPrefix(title, "'") {
				return t, true
			}
			angled := strings.HasPrefix(url, "<") && strings.HasSuffix(url, ">") && len(url) > 1
			if angled {
				url = url[1 : len(url)-1]
			}
			if strings.ContainsAny(url, "<>") { // some renderers look for its end behind the parentheses
				return t, true
			}
			return target{i + 1, url}, true
		}
	}
	return t, final || len(in) >= maxTargetBytes
}
