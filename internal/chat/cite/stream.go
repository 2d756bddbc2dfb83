package cite

import (
	"strings"

	"parley/internal/retrieval"
)

// maxSeparator is the maximum length in bytes of the separator between two citations.
const maxSeparator = 16

// maxLead is the maximum length in bytes of the space that is removed along with the citation after it.
const maxLead = 16

// Form is the kind of text that passes through a Stream.
type Form uint8

// The forms.
const (
	Prose     Form = iota // a model's answer in Markdown
	JSON                  // a model's answer that has to be JSON
	Reasoning             // a model's reasoning: only citations in Parley's own form count
	Quotes                // an answer in the words of the passages, with correct citations
)

// Seen reports which texts the model did not make up. Given is required.
type Seen struct {
	Given func(text string) bool // reports whether the user gave that text
	Shown func(text string) bool // reports whether the model was shown that text, by the user or otherwise
}

// Stream checks the text of an answer on its way out. A Stream is not safe for concurrent use.
type Stream struct {
	form    Form
	check   verifier
	leave   filter      // for Quotes, which skip the check
	escapes jsonEscapes // for JSON
}

// NewStream returns a stream for one answer. The answer may cite the passages.
func NewStream(form Form, passages []retrieval.Passage, seen Seen) *Stream {
	return &Stream{
		form:  form,
		check: verifier{passages: passages, given: seen.Given, shown: seen.Shown, json: form == JSON || form == Reasoning},
		leave: filter{given: seen.Given},
	}
}

// Add takes a delta and returns the output that is certain now.
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

// End returns the rest of the output. Add may be called again afterwards.
func (s *Stream) End() string {
	switch s.form {
	case Quotes:
		return s.leave.end()
	case JSON:
		return s.check.add(s.escapes.end()) + s.check.end()
	}
	return s.check.end()
}

// Learn sets the passages that the rest of the answer may cite.
func (s *Stream) Learn(passages []retrieval.Passage) { s.check.learn(passages) }

// verifier checks the citations of a streamed answer. Text without brackets and code marks passes
// unchanged and without a copy. The verifier holds back an opening bracket until it can decide:
//
//   - A label that the passages allow is written exactly as they spell it, in brackets of its own,
//     however the model spelled it (see labels).
//   - A label that can only be meant as a citation, but is not allowed, is removed together with the
//     space before it. So is a link whose text is such a label, unless the model was shown the link's
//     target.
//   - Everything else passes unchanged: links, footnotes, indices, check boxes, and brackets that do not
//     close within maxLabelBytes. The text inside such brackets is checked like any other text.
//
// In code, and in an answer that has to be JSON, only brackets in Parley's own form name#page=N count,
// since they are never code. A fence whose language is Markdown is not code.
//
// The checked text then passes through a filter. The output does not depend on how the answer is split into
// deltas, provided that no character is split. The state is bounded: the verifier and the filter each hold
// back at most about maxTargetBytes of text.
type verifier struct {
	passages []retrieval.Passage
	given    func(text string) bool // reports whether the user gave that text
	shown    func(text string) bool // reports whether the model was shown that text; nil means given
	json     bool                   // the answer has to be JSON
	known    *labels                // made at the first bracket; nil before

	held     string // input that awaits a decision
	leave    filter
	code     codeState
	after    aftermath
	gap      string // space before citations that were removed
	last     byte   // last byte of the checked text
	begun    bool   // whether there is any checked text
	invented []invention
}

// invention is a label that the passages do not allow.
type invention struct {
	label string
	at    int // approximate offset in the output at which it was removed
}

// aftermath says whether the text before the current input is a citation, and what became of it.
type aftermath uint8

const (
	afterText    aftermath = iota // no citation
	afterKept                     // a citation that was kept
	afterRemoved                  // a citation that was removed
)

// add takes a delta and returns the output that is certain now.
func (v *verifier) add(text string) string {
	v.leave.given = v.given
	if v.held == "" && v.after == afterText && isPlain(text) {
		v.pass(text)
		return v.leave.add(text)
	}
	v.scan(text, false)
	return v.leave.take()
}

// learn sets the passages that may be cited from now on.
func (v *verifier) learn(passages []retrieval.Passage) {
	v.passages, v.known = passages, nil
}

// end returns the rest of the output.
func (v *verifier) end() string {
	v.leave.given = v.given
	v.scan("", true)
	return v.leave.end()
}

func (v *verifier) wasShown(text string) bool {
	return v.given(text) || v.shown != nil && v.shown(text)
}

// isPlain reports whether a delta contains nothing that needs a decision, and ends with nothing that the
// next delta could complete.
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

// brackets returns the opening bracket with which s begins and the bracket that closes it.
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

// pass updates the state for text that has been decided.
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

// scan decides as much of the input as it can, and holds back the rest.
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

// step decides about the beginning of the input and returns how many bytes it covered; ok is false when
// it needs more input.
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

// isSpecial reports whether step must examine a byte.
func isSpecial(c byte) bool {
	switch c {
	case '[', '`', '~', ' ', '\t', '(', "【"[0], "［"[0]:
		return true
	}
	return false
}

// leadOf returns the length of the space and of the opening parenthesis at the beginning of s, which
// belong to a citation that follows them. More than maxLead means that there is too much space.
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

// bracket decides about a bracket that opens after lead bytes of the input.
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

// follow decides about the text after a citation: separators, further citations, the target of a link whose
// text was the label, and the space around citations that were removed.
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
				return t.n, ok // drop the target, since clients know where a citation leads
			}
		}
		v.after = afterText
		words := strings.TrimRight(sep, " \t") // the space may belong to a citation that follows
		v.emit(words)
		return len(words), true
	}
	return n + v.mend(sep, rest), true
}

// followBracket decides about a bracket that opens after a citation and a separator.
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
		v.note(d) // the separator is removed too
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

// mend joins the text around citations that were removed, and returns how many bytes of rest it used. It keeps
// the space before them if a word follows.
func (v *verifier) mend(sep, rest string) int {
	gap := v.gap
	v.after, v.gap = afterText, ""
	words := strings.TrimLeft(sep, " \t")
	switch {
	case strings.HasSuffix(gap, "("):
		if words == "" && strings.HasPrefix(rest, ")") {
			v.after, v.gap = afterRemoved, strings.TrimSuffix(gap, "(") // drop the empty parentheses
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

// isBreak reports whether the space sep is a hard line break (CommonMark 0.31, section 6.7).
func isBreak(sep, rest string) bool {
	return strings.HasPrefix(sep, "  ") && strings.IndexAny(rest, "\r\n") == 0
}

// closes reports whether s begins with a mark before which there is no space.
func closes(s string) bool {
	for _, mark := range []string{".", ",", ":", ";", "!", "?", ")", "]", "}", "\n", "\r", "…", "”", "’", "»", "。", "、", "，", "」"} {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	return false
}
