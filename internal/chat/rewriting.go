package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/text"
)

// The limits of rewriting by a model.
const (
	maxQueryRunes   = 400
	maxReasonRunes  = 200
	rewriteTurns    = 3 // that the model sees unless the request says otherwise
	maxShownRunes   = 1000
	gistRunes       = 200  // of a message of which the model sees only the beginning
	rewriteTokens   = 1000 // a model that reasons uses most of them for reasoning
	plainConfidence = 0.7  // of a query for which the model reports no confidence
	ownShare        = 0.5  // minimum share of a query's words that come from the conversation
)

var (
	rewriteSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},` +
		`"ambiguous":{"type":"boolean"},"confidence":{"type":"number"},"reason":{"type":"string"}},` +
		`"required":["query","ambiguous","confidence","reason"],"additionalProperties":false}`)
	// clarifySchema is the schema of a reply that may contain a clarifying question.
	clarifySchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},` +
		`"ambiguous":{"type":"boolean"},"confidence":{"type":"number"},"reason":{"type":"string"},` +
		`"clarification":{"type":"string"}},` +
		`"required":["query","ambiguous","confidence","reason","clarification"],"additionalProperties":false}`)
)

// rewriteRequest returns the request that asks a model for a query. The user's message quotes the
// conversation with each message on one line, so that nothing in it can pass for an instruction or another
// message.
func (t *turn) rewriteRequest() llm.Request {
	var b strings.Builder
	if t.summary != "" {
		b.WriteString("Summary of what was said before:\n")
		quoteLine(&b, "", t.summary, maxSummaryRunes)
		b.WriteByte('\n')
	}
	if gist, turns := t.shownTurns(); len(gist)+len(turns) > 0 {
		b.WriteString("Conversation:\n")
		quoteTurns(&b, gist, gistRunes)
		quoteTurns(&b, turns, maxShownRunes)
		b.WriteByte('\n')
	}
	b.WriteString("Last question:\n")
	quoteLine(&b, "", t.asked, maxShownRunes)
	system, schema := t.cfg.Prompts.Text(t.req.Options.PromptDomain, prompt.Rewrite), rewriteSchema
	if t.req.Options.Rewrite.Clarify {
		system += "\n\n" + t.cfg.Prompts.Text(t.req.Options.PromptDomain, prompt.Clarify)
		schema = clarifySchema
	}
	return llm.Request{
		Messages:        []llm.Message{llm.Text(llm.System, system), llm.Text(llm.User, strings.TrimSpace(b.String()))},
		MaxOutputTokens: rewriteTokens,
		Effort:          "low",
		Schema:          schema,
	}
}

// quoteTurns writes each message as one quoted line. It leaves out tool results, and tool calls without text.
func quoteTurns(b *strings.Builder, messages []Message, maxRunes int) {
	for _, m := range messages {
		if ofTools(m) && (m.Role == llm.ToolRole || m.Text() == "") {
			continue
		}
		quoteLine(b, speaker(m.Role), m.Text(), maxRunes)
	}
}

// shownTurns returns the turns at the end of the conversation that a rewriting model sees in full, and the
// turns before those, of which it sees only the beginnings (gist). Gist, and turns if the request sets their
// number, may include turns that the answer's prompt leaves out.
func (t *turn) shownTurns() (gist, turns []Message) {
	all := slices.Concat(t.older, t.history)
	if n := t.req.Options.Rewrite.Turns; n == 0 {
		turns = lastTurns(t.history, rewriteTurns)
	} else {
		turns = lastTurns(all, n)
	}
	return lastTurns(all[:len(all)-len(turns)], t.req.Options.Rewrite.Gist), turns
}

// lastTurns returns the last turns of messages. A turn begins with a user message. It returns nil if turns
// is less than 1, and all messages if they have fewer turns.
func lastTurns(messages []Message, turns int) []Message {
	if turns < 1 {
		return nil
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != llm.User {
			continue
		}
		if turns--; turns == 0 {
			return messages[i:]
		}
	}
	return messages
}

func speaker(r llm.Role) string {
	switch r {
	case llm.User:
		return "User"
	case llm.ToolRole:
		return "Tool"
	}
	return "Assistant"
}

// quoteLine writes a text, clipped to maxRunes, as one quoted line after the name of its speaker, if any.
func quoteLine(b *strings.Builder, speaker, text string, maxRunes int) {
	b.WriteString("> ")
	if speaker != "" {
		b.WriteString(speaker)
		b.WriteString(": ")
	}
	b.WriteString(prompt.Neutral(clip(strings.TrimSpace(text), maxRunes)))
	b.WriteByte('\n')
}

