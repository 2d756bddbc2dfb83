package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/chat/cite"
	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// verify finds the citations of a finished answer, and those that their pages do not support. It compares
// words and, if a judge is configured, asks the judge.
func (a *answer) verify(ctx context.Context) error {
	review := a.stream.Review(a.done.Text, a.asked+"\n"+a.query.Query)
	key := cmp.Or(a.req.Options.Models.Judge, a.cfg.Defaults.Models.Judge)
	if key != "" && !a.cfg.Grounded(key) && review.Judgeable() {
		judged := func(ctx context.Context, _ *output) (StageFinished, error) {
			return a.judge(ctx, key, review), nil
		}
		if err := a.runStage(ctx, a.out, stage{name: StageVerify, run: judged}); err != nil {
			return err
		}
	}
	a.done.Citations, a.done.Doubts = review.Result()
	return nil
}

// judge asks a model which citations are not supported by their pages.
func (a *answer) judge(ctx context.Context, key string, review *cite.Review) (done StageFinished) {
	m, err := a.resolve(StageVerify, key)
	if err == nil {
		var reply llm.Completion
		instructions := a.cfg.Prompts.Text(a.req.Options.PromptDomain, prompt.Judge)
		reply, err = a.ask(ctx, m, a.cfg.JudgeTimeout, review.Question(instructions, a.cfg.Count))
		done.Model, done.Usage = reply.Model, reply.Usage
		if err == nil {
			err = review.Verdict(reply.Text)
		}
	}
	if err != nil {
		a.cfg.Logger.Warn("citations could not be judged", "turn_id", a.req.TurnID, "model", key, "error", err)
		done.Note = fmt.Sprintf("citations are checked by their words only, because %s failed", key)
	}
	return done
}

// wasTold reports whether the model was shown a text, so that it cannot have made it up: by the user in
// this conversation, in a passage, as the URL of a passage's document, or in the result of a tool.
func (a *answer) wasTold(s string) bool {
	return a.wasGiven(s) || s != "" && (slices.ContainsFunc(a.sent, func(p retrieval.Passage) bool {
		return strings.Contains(p.Chunk.Text, s) || p.Document.URL == s
	}) || slices.ContainsFunc(a.behind, func(m llm.Message) bool {
		return m.Role == llm.ToolRole && strings.Contains(m.Text(), s)
	}))
}

// wasGiven reports whether the user wrote a text in this conversation.
func (t *turn) wasGiven(s string) bool {
	return s != "" && (strings.Contains(t.asked, s) || slices.ContainsFunc(t.history, func(m Message) bool {
		return m.Role == llm.User && strings.Contains(m.Text(), s)
	}))
}
