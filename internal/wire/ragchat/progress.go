package ragchat

import (
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

// The names of processing steps, which clients show unchanged.
const (
	stepRewrite   = "Query Rewrite"
	stepRetrieve  = "Retrieve Vectors"
	stepRerank    = "Rerank Retrieval Results"
	stepNoRerank  = "Skipping Rerank"
	stepSummarize = "Summarize Chat History"
	stepWeb       = "Establish Web Context"
	stepPrompt    = "Inference Context Assembly"
	stepGenerate  = "Generating Response"
	stepTools     = "Tool Calls"
	stepTool      = "Calling Tool: " // followed by the tool's name
	stepSynthesis = "Generating Responses with Tools"
	stepClarify   = "Clarification Needed"
	stepFinal     = "Final Answer"
	stepDone      = "Done"
)

// view is the part of a request that determines how its answer and its steps are shown.
type view struct {
	showSteps   bool
	showSources bool
	renderHTML  bool
	webSearch   bool
	noWeb       string // why the web is not searched although requested; "" if it can be
	rewrites    bool
	base        string // URL of the server, for links
	home        string // its namespace
	namespace   string // the namespace to search
}

// progress converts the events of a turn to processing steps, and folds them into the turn. It is not safe for
// concurrent use.
type progress struct {
	*view
	id     string // the query id
	ranked bool   // the reranker has run
	turn   chat.Turn
	ended  bool
}

// observe returns the steps for an event, in the order in which they are sent.
func (p *progress) observe(n chat.Numbered) [][]byte {
	var steps [][]byte
	step := func(name string, more ...byte) {
		if p.showSteps {
			steps = append(steps, p.event(n.At, name, more...))
		}
	}
	switch e := n.Event.(type) {
	case nil, chat.TextDelta, chat.ReasoningDelta:
		return nil // the end of the message repeats the text
	case chat.StageStarted:
		p.stage(e.Stage, step)
	case chat.ToolStarted:
		step(stepTool + e.Call.Name)
	case chat.ClarificationNeeded:
		step(stepClarify)
	case chat.TurnFinished:
		p.ended = true
	}
	p.turn.Add(n.Event)
	return steps
}

func (p *progress) stage(s chat.Stage, step func(name string, more ...byte)) {
	switch s {
	case chat.StageRewrite:
		if p.rewrites {
			step(stepRewrite)
		}
	case chat.StageRetrieve:
		step(stepRetrieve)
	case chat.StageRerank:
		p.ranked = true
		step(stepRerank)
	case chat.StageSummarize:
		step(stepSummarize)
	case chat.StagePrompt:
		if !p.ranked {
			step(stepNoRerank)
		}
		switch {
		case p.webSearch && p.noWeb == "":
			step(stepWeb)
		case p.webSearch:
			step(stepWeb, wire.AppendString([]byte(`,"status":`), p.noWeb)...)
		}
		step(stepPrompt)
	case chat.StageGenerate:
		step(stepGenerate)
	case chat.StageTools:
		step(stepTools)
	case chat.StageSynthesize:
		step(stepSynthesis)
	}
}

// event returns a step as JSON. more is JSON that is appended to the common members.
func (p *progress) event(at time.Time, name string, more ...byte) []byte {
	b := wire.AppendString([]byte(`{"type":"stage","stage":`), name)
	b = wire.AppendString(append(b, `,"id":`...), p.id)
	b = strconv.AppendFloat(append(b, `,"ts":`...), float64(at.UnixMicro())/1e6, 'f', 6, 64)
	return append(append(b, more...), '}')
}

// last returns the last steps of a run, with its answer or the sentence of its error.
func (p *progress) last(r *stepRun) [][]byte {
	text, html := r.fail, (*string)(nil)
	if r.ok && p.ended {
		text, html = p.answer(&p.turn)
	}
	final := wire.AppendString([]byte(`,"final":true,"finalContent":`), text)
	final = append(final, `,"finalHtml":`...)
	if html == nil {
		final = append(final, `null`...)
	} else {
		final = wire.AppendString(final, *html)
	}
	return [][]byte{p.event(r.at, stepFinal, final...), p.event(r.at, stepDone, []byte(`,"final":true`)...)}
}

// answer returns the answer of a turn with its sources, and its HTML if requested.
func (v *view) answer(t *chat.Turn) (text string, html *string) {
	m := t.Messages[len(t.Messages)-1]
	text = m.Text
	if v.showSources {
		text += v.sourceBlock(t, m)
	}
	if v.renderHTML {
		rendered := renderHTML(text)
		html = &rendered
	}
	return text, html
}