// clip returns a text of at most runes characters unchanged. It cuts a longer one there and appends " …".
func clip(s string, runes int) string {
	if len(s) <= runes {
		return s
	}
	for i := range s {
		if runes--; runes < 0 {
			return strings.TrimSpace(s[:i]) + " …"
		}
	}
	return s
}

// rewriting is a model's reply to a rewriteRequest.
type rewriting struct {
	query      string
	clarify    string // the question to ask back; "" for none
	ambiguous  bool
	confidence float64
	reason     string
}

// parseRewriting reads a model's reply: the requested JSON object, with or without text around it, or a
// bare query. Numbers may be strings, and the confidence may be a percentage.
func parseRewriting(reply string) (rewriting, error) {
	r := rewriting{confidence: plainConfidence}
	object, ok := llm.Object(reply)
	if !ok {
		r.query = prompt.Visible(cleanQuery(unfence(reply)))
		return r, nil
	}
	var fields struct {
		Query      string
		Ambiguous  json.RawMessage
		Confidence json.RawMessage
		Reason     json.RawMessage

		Clarification json.RawMessage
	}
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		return r, fmt.Errorf("read the reply: %w", err)
	}
	r.query = prompt.Visible(cleanQuery(fields.Query))
	r.ambiguous = bytes.EqualFold(unquote(fields.Ambiguous), []byte("true"))
	if c, err := strconv.ParseFloat(strings.TrimSuffix(string(unquote(fields.Confidence)), "%"), 64); err == nil && c >= 0 {
		if c > 1 {
			c /= 100
		}
		r.confidence = min(c, 1)
	}
	_ = json.Unmarshal(fields.Reason, &r.reason) // a reason that is not a string is ignored
	r.reason = clip(strings.Join(strings.Fields(prompt.OneLine(r.reason)), " "), maxReasonRunes)
	_ = json.Unmarshal(fields.Clarification, &r.clarify) // as above
	r.clarify = clip(strings.Join(strings.Fields(prompt.OneLine(r.clarify)), " "), maxQueryRunes)
	return r, nil
}

// unfence returns the content of a code fence, or the whole text when there is none.
func unfence(s string) string {
	s = strings.TrimSpace(s)
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	if _, rest, ok := strings.Cut(inner, "\n"); ok {
		inner = rest // drops the language name
	}
	return strings.TrimSuffix(strings.TrimSpace(inner), "```")
}

func unquote(v json.RawMessage) []byte { return bytes.TrimSpace(bytes.Trim(bytes.TrimSpace(v), `"`)) }

// cleanQuery removes the quotation marks that models put around a query.
func cleanQuery(s string) string {
	s = strings.TrimSpace(s)
	for _, quotes := range []string{`""`, "''", "“”", "``"} {
		open, size := utf8.DecodeRuneInString(quotes)
		shut := quotes[size:]
		inner, begins := strings.CutPrefix(s, string(open))
		if inner, ends := strings.CutSuffix(inner, shut); begins && ends && !strings.ContainsAny(inner, quotes) {
			return strings.TrimSpace(inner)
		}
	}
	return s
}

// checkQuery returns an error for a text that is not a query for this question: it is empty, too long or has
// several lines, contains delimiters of prompts, or takes most of its words from outside the conversation.
func (t *turn) checkQuery(query string) error {
	switch {
	case query == "":
		return errors.New("the query is empty")
	case strings.Contains(query, "\n"):
		return errors.New("the query has several lines")
	case strings.ContainsAny(query, "{}") || prompt.HasMarks(query):
		return errors.New("the query has characters of a prompt in it")
	case utf8.RuneCountInString(query) > maxQueryRunes:
		return errors.New("the query is too long")
	}
	known := map[string]bool{}
	add := func(s string) {
		for _, term := range text.Terms(s) {
			known[term] = true
		}
	}
	add(t.asked)
	add(t.summary)
	gist, turns := t.shownTurns()
	for _, m := range slices.Concat(gist, turns, t.history) {
		add(m.Text())
	}
	terms := text.Terms(query)
	own := 0
	for _, term := range terms {
		if known[term] {
			own++
		}
	}
	if float64(own) < ownShare*float64(len(terms)) {
		return errors.New("the query is about something else")
	}
	return nil
}
