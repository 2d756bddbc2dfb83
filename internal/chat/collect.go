package chat

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"parley/internal/chat/cite"
	"parley/internal/retrieval"
)

// Collect folds a stream into a Turn, which is never nil. On an error, the Turn contains the events
// before it, so that a partial answer can be saved. Messages that were still open then get the status
// failed or cancelled.
func Collect(events iter.Seq2[Event, error]) (*Turn, error) {
	t := &Turn{}
	for e, err := range events {
		if err != nil {
			status := StatusFailed
			if errors.Is(err, context.Canceled) {
				status = StatusCancelled
			}
			t.End(status)
			return t, err
		}
		t.Add(e)
	}
	return t, nil
}

// ToolsUsed returns the names of the tools that the server ran for a message, or for all messages when
// id is "", in the order of their first calls.
func (t *Turn) ToolsUsed(id string) (names []string) {
	for _, ran := range t.Tools {
		if (id == "" || ran.ID == id) && !slices.Contains(names, ran.Name) {
			names = append(names, ran.Name)
		}
	}
	return names
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
		t.Requested = cmp.Or(t.Requested, e.Model)
		m := &t.Messages[t.index(e.ID)]
		m.Agent, m.Model = e.Agent, e.Model
	case CompletionStarted:
		t.Messages[t.index(e.ID)].Model = e.Model
	case TextDelta:
		i := t.index(e.ID)
		t.said[i].WriteString(e.Text)
		t.Messages[i].Text = t.said[i].String()
	case ReasoningDelta:
		t.reasoned.WriteString(e.Text)
		t.Reasoning = t.reasoned.String()
	case ToolCalled:
		m := &t.Messages[t.index(e.ID)]
		m.ToolCalls = append(m.ToolCalls, e.Call)
	case ToolReturned:
		t.Tools = append(t.Tools, e)
	case MessageFinished:
		m := &t.Messages[t.index(e.ID)]
		e.Agent, e.Model = cmp.Or(e.Agent, m.Agent), cmp.Or(e.Model, m.Model)
		*m = e
	case FollowUpsSuggested:
		t.FollowUps = e.Questions
	case TurnFinished:
		t.Duration, t.Usage = e.Duration, e.Usage
	}
}

// index returns the index in t.Messages of the message with an id. It adds an open message if there is
// none.
func (t *Turn) index(id string) int {
	for i := range t.Messages { // by index: ranging over values would copy every message for each token
		if t.Messages[i].ID == id {
			return i
		}
	}
	t.Messages = append(t.Messages, MessageFinished{ID: id, Citations: []Citation{}})
	t.said = append(t.said, &strings.Builder{})
	return len(t.Messages) - 1
}

// End sets the status of messages that are still open, and finds the citations in their text.
func (t *Turn) End(status Status) {
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Status == "" {
			m.Status = status
			m.Citations = cite.Find(m.Text, t.Citable(m.ID))
		}
	}
}

// InPrompt returns the passages that the prompt contains, best first.
func (t *Turn) InPrompt() []retrieval.Passage {
	found := t.Retrieved.Passages
	return found[:min(len(t.Prompt.Sources)+t.Prompt.Pictured, len(found))]
}

// Citable returns the passages that a message may cite, in the order of the indices in its citations: those
// of the prompt, followed by those that tools returned.
func (t *Turn) Citable(id string) []retrieval.Passage {
	all := t.InPrompt()
	for _, ran := range t.Tools {
		if ran.ID != id {
			continue
		}
		for i := range ran.Found {
			all = withPassage(all, &ran.Found[i])
		}
	}
	return all
}

// withPassage appends p to a copy of all, unless all contains it or it has no place that could be cited.
func withPassage(all []retrieval.Passage, p *retrieval.Passage) []retrieval.Passage {
	same := func(have retrieval.Passage) bool { return have.Chunk.Key == p.Chunk.Key }
	if len(p.Chunk.Spans) == 0 || slices.ContainsFunc(all, same) {
		return all
	}
	return append(slices.Clip(all), *p)
}
