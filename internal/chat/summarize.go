package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
)

// The limits of a summary, unless the request sets them.
const (
	summaryInput  = 8000 // tokens summarized at a time
	summaryOutput = 400  // tokens of the summary
	// output tokens in addition, for a model that reasons
	summaryReasoning = 1000
	maxSummaryRunes  = 5 * MaxSummaryOutput // of a summary in a request to a model
)

// summarizes reports whether a model summarizes the messages that do not fit.
func (t *turn) summarizes() bool {
	return t.summarizer.Model != nil && slices.ContainsFunc(t.older, func(m Message) bool { return m.Role == llm.User })
}

// runSummarize summarizes the messages that are left out. It extends the summary of an earlier turn by the
// messages that were left out since then, and reuses it unchanged if there are none. If the model fails, the
// turn keeps the earlier summary and goes on without the later messages.
func (t *turn) runSummarize(ctx context.Context, _ *output) (StageFinished, error) {
	keys := t.prefixKeys()
	earlier, covered := t.summaries.longest(keys)
	t.summary = earlier
	left := t.older[covered:]
	if len(left) == 0 {
		return StageFinished{Note: "an earlier turn's summary covers all messages"}, nil
	}
	req, shown, err := t.summaryRequest(earlier, left, t.windowOf(ctx, t.summarizer))
	if err != nil {
		return StageFinished{}, err
	}
	reply, err := t.ask(ctx, t.summarizer, t.cfg.SummaryTimeout, req)
	if ctx.Err() != nil {
		return StageFinished{}, ctx.Err()
	}
	done := StageFinished{Model: reply.Model, Usage: reply.Usage}
	text := clip(strings.TrimSpace(prompt.Visible(unfence(reply.Text))), 5*t.summaryTokens())
	if err == nil && text == "" {
		err = errors.New("the summary is empty")
	}
	if err != nil {
		t.cfg.Logger.Warn("no summary", "turn_id", t.req.TurnID, "model", t.summarizer.key, "error", err)
		done.Note = fmt.Sprintf("%d messages are left out, because %s failed", len(left), t.summarizer.key)
		return done, nil
	}
	t.summary = text
	t.summaries.put(keys[len(keys)-1], text)
	done.Note = fmt.Sprintf("summarized %d messages", shown)
	if shown < len(left) {
		done.Note += fmt.Sprintf("; %d before them are left out", len(left)-shown)
	}
	return done, nil
}

func (t *turn) summaryTokens() int {
	if n := t.req.Options.Summary.Output; n > 0 {
		return n
	}
	return summaryOutput
}

// summaryRequest returns the request for a summary of messages and of the earlier summary. If the messages
// are too long together, it contains only the last ones. shown is the number of messages in it.
func (t *turn) summaryRequest(earlier string, messages []Message, w window) (req llm.Request, shown int, err error) {
	words := max(t.summaryTokens()*3/4, 1)
	system, err := t.cfg.Prompts.Summary(t.req.Options.PromptDomain, words)
	if err != nil {
		return req, 0, fmt.Errorf("render the prompt for summaries: %w", err)
	}
	budget := cmp.Or(t.req.Options.Summary.Input, summaryInput)
	budget = w.share(budget, 2)
	maxRunes := budget // of one message: a token is rarely shorter than a character
	from := len(messages)
	for from > 0 {
		if budget -= min(t.tokens(&messages[from-1]), maxRunes); budget < 0 && from < len(messages) {
			break
		}
		from--
	}
	var b strings.Builder
	if earlier != "" {
		b.WriteString("Summary of what came before:\n")
		quoteLine(&b, "", earlier, maxSummaryRunes)
		b.WriteByte('\n')
	}
	b.WriteString("Messages:\n")
	for _, m := range messages[from:] {
		if m.Text() == "" {
			continue
		}
		quoteLine(&b, speaker(m.Role), m.Text(), maxRunes)
	}
	return llm.Request{
		Messages: []llm.Message{
			llm.Text(llm.System, system),
			llm.Text(llm.User, strings.TrimSpace(b.String())),
		},
		MaxOutputTokens: w.share(t.summaryTokens()+summaryReasoning, 4),
		Effort:          "low",
	}, len(messages) - from, nil
}
