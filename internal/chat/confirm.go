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

// A document may tell a model to call a tool that changes something. Such a call therefore runs only
// after the user has confirmed exactly this call: the server, not the model, shows the call and a code
// below the answer, and the call may run in a later turn whose question contains the code. The code is a
// MAC of the namespace, caller, tool and arguments, keyed with a secret of this process. The model does
// not see the code in the turn that asks for it.

// maxConfirmed is the largest call that a user is asked to confirm, in bytes of its arguments.
const maxConfirmed = 4 << 10

// notConfirmed returns the reply to the model for a call that the user must confirm first, or "" when
// the call may run. It replaces the arguments of a tool that changes something with their canonical form.
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

// spokenWords returns the words of a text in lower case.
func spokenWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// confirmation returns the code that allows a call to run.
func (a *answer) confirmation(c llm.ToolCall) string {
	mac := hmac.New(sha256.New, a.secret[:])
	f := a.filter()
	for _, part := range []string{f.Namespace, f.Principal.Subject, c.Name, c.Arguments} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:10]))
}

// exact returns a JSON text in a canonical form that all readers interpret the same way: keys are unique,
// and numbers keep their digits. It returns a text that is not JSON unchanged.
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

// confirmations returns, as Markdown, the request that the user confirm the calls in a.asking, or "" if
// there are none. It shows all arguments, and escapes whatever could end the code block around them.
func (a *answer) confirmations() string {
	var b strings.Builder
	for _, c := range a.asking {
		fmt.Fprintf(&b, "\n\nThe tool %s changes something and was not run. It would be called with:\n\n```json\n%s\n```\n\nTo let it run, answer: confirm %s",
			llm.CleanName(c.Name), escapeUnseen(c.Arguments), a.confirmation(c))
	}
	return cite.Harmless(b.String(), cite.Nothing)
}

// escapeUnseen replaces invisible characters and backquotes in a JSON text with escapes.
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
