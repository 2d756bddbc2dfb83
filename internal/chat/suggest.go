package chat

import (
	"context"
	"fmt"

	"parley/internal/chat/cite"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// suggests reports whether the turn ends with follow-up questions. A refusal has none: the documents do not
// contain what the user asked for, and questions about something else would only distract from that.
func (t *turn) suggests() bool {
	return t.req.Options.FollowUps && !t.called && t.answers() && !text.IsRefusal(t.answer)
}

// runSuggest emits follow-up questions: those of the model, or else those of the SuggestFunc. Failing to
// find any does not fail the turn.
func (t *turn) runSuggest(ctx context.Context, out *output) (StageFinished, error) {
	var done StageFinished
	asked := append(t.previous[:len(t.previous):len(t.previous)], t.asked)
	questions := t.harmlessAll(cleanQuestions(t.suggested, asked))
	if len(questions) == 0 && t.cfg.Suggest != nil {
		own, err := t.suggest(ctx)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		if err != nil {
			t.cfg.Logger.Warn("no questions could be suggested", "turn_id", t.req.TurnID, "error", err)
			done.Note = "no questions could be suggested"
		}
		questions = t.harmlessAll(cleanQuestions(own, asked))
	}
	if len(questions) == 0 {
		return done, nil
	}
	return done, out.emit(FollowUpsSuggested{Questions: questions})
}

func (t *turn) suggest(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.SuggestTimeout)
	defer cancel()
	questions, err := t.cfg.Suggest(ctx, SuggestInput{
		Question: t.asked,
		Query:    t.query.Query,
		Answer:   t.answer,
		Passages: t.sent,
		Previous: t.previous,
		Search: func(ctx context.Context, text string, beside []retrieval.WeightedTerm) (retrieval.Result, error) {
			q := t.newQuery(text)
			q.Mode, q.Context = retrieval.Text, beside
			return t.lookUp(ctx, q)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("suggest questions: %w", err)
	}
	return questions, nil
}

// harmlessAll makes questions harmless in place, also for protocols that put them between angle
// brackets.
func (t *turn) harmlessAll(questions []string) []string {
	for i, q := range questions {
		questions[i] = cite.HarmlessInAngles(q, t.wasGiven)
	}
	return questions
}
