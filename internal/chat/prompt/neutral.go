package prompt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/format"
	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// The Unicode characters that end a line for some readers. Neutral replaces them with spaces.
const (
	nextLine           = '\u0085'
	lineSeparator      = '\u2028'
	paragraphSeparator = '\u2029'
)

// DocumentExts is a regular expression that matches the extensions of document names.
var DocumentExts = strings.Join(format.OfDocuments(), "|")

// roles are the texts before the colon of a line that looks like a message or a list of sources, without the
// space and Markdown marks around them.
var roles = []string{"system", "assistant", "user", "human", "developer", "tool", "function", "model", "ai", "source", "sources",
	"instruction", "response", "system prompt", "system message"}

var (
	// labelHead matches the text before the colon of a line that looks like a source from a document
	// without pages.
	labelHead = lazyregexp.New(`(?i)^\s*\S.{0,200}\.(?:` + DocumentExts + `)\s*$`)
	// pageLabel matches the end of the label of a source with a page, and the colon after it.
	pageLabel = lazyregexp.New(`(?i)(#page=\d+)[^\S\n]*:`)
	// bracketed matches a text in brackets that users would take for a citation. It contains no other
	// bracket.
	bracketed = lazyregexp.New(`(?i)[\[【［]([^\[\]【】［］]{0,250}(?:#page=\d+|\.(?:` + DocumentExts + `))\s*)[\]】］]`)
	// instTag matches tags with which some models mark turns.
	instTag = lazyregexp.New(`(?i)\[(/?(?:inst|sys|system_prompt|tool_calls|tool_results|tool_content|available_tools))\]`)
	// roleTag matches tags with which other models mark turns and calls.
	roleTag = lazyregexp.New(`(?i)<(/?(?:s|system|user|assistant|human|tool|tool_calls?|tool_response|function_calls?|invoke|start_of_turn|end_of_turn|bos|eos|think)\b[^<>]{0,80}>)`)
)

// Neutral returns a document's text in the form that is used in prompts and data_points: on one line,
// and without anything that could be taken for a delimiter of the prompt. In detail:
//
//   - line breaks of every kind, and other control characters, become spaces;
//   - invisible characters (zero width, bidirectional controls, tags) are dropped, except the joiners
//     that Persian, Hindi and emoji need;
//   - a space is inserted in the middle of "<<" and ">>", which enclose follow-ups, and of "<|" and "|>",
//     also in full width, and into angle-bracket tags with which models mark turns and calls; such tags in
//     square brackets get parentheses instead;
//   - a space is inserted before the colon of a line that begins like a message or a source, and of
//     "#page=N:" anywhere; full-width letters and colons count as the characters that they look like;
//   - brackets around a text that looks like a citation become parentheses.
//
// Everything else is kept byte for byte. A text without such constructs changes only in its line breaks.
func Neutral(text string) string {
	text = neutralLines(Visible(text))
	if hasPageLabel(text) {
		text = pageLabel.ReplaceAllString(text, "$1 :")
	}
	text = replaceBetween(text, nextSquare, instTag, "(", ")")
	text = replaceBetween(text, nextAngle, roleTag, "< ", "")
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", " ")
	return SplitAngles(replaceBetween(text, nextSquare, bracketed, "(", ")"))
}

