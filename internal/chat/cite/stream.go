package cite

import (
	"strings"

	"parley/internal/retrieval"
)

// maxSeparator bounds what is taken for the separator between two citations.
const maxSeparator = 16

// maxLead bounds the space before a citation that is removed with it.
const maxLead = 16

// Form says what a text is that passes a Stream.
type Form uint8

// The forms.
const (
	Prose     Form = iota // the answer of a model, in Markdown
	JSON                  // the answer of a model that is to be JSON
	Reasoning             // what a model thinks: only citations in Parley's own form are looked at
	Quotes                // an answer in the passages' own words, whose citations are right
)

// Seen says which texts a model did not make up. Given is required.
type Seen struct {
	Given func(text string) bool // whether the user gave that text
	Shown func(text string) bool // whether the model was shown that text; it holds for what was given, too
}

// Stream is what the text of an answer passes on its way out. It is used by one goroutine.
type Stream struct {
	form    Form
	check   verifier
	leave   filter      // of Quotes, which are not checked
	escapes jsonEscapes // of JSON
}

// NewStream returns a stream for one answer, which may cite the passages.
func NewStream(form Form, passages []retrieval.Passage, seen Seen) *Stream {
	return &Stream{
		form:  form,
		check: verifier{passages: passages, given: seen.Given, shown: seen.Shown, json: form == JSON || form == Reasoning},
		leave: filter{given: seen.Given},
	}
}

// Add takes a delta and returns the text that is certain now.
func (s *Stream) Add(delta string) string {
	switch {
	case delta == "":
		return ""
	case s.form == Quotes:
		return s.leave.add(delta)
	case s.form == JSON:
		delta = s.escapes.add(delta)
	}
	return s.check.add(delta)
}

// End returns the rest of the text. The stream may go on with Add.
func (s *Stream) End() string {
	switch s.form {
	case Quotes:
		return s.leave.end()
	case JSON:
		return s.check.add(s.escapes.end()) + s.check.end()
	}
	return s.check.end()
}

// Learn sets the passages that may be cited from now on.
func (s *Stream) Learn(passages []retrieval.Passage) { s.check.learn(passages) }

// verifier checks the citations of a streamed answer before anybody sees it. Text without brackets and
// code marks passes as it is, without a copy. An opening bracket is held back until it is decided:
//
//   - A label that the passages allow is written exactly as they have it, each in brackets of its
//     own, whatever the model's spelling (see labels).
//   - What can only be meant as a citation, but is none of those, is removed with the space before
//     it. A link whose text is such a label is removed too, unless its target stands in the
//     material that the model was given.
//   - Anything else passes unchanged: links, footnotes, indices, check boxes, brackets that nothing
//     closes within maxLabelBytes. What stands in such brackets is looked at like all other text.
//
// In code, and in an answer that is to be JSON, brackets are left alone, except those of Parley's own
// form name#page=N, which is never code. A fence whose language is Markdown is no code.
//
// What is left of the answer then passes a filter. What comes out does not depend on how the answer is
// cut, as long as no character is. The state is bounded: each of the two holds back at most about
// maxTargetBytes of text.
type verifier struct {
	passages []retrieval.Passage
	given    func(text string) bool // whether the user gave that text
	shown    func(text string) bool // whether the model was shown that text [what was given]
	json     bool                   // the answer is to be JSON
	known    *labels                // made when the first bracket comes

	held     string // input that is not decided
	leave    filter
	code     codeState
	after    aftermath
	gap      string // what stood before citations that were removed
	last     byte   // the last byte that was decided
	begun    bool   // there is one
	invented []invention
}

// invention is a label that the passages do not allow.
type invention struct {
	label string
	at    int // where in the text that was given out it stood, about
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
	v.leave.given = v.given
	if v.held == "" && v.after == afterText && isPlain(text) {
		v.pass(text)
		return v.leave.add(text)
	}
	v.scan(text, false)
	return v.leave.take()
}

// learn takes over the passages that may be cited from now on.
func (v *verifier) learn(passages []retrieval.Passage) {
	v.passages, v.known = passages, nil
}

