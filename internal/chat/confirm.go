package chat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/text"
)

// A document may tell a model to call a tool that changes something. So such a call runs only when the
// user has confirmed that very call: the server, not the model, shows it below the answer with a code,
// and the call may run in a turn whose question holds the code. The code is made from tool, arguments and
// caller with a secret of this process; the model does not learn it in the turn that asks.

// maxConfirmed is the longest call that a user is asked to confirm, in bytes of its arguments.
const maxConfirmed = 4 << 10

// notConfirmed returns what the model is told of a call that must be confirmed first; "" when it may run,
// with the arguments as they are shown.
func (a *answer) notConfirmed(c *llm.ToolCall) string {
	if a.cfg.Writes == nil || !a.cfg.Writes(c.Name) {
		return ""
	}
	c.Arguments = exact(c.Arguments)
	switch {
	case len(c.Arguments) > maxConfirmed:
		return "This tool changes something, and its arguments are too long for the user to confirm. It was not run."
	case a.req.Options.Schema != nil:
		return "This tool changes something, and nobody can be asked to confirm that in this turn. It was not run."
	}
	code := a.confirmation(*c)
	if slices.Contains(spokenWords(a.asked), code) {
		return ""
	}
	if !slices.ContainsFunc(a.asking, func(other llm.ToolCall) bool { return a.confirmation(other) == code }) {
		a.asking = append(a.asking, *c)
	}
	return "This tool changes something. It was not run: the user has to confirm the call first, and is shown below your answer " +
		"how. Say in one sentence what you would do. When the user has confirmed, call it again with exactly these arguments."
}

// spokenWords returns the words of a text in small letters.
func spokenWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// confirmation returns the code that lets a call run.
func (a *answer) confirmation(c llm.ToolCall) string {
	mac := hmac.New(sha256.New, a.secret[:])
	f := a.filter()
	for _, part := range []string{f.Namespace, f.Principal.Subject, c.Name, c.Arguments} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:10]))
}

// exact returns a JSON text in the one form in which all readers take it for the same: no key comes twice,
// and numbers keep their digits.
func exact(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// confirmations returns what the user is asked, as Markdown: all of the arguments can be seen, and
// nothing of them can end the code in which they stand.
func (a *answer) confirmations() string {
	var b strings.Builder
	for _, c := range a.asking {
		fmt.Fprintf(&b, "\n\nThe tool %s changes something and was not run. It would be called with:\n\n```json\n%s\n```\n\nTo let it run, answer: confirm %s",
			llm.CleanName(c.Name), escapeUnseen(c.Arguments), a.confirmation(c))
	}
	return cite.Harmless(b.String(), cite.Nothing)
}

// escapeUnseen writes what is not seen in a JSON text, and the mark of code, as escapes.
func escapeUnseen(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '`' && !text.IsUnseen(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
