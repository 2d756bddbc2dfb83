package chat

import (
	"strings"

	"parley/internal/retrieval"
)

// maxSeparator bounds what is taken for the separator between two citations.
const maxSeparator = 16

// verifier checks a streamed answer before anybody sees it. Text without brackets, code marks, tags
// and images passes as it is, without a copy. An opening bracket is held back until it is decided:
//
//   - A label that the passages allow is written exactly as they have it, each in brackets of its
//     own, whatever the model's spelling (see labels).
//   - What can only be meant as a citation, but is none of those, is removed with the space before
//     it. A link whose text is such a label is removed too, unless its target stands in the
//     material that the model was given.
//   - Anything else passes unchanged: links, footnotes, indices, check boxes, brackets that nothing
//     closes within maxLabelBytes.
//
// In code, and in an answer that is to be JSON, brackets are left alone, except those of Parley's own
// form name#page=N, which is never code. A fence whose language is Markdown is no code.
//
// What makes a front end fetch an address that the model was not given is made harmless (harmless.go),
// in code too, since whether a mark is code depends on what follows.
//
// The state is bounded: at most maxTargetBytes of text are held back.
type verifier struct {
	passages []retrieval.Passage
	given    func(text string) bool // whether the model was given that text
	json     bool                   // the answer is to be JSON
	known    *labels                // made when the first bracket comes

	held     string // input that is not decided
	out      []byte
	code     codeState
	after    aftermath
	gap      string // what stood before citations that were removed
	last     byte   // the last byte given out
	size     int    // bytes given out
	invented []invention
}

// invention is a label that the passages do not allow.
type invention struct {
	label string
	at    int // where in the text that was given out it stood
}

// aftermath says what the last citation left to decide.
type aftermath uint8

const (
	afterText    aftermath = iota
	afterKept              // of a citation that was kept
	afterRemoved           // of one that was removed
)

// add takes a delta and returns what of the answer is certain now.
func (v *verifier) add(text string) string {
	if v.held == "" && v.after == afterText && isPlain(text) {
		v.pass(text)
		return text
	}
	in := v.held + text
	v.held = ""
	return v.scan(in, false)
}

// learn takes over the passages that may be cited from now on.
func (v *verifier) learn(passages []retrieval.Passage) {
	v.passages, v.known = passages, nil
}

// end returns the rest of the answer.
func (v *verifier) end() string {
	in := v.held
	v.held = ""
	return v.scan(in, true)
}

// isPlain reports whether nothing in a delta can begin what must be looked at.
func isPlain(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '[', '`', '~', '<':
			return false
		case '!':
			if i == len(text)-1 {
				return false
			}
		case "【"[0], "［"[0]:
			if _, _, ok := brackets(text[i:]); ok {
				return false
			}
		}
	}
	return true
}

// brackets returns the kind of bracket with which s begins.
func brackets(s string) (open, shut string, ok bool) {
	switch {
	case strings.HasPrefix(s, "["):
		return "[", "]", true
	case strings.HasPrefix(s, "【"):
		return "【", "】", true
	case strings.HasPrefix(s, "［"):
		return "［", "］", true
	}
	return "", "", false
}

// pass takes note of text that is given out.
func (v *verifier) pass(text string) {
	if text == "" {
		return
	}
	v.code.pass(text)
	v.last = text[len(text)-1]
	v.size += len(text)
}

func (v *verifier) emit(text string) {
	v.pass(text)
	v.out = append(v.out, text...)
}

// scan decides as much of the input as it can, and holds the rest.
func (v *verifier) scan(in string, final bool) string {
	v.out = v.out[:0]
	for in != "" || final && v.after != afterText {
		var n int
		var ok bool
		if v.after != afterText {
			n, ok = v.follow(in, final)
		} else {
			n, ok = v.step(in, final)
		}
		if !ok {
			v.held = in
			break
		}
		in = in[n:]
	}
	if len(v.out) == 0 {
		return ""
	}
	return string(v.out)
}

// step decides what the input begins with and returns how much of it that is; ok is false when
// that takes more input.
func (v *verifier) step(in string, final bool) (n int, ok bool) {
	lead := leadOf(in)
	if _, _, opens := brackets(in[lead:]); opens {
		return v.bracket(in, lead, final)
	}
	switch in[0] {
	case '`', '~':
		for n < len(in) && in[n] == in[0] {
			n++
		}
		if n == len(in) && n < maxSeparator && !final {
			return 0, false
		}
		v.code.mark(in[0], n)
		v.emit(in[:n])
		return n, true
	case '!':
		return v.image(in, final)
	case '<':
		return v.tag(in, final)
	}
	n = max(lead, 1)
	for n < len(in) && !isSpecial(in[n]) {
		n++
	}
	v.emit(in[:n])
	return n, true
}

