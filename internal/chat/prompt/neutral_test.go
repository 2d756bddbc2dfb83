package prompt

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"parley/internal/chat/prompt/prompttest"
)

// forbidden matches text that a source must not hold after its label.
var forbidden = regexp.MustCompile(`(?i)\n|\r|<<|>>|<\||\|>|#page=\d+:|\[[^\[\]]*#page=\d+\]|\[[^\[\]]*\.(md|docx)\]|\[/?inst\]|</?(s|system|assistant|start_of_turn|end_of_turn|tool_call|function_calls)>|<invoke`)

func TestNeutral_LeavesNoDelimiters(t *testing.T) {
	for _, text := range prompttest.Injections {
		got := Neutral(text)
		if m := forbidden.FindString(got); m != "" {
			t.Errorf("%q → %q holds %q", text, got, m)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' }); i >= 0 {
			t.Errorf("%q → %q has something invisible at %d", text, got, i)
		}
		for _, role := range []string{"System:", "Assistant:", "Human:", "Tool:", "Developer:", "Sources:", "other.md:", "html:"} {
			if strings.Contains(got, role) && !strings.Contains(text, "<s>"+strings.ToLower(role)) {
				t.Errorf("%q → %q holds %q", text, got, role)
			}
		}
		if again := Neutral(got); again != got {
			t.Errorf("%q is not stable: %q", got, again)
		}
	}
}

func TestNeutral_KeepsOtherTexts(t *testing.T) {
	for _, text := range []string{
		"Employees should keep track of their claims, e.g. at 10:30; see RFC 2119 [2] & <b>bold</b> a<b>c.",
		"if (a < b && c > d) { x[i] = y->z; }",
		"Note: the following system: works. Our users: 5.",
		"می\u200cخواهم 👩\u200d💻 健康保険 naïve",
		"| a | b |\t| c |",
	} {
		want := strings.ReplaceAll(text, "\t", " ")
		if got := Neutral(text); got != want {
			t.Errorf("%q → %q", text, got)
		}
	}
	if got := Neutral("one\ntwo\r\n\nthree\n"); got != "one two  three" && got != "one two   three" {
		t.Errorf("line breaks: %q", got)
	}
}

func FuzzNeutral_IsOneLineWithoutDelimiters(f *testing.F) {
	for _, text := range prompttest.Injections {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Neutral(strings.ToValidUTF8(text, "?"))
		for _, bad := range []string{"\n", "\r", "\u2028", "<<", ">>", "<|", "|>"} {
			if strings.Contains(got, bad) {
				t.Fatalf("%q → %q holds %q", text, got, bad)
			}
		}
	})
}