// end returns the rest of the answer.
func (v *verifier) end() string {
	v.leave.given = v.given
	v.scan("", true)
	return v.leave.end()
}

func (v *verifier) wasShown(text string) bool {
	return v.given(text) || v.shown != nil && v.shown(text)
}

// isPlain reports whether nothing in a delta can begin what must be looked at, and nothing at its end
// can belong to what comes next.
func isPlain(text string) bool {
	if text != "" && leadOf(text[len(text)-1:]) > 0 {
		return false
	}
	for i := range len(text) {
		switch text[i] {
		case '[', '`', '~':
			return false
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

// pass takes note of text that is decided.
func (v *verifier) pass(text string) {
	if text == "" {
		return
	}
	v.code.pass(text)
	v.last, v.begun = text[len(text)-1], true
}

func (v *verifier) emit(text string) {
	v.pass(text)
	v.leave.write(text)
}

// scan decides as much of the input as it can, and holds the rest.
func (v *verifier) scan(text string, final bool) {
	in := v.held + text
	v.held = ""
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
			return
		}
		in = in[n:]
	}
}

// step decides what the input begins with and returns how much of it that is; ok is false when
// that takes more input.
func (v *verifier) step(in string, final bool) (n int, ok bool) {
	lead := leadOf(in)
	switch _, _, opens := brackets(in[lead:]); {
	case lead > maxLead:
		v.emit(in[:1])
		return 1, true
	case opens:
		return v.bracket(in, lead, final)
	case lead == len(in) && !final:
		return 0, false
	case lead > 0:
		v.emit(in[:lead])
		return lead, true
	}
	if c := in[0]; c == '`' || c == '~' {
		for n < len(in) && in[n] == c {
			n++
		}
		if n == len(in) && n < maxSeparator && !final {
			return 0, false
		}
		v.code.mark(c, n)
		v.emit(in[:n])
		return n, true
	}
	n = 1
	for n < len(in) && !isSpecial(in[n]) {
		n++
	}
	v.emit(in[:n])
	return n, true
}

// isSpecial is true for the bytes at which step must look again.
func isSpecial(c byte) bool {
	switch c {
	case '[', '`', '~', ' ', '\t', '(', "【"[0], "［"[0]:
		return true
	}
	return false
}

// leadOf returns the length of the space, and of the parenthesis, with which s begins: what belongs
// to a citation that follows. It looks no further than step wants to know.
func leadOf(s string) int {
	n := 0
	for n < len(s) && n <= maxLead && (s[n] == ' ' || s[n] == '\t') {
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
			v.invented = append(v.invented, invention{label, v.leave.at()})
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
	if n == len(in) && !final {
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
		words := strings.TrimRight(sep, " \t") // the space may belong to a citation that follows
		v.emit(words)
		return len(words), true
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

// mend joins the text around citations that were removed, and returns how much of rest is used up. The
// space before them stays where a word follows.
func (v *verifier) mend(sep, rest string) int {
	gap := v.gap
	v.after, v.gap = afterText, ""
	words := strings.TrimLeft(sep, " \t")
	switch {
	case strings.HasSuffix(gap, "("):
		if words == "" && strings.HasPrefix(rest, ")") {
			v.after, v.gap = afterRemoved, strings.TrimSuffix(gap, "(") // there is nothing between the parentheses
			return 1
		}
		v.emit(gap + strings.TrimLeft(sep, " \t,;"))
	case words != "":
		v.emit(words)
	case closes(rest) || rest == "":
		if isBreak(sep, rest) {
			v.emit(sep)
		}
	case gap != "":
		v.emit(gap)
	case v.begun && strings.IndexByte(" \t\n", v.last) < 0:
		v.emit(sep)
	}
	return 0
}

// isBreak reports whether a space before what follows makes a line of its own (CommonMark 0.31, section
// 6.7).
func isBreak(sep, rest string) bool {
	return strings.HasPrefix(sep, "  ") && strings.IndexAny(rest, "\r\n") == 0
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