// isSpecial is true for the bytes at which step must look again.
func isSpecial(c byte) bool {
	switch c {
	case '[', '`', '~', '<', '!', ' ', '\t', '(', "【"[0], "［"[0]:
		return true
	}
	return false
}

// leadOf returns the length of the space, and of the parenthesis, with which s begins: what belongs
// to a citation that follows.
func leadOf(s string) int {
	n := 0
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	if n < len(s) && s[n] == '(' {
		n++
	}
	return n
}

// bracket decides a bracket that opens behind lead bytes of the input.
func (v *verifier) bracket(in string, lead int, final bool) (n int, ok bool) {
	d, ok := v.decide(in[lead:], final)
	if !ok {
		return 0, false
	}
	switch {
	case len(d.labels) > 0:
		v.emit(in[:lead])
		v.cite(d)
	case d.removed:
		v.note(d)
		v.after, v.gap = afterRemoved, in[:lead]
	default:
		v.emit(in[:lead])
		v.emit(d.text)
	}
	return lead + d.n, true
}

// cite writes citations that the passages allow.
func (v *verifier) cite(d decision) {
	v.note(d)
	v.after = afterKept
	if d.text != "" {
		v.emit(d.text)
		return
	}
	for _, label := range d.labels {
		v.emit("[" + label + "]")
	}
}

func (v *verifier) note(d decision) {
	for _, label := range d.invented {
		if len(v.invented) < maxUnsupported {
			v.invented = append(v.invented, invention{label, v.size})
		}
	}
}

// follow decides what comes behind a citation: separators and more citations, the target of a link
// that the label was the text of, and what becomes of the space around citations that were
// removed.
func (v *verifier) follow(in string, final bool) (n int, ok bool) {
	for n < len(in) && n < maxSeparator && strings.IndexByte(" \t,;", in[n]) >= 0 {
		n++
	}
	if n == len(in) && n < maxSeparator && !final {
		return 0, false
	}
	sep, rest := in[:n], in[n:]
	if _, _, opens := brackets(rest); opens {
		return v.followBracket(sep, rest, final)
	}
	if v.after == afterKept {
		if sep == "" && strings.HasPrefix(rest, "(") {
			t, ok := linkTarget(rest, final)
			if !ok || t.n > 0 {
				return t.n, ok // clients know where a citation leads
			}
		}
		v.after = afterText
		v.emit(sep)
		return n, true
	}
	return n + v.mend(sep, rest), true
}

// followBracket decides a bracket that opens behind a citation and a separator.
func (v *verifier) followBracket(sep, rest string, final bool) (n int, ok bool) {
	d, ok := v.decide(rest, final)
	if !ok {
		return 0, false
	}
	before := sep
	if v.after == afterRemoved {
		before = v.gap
	}
	switch {
	case len(d.labels) > 0:
		v.gap = ""
		v.emit(before)
		v.cite(d)
	case d.removed:
		v.note(d) // its separator goes with it
	default:
		if words := strings.TrimLeft(sep, " \t"); words != "" || before == "" {
			before = sep
		}
		v.after, v.gap = afterText, ""
		v.emit(before)
		v.emit(d.text)
	}
	return len(sep) + d.n, true
}

// mend joins the text around citations that were removed, and returns how much of rest is used up.
func (v *verifier) mend(sep, rest string) int {
	gap := v.gap
	v.after, v.gap = afterText, ""
	blank := strings.Trim(sep, " \t") == ""
	switch {
	case strings.HasSuffix(gap, "("):
		if blank && strings.HasPrefix(rest, ")") {
			v.after = afterRemoved // there is nothing between the parentheses
			return 1
		}
		v.emit(gap + strings.TrimLeft(sep, " \t,;"))
	case gap == "" && v.last == '(': // which was given out before the citation came
		v.emit(strings.TrimLeft(sep, " \t,;"))
	case !blank:
		v.emit(strings.TrimLeft(sep, " \t"))
	case sep != "":
		if gap != "" || v.size > 0 && strings.IndexByte(" \t\n", v.last) < 0 {
			v.emit(sep)
		}
	case rest != "" && !closes(rest):
		v.emit(gap)
	}
	return 0
}

// closes reports whether s begins with what no space stands before.
func closes(s string) bool {
	for _, mark := range []string{".", ",", ":", ";", "!", "?", ")", "]", "}", "\n", "\r", "…", "”", "’", "»", "。", "、", "，", "」"} {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	return false
}