// hasPageLabel reports whether pageLabel may match. It is cheaper than matching.
func hasPageLabel(text string) bool {
	const mark = "#page="
	for i := strings.IndexByte(text, '#'); i >= 0 && i+len(mark) <= len(text); {
		if strings.EqualFold(text[i:i+len(mark)], mark) {
			return true
		}
		next := strings.IndexByte(text[i+1:], '#')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// neutralLines inserts a space before the first colon of each line that begins like a message or a
// source.
func neutralLines(text string) string {
	if !strings.ContainsAny(text, ":：") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 8)
	for line := range strings.Lines(text) {
		head, rest := cutHead(line)
		if rest != "" && (isRoleHead(head) || isLabelHead(head)) {
			b.WriteString(strings.TrimRight(head, " ") + " " + rest)
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// cutHead returns the text before the first colon of a line, and the rest from the colon on.
func cutHead(line string) (head, rest string) {
	if i := strings.IndexAny(line, ":："); i >= 0 {
		return line[:i], line[i:]
	}
	return line, ""
}

const blanks = "\t\n\f\r "

// isRoleHead reports whether the text before a colon is the name of a role.
func isRoleHead(head string) bool {
	head = plainHead(head)
	head = strings.TrimRight(strings.TrimRight(strings.TrimLeft(head, blanks+"#*>_-"), blanks), "*_")
	return slices.ContainsFunc(roles, func(role string) bool { return strings.EqualFold(role, head) })
}

// maxHead is longer in bytes than any text before a colon that isRoleHead accepts.
const maxHead = 200

// plainHead returns the beginning of a line with letters replaced by those that they look like: without
// full-width and other presentation forms, diacritics and variants. It returns a text that is too long for
// the name of a role unchanged.
func plainHead(head string) string {
	if len(head) > maxHead || !strings.ContainsFunc(head, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return head
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(head))
}

// maxExt is longer in bytes than any extension in DocumentExts with its dot, in any case folding.
const maxExt = 16

// isLabelHead reports whether labelHead matches. It does not try if there is no extension.
func isLabelHead(head string) bool {
	dot := strings.LastIndexByte(head, '.')
	return dot >= 0 && len(strings.TrimRight(head[dot:], blanks)) <= maxExt && labelHead.MatchString(head)
}

// nextSquare returns the index of the first bracket of a kind that may enclose a citation, or -1.
func nextSquare(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '[', ']':
			return i
		case "【"[0], "［"[0]:
			if r, _ := utf8.DecodeRuneInString(text[i:]); r == '【' || r == '】' || r == '［' || r == '］' {
				return i
			}
		}
	}
	return -1
}

func nextAngle(text string) int { return strings.IndexAny(text, "<>") }

// replaceBetween replaces each match of a pattern with before, the match's first group, and after. A match must
// begin and end with a mark that next finds, and contain no mark between them. Matching the text between
// each two marks is many times faster than searching the whole text.
func replaceBetween(text string, next func(string) int, pattern *lazyregexp.Regexp, before, after string) string {
	var b strings.Builder
	done := 0
	for i := next(text); i >= 0; {
		n := next(text[i+1:])
		if n < 0 {
			break
		}
		end := i + 1 + n
		_, size := utf8.DecodeRuneInString(text[end:])
		if m := pattern.FindStringSubmatch(text[i : end+size]); m != nil {
			b.WriteString(text[done:i] + before + m[1] + after)
			done = end + size
		}
		i = end
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// Visible turns every line end into "\n" and other ASCII control characters into spaces, and drops other
// invisible characters.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\v', r == '\f', r == nextLine, r == lineSeparator, r == paragraphSeparator:
			return '\n'
		case r < ' ' || r == 0x7f:
			return ' '
		case r < 0x80, r == '\u200c', r == '\u200d':
			return r
		case text.IsUnseen(r):
			return -1
		}
		return r
	}, s)
}

// OneLine returns the visible characters of a text, with spaces instead of line breaks.
func OneLine(text string) string {
	return strings.ReplaceAll(Visible(text), "\n", " ")
}

// SplitAngles inserts a space into "<<", ">>", "<|" and "|>". That includes the full-width forms, with which
// some models mark turns.
func SplitAngles(text string) string {
	if !strings.ContainsAny(text, "<>＜＞") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 8)
	var before rune
	for i, r := range text {
		if delimiter(plainMark(before), plainMark(r)) {
			b.WriteByte(' ')
		}
		before = r
		_, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+size])
	}
	return b.String()
}

// HasMarks reports whether a text contains marks with which prompts or models delimit messages and
// sources.
func HasMarks(text string) bool {
	return SplitAngles(text) != text || roleTag.MatchString(text) || instTag.MatchString(text)
}

func plainMark(r rune) rune {
	switch r {
	case '＜':
		return '<'
	case '＞':
		return '>'
	case '｜':
		return '|'
	}
	return r
}

func delimiter(a, b rune) bool {
	return a == '<' && (b == '<' || b == '|') || b == '>' && (a == '>' || a == '|')
}
