package cite

import (
	"bytes"
	"strings"

	"parley/internal/lazyregexp"
)

// The filter holds back at most this much of each construct until it can decide whether it is safe.
const (
	maxTargetBytes = 2048 // of the target of a link, an image or a definition
	maxTagBytes    = 200  // of an HTML tag
	maxAltBytes    = 250  // of the alternative text of an image
)

// filter is the last step before a text leaves the engine. Its output never makes a renderer fetch
// something from another site, whether the renderer reads Markdown, Markdown with HTML, or plain HTML.
// In the output,
//
//   - each "![" begins an image with plain alternative text whose target is on the site that shows the
//     answer, or an image that only a definition could give a target;
//   - each "]:" precedes something other than an address of another site;
//   - each "<" before a letter begins a complete tag that fetches nothing.
//
// An address that the user gave counts as part of this site. Code and escapes are not exempt, since their
// meaning depends on the renderer and on the text that follows. Decisions depend only on the text, not on
// how it is split into deltas. The filter holds back at most about maxTargetBytes.
type filter struct {
	given func(text string) bool // reports whether the user gave that text

	held  string // input that awaits a decision
	out   []byte // output that take has not returned yet
	last  byte   // last byte of the output
	taken byte   // last byte that take returned
	size  int    // total bytes of output
}

// Harmless returns a text in a form that is safe in an answer: no renderer fetches anything from another site
// because of it, except from addresses that the user gave.
func Harmless(text string, given func(string) bool) string {
	f := filter{given: given}
	return f.add(text) + f.end()
}

// HarmlessInAngles is like Harmless, for a text that a protocol puts between angle brackets. It adds a
// space before a text that would form a tag there.
func HarmlessInAngles(text string, given func(string) bool) string {
	text = Harmless(text, given)
	if f := (filter{given: given}); text != "" && isLetter(text[0]) && !f.fetchesNothing(text) {
		return " " + text
	}
	return text
}

// Nothing is the function for Seen.Given and Harmless when no user can have given a text.
func Nothing(string) bool { return false }

// add takes a piece of text and returns the output that is certain now. It does not copy a text that needs no
// decision.
func (f *filter) add(text string) string {
	if f.held == "" && len(f.out) == 0 && isInert(text) {
		f.pass(text)
		f.taken = f.last
		return text
	}
	f.write(text)
	return f.take()
}

// end returns the rest of the output.
func (f *filter) end() string {
	f.scan("", true)
	return f.take()
}

// write takes a piece of text, and leaves the output for take.
func (f *filter) write(text string) { f.scan(text, false) }

// take returns the output since the last call.
func (f *filter) take() string {
	s := string(f.out)
	f.out, f.taken = f.out[:0], f.last
	return s
}

// at returns the offset in the output at which the next piece of text begins. The offset is approximate
// while text is held back.
func (f *filter) at() int { return f.size + len(f.held) }

// isInert reports whether a text contains nothing, and ends with nothing, that a filter has to examine.
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

// nextMark returns the index of the first byte that a filter has to examine, or len(s).
func nextMark(s string) int {
	for i := range len(s) {
		if c := s[i]; c == '!' || c == '<' || c == ']' {
			return i
		}
	}
	return len(s)
}

// markAfter returns the byte that makes a mark, "!" or "]", significant when it follows.
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

// scan decides as much as it can, and holds back the rest.
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

// openBracket takes back the output from a bracket that is still open, and returns it, so that a citation is
// emitted in one piece. It returns "" if no bracket is open.
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

// decide writes the mark with which in begins, or makes it ineffective if it is not safe; ok is false when it
// needs more input.
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
		if f.last == '!' { // "!" before "[" would turn the link into an image
			f.emit(" ")
		}
	default:
		f.emit(mark + " ")
	}
	return true
}

// image reports whether the image with which in begins is safe: every renderer agrees where its
// alternative text ends, and its target is on this site.
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
	case rest[0] == '[': // a definition elsewhere gives the target
		return false, true
	case rest[0] != '(':
		return true, true
	}
	t, ok := linkTarget(rest, final)
	return t.n > 0 && f.stays(t.url), ok
}

// linkLike matches text that some renderers turn into links, which can extend over brackets.
var linkLike = lazyregexp.New(`(?i)\w:\S|www\.`)

// stays reports whether fetching an address reaches only the site that shows it, or an address that the
// user gave.
func (f *filter) stays(address string) bool { return !isExternal(address) || f.given(address) }

// isExternal reports whether an address, or the attributes of a tag, may lead to another site. When in
// doubt it returns true: entities, escapes and control characters may hide something.
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

// definition reports whether the colon after a bracket may stay. It may not if it would name an address
// of another site, which an image could then refer to.
func (f *filter) definition(in string, final bool) (safe, ok bool) {
	rest := in[2:min(len(in), maxTargetBytes)]
	more := !final && len(in) < maxTargetBytes
	start, lines := 0, 0
	for start < len(rest) && (rest[start] <= ' ' || rest[start] == '>') { // the definition may be inside a quotation
		if rest[start] == '\n' || rest[start] == '\r' && !strings.HasPrefix(rest[start:], "\r\n") {
			lines++
		}
		start++
	}
	switch {
	case lines > 1:
		return true, true // an empty line ends a definition
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

// target is the part of a link or an image that is in parentheses.
type target struct {
	n   int // length, including the parentheses; 0 when there is no target
	url string
}

// linkTarget reads the target with which in begins; ok is false when it needs more input. It recognizes only
// the simple forms on one line. Other forms count as no target.
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
			if strings.ContainsAny(url, "<>") { // some renderers look for the closing angle bracket beyond the parentheses
				return t, true
			}
			return target{i + 1, url}, true
		}
	}
	return t, final || len(in) >= maxTargetBytes
}
