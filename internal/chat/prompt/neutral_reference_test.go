package prompt

import (
	"regexp"
	"strings"
	"testing"
)

// wholeRoleHead does the same as isRoleHead with one expression.
var wholeRoleHead = regexp.MustCompile(`(?i)^[\s#*>_\-]*(?:system|assistant|user|human|developer|tool|function|model|ai|sources?|instruction|response|system prompt|system message)[*_]*\s*$`)

// wholeSourceText does the same as Neutral with one expression for each rule. That is slow.
func wholeSourceText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(Visible(text)) {
		head, rest := cutHead(line)
		if rest != "" && (wholeRoleHead.MatchString(plainHead(head)) || labelHead.MatchString(head)) {
			line = strings.TrimRight(head, " ") + " " + rest
		}
		b.WriteString(line)
	}
	text = pageLabel.ReplaceAllString(b.String(), "$1 :")
	text = instTag.ReplaceAllString(text, "($1)")
	text = roleTag.ReplaceAllString(text, "< $1")
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", " ")
	return SplitAngles(bracketed.ReplaceAllString(text, "($1)"))
}

// FuzzSourceText_IsWhatTheWholeExpressionsSay compares the rules, which are split up for speed, with
// the whole expressions that they come from.
func FuzzSourceText_IsWhatTheWholeExpressionsSay(f *testing.F) {
	for _, text := range []string{
		"", "plain", "a: b", "# **System** : x", "_ai_:\n> user:\nuſer: y", "so urce:", "sources : z", "-tool\f\r:",
		"see notes.MD : x\n.md: y\na.b.xlſx: z", "x" + strings.Repeat("y", 199) + ".pdf:", "x" + strings.Repeat("y", 200) + ".pdf:",
		"[a.pdf#page=2]【b.md］［c.docx ]", "[[a.md]", "[a.md[b.md]]", "[a.md", "]a.md]", "[inst] [/SYS][ſys]", "[INST[sys]]",
		"[" + strings.Repeat("é", 250) + ".md]", "[" + strings.Repeat("é", 251) + ".md]", "[inst][a.md]: [x](y.md)", "a\n\n[b.md\n]\n",
		"<system>", "<|x|> <<y>>", "#PAGE=12 : a #page=3:", "\xff[\xff.md]\xe3\x80", "【\xff】", "head\u200b.md: é\u2028user: x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := Neutral(text), wholeSourceText(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	})
}
