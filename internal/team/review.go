package team

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/ident"
)

// sentBack begins the reply of a reviewing model that rejects the answer.
const sentBack = "SEND BACK"

// checker is the model name of a reviewer that checks by rules.
const checker = "builtin:review"

// revise is added to the instructions of an agent whose answer was rejected.
const revise = "A reviewer has sent your first answer back; both are quoted above the question. " +
	"Write the whole answer anew and put right what the reviewer found. Cite only what the sources really say, " +
	"and leave out what no source says. Do not mention the review."

// answer runs an agent, and then its reviewer if it has one.
func (r *run) answer(m *member) (said, error) {
	ctx, cancel := r.within(m.Share / m.tail)
	defer cancel()
	req := r.requestOf(m)
	p := &part{run: r, agent: m.Name, hold: m.reviewer != nil}
	draft, err := p.speak(ctx, &req)
	if err != nil || m.reviewer == nil {
		return draft, err
	}
	if left, limited := r.left(); limited && left < m.reviewer.SkipBelow {
		r.cfg.Log.InfoContext(r.ctx, "agent skipped: time is short", "turn_id", r.req.TurnID, "agent", m.reviewer.Name)
		return draft, r.emit(draft.message)
	}
	return r.review(m, req, draft)
}

// leastRevision is the minimum time left for a revision. With less, no answer is sent back.
const leastRevision = 3 * time.Second

// review has the reviewer check a draft, and has the agent revise it if the reviewer rejects it.
func (r *run) review(m *member, req chat.Request, draft said) (said, error) {
	v := &verdict{run: r, reviewer: m.reviewer}
	if err := v.judge(req, draft); err != nil {
		return draft, r.emit(draft.message) // only the review failed; the answer remains valid
	}
	if left, limited := r.left(); !v.back || limited && left < leastRevision {
		if err := r.emit(draft.message); err != nil {
			return draft, err
		}
		return draft, v.finish()
	}
	req.Options.PromptTemplate = instruct(req.Options.PromptTemplate, revise)
	req.Heard = append(req.Heard[:len(req.Heard):len(req.Heard)],
		utterance(m.Name, draft.message.Text), utterance(v.reviewer.Name, v.message.Text))
	if req.Material == nil { // the revision uses the same passages instead of searching again
		req.Material = material(draft)
	}
	ctx, cancel := r.within(1)
	defer cancel()
	p := &part{run: r, agent: m.Name, draft: &draft.message}
	revised, err := p.speak(ctx, &req)
	if err == nil {
		err = v.say("\n\n" + v.second(revised))
	}
	return revised, errors.Join(err, v.finish())
}

func material(s said) *chat.Material {
	return &chat.Material{Query: s.query, Passages: s.passages, Terms: s.terms}
}

// verdict is a reviewer's message while it is being written.
type verdict struct {
	*run
	reviewer *Agent
	message  chat.MessageFinished
	back     bool // the answer is sent back
}

// judge checks a draft. If the engine has no doubts about it and the reviewer's model reads prompts, it asks that
// model. An error means that the reviewer's message has failed.
func (v *verdict) judge(req chat.Request, draft said) error {
	found := problems(draft.message)
	model := cmp.Or(v.reviewer.Model, req.Options.Models.Inference)
	if len(found) == 0 && !v.cfg.Builtin(model) {
		return v.ask(req, model, draft)
	}
	v.back = len(found) > 0
	v.message = chat.MessageFinished{
		ID: ident.New(), Agent: v.reviewer.Name, Status: chat.StatusCompleted,
		Citations: []chat.Citation{}, FinishReason: "stop", Model: checker,
	}
	started := chat.MessageStarted{ID: v.message.ID, Agent: v.reviewer.Name, Model: checker}
	if err := v.emit(started); err != nil {
		return err
	}
	if err := v.emit(chat.CompletionStarted{ID: v.message.ID, Model: checker}); err != nil {
		return err
	}
	if !v.back {
		return v.say(approval(draft.message))
	}
	return v.say("Sent back:\n- " + strings.Join(found, "\n- "))
}

// ask has the reviewer's model compare the draft with the sources. It leaves half of the remaining time for a
// revision.
func (v *verdict) ask(req chat.Request, model string, draft said) error {
	ctx, cancel := v.within(0.5)
	defer cancel()
	req.Options.Models.Inference, req.Options.UseTools = model, false
	req.Configured = req.Configured || v.reviewer.Model != ""
	req.Options.PromptTemplate = v.reviewer.Instructions
	req.Material = material(draft)
	req.Heard = []chat.Message{utterance(draft.message.Agent, draft.message.Text)}
	p := &part{run: v.run, agent: v.reviewer.Name, hold: true}
	judged, err := p.speak(ctx, &req)
	if err != nil {
		return err
	}
	v.message = judged.message
	opening := strings.TrimLeft(v.message.Text, " \n\t*_#\"")
	v.back = len(opening) >= len(sentBack) && strings.EqualFold(opening[:len(sentBack)], sentBack)
	return nil
}

// second returns the reviewer's verdict on the revision. A revision is not sent back again.
func (v *verdict) second(revised said) string {
	if found := problems(revised.message); len(found) > 0 {
		return "Still wrong in the second version:\n- " + strings.Join(found, "\n- ")
	}
	return "Second version: " + approval(revised.message)
}

func approval(m chat.MessageFinished) string {
	if len(m.Citations) == 0 {
		return "The answer has no citations to check."
	}
	return fmt.Sprintf("Citations checked: %d, all supported by the sources.", len(m.Citations))
}

func (v *verdict) say(text string) error {
	v.message.Text += text
	return v.emit(chat.TextDelta{ID: v.message.ID, Text: text})
}

func (v *verdict) finish() error { return v.emit(v.message) }
