package chat

import "iter"

// Collect folds a stream into a Turn. With an error it returns what had come before it, so that
// a partial answer can be saved; the Turn is never nil.
func Collect(events iter.Seq2[Event, error]) (*Turn, error) {
	t := &Turn{}
	for e, err := range events {
		if err != nil {
			return t, err
		}
		t.Add(e)
	}
	return t, nil
}

// Add folds one event into the turn.
func (t *Turn) Add(e Event) {
	switch e := e.(type) {
	case StageFinished:
		t.Stages = append(t.Stages, e)
	case QueryRewritten:
		t.Rewrite = e
	case PassagesRetrieved:
		t.Retrieved = e
	case PromptBuilt:
		t.Prompt = e
	case MessageStarted:
		if t.Requested == "" {
			t.Requested = e.Model
		}
	case ReasoningDelta:
		t.Reasoning += e.Text
	case MessageFinished:
		t.Messages = append(t.Messages, e)
	case FollowUpsSuggested:
		t.FollowUps = e.Questions
	case TurnFinished:
		t.Duration, t.Usage = e.Duration, e.Usage
	}
}
