package ragchat

import (
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

// The names of processing steps, which clients show as they are.
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
	stepTool      = "Calling Tool: " // and its name
	stepSynthesis = "Generating Responses with Tools"
	stepClarify   = "Clarification Needed"
	stepFinal     = "Final Answer"
	stepDone      = "Done"
)

// progress turns the events of a turn into its processing steps. It is used by one goroutine.
type progress struct {
	run    *stepRun // nil when the request has no query id
	id     string   // the query id
	now    func() time.Time
	x      *exchange
	ranked bool // the reranker ran
}

// observe adds the steps that an event stands for.
func (p *progress) observe(e chat.Event) {
	if p.run == nil || !p.x.showSteps {
		return
	}
	switch e := e.(type) {
	case chat.StageStarted:
		p.stage(e.Stage)
	case chat.ToolStarted:
		p.step(stepTool + e.Call.Name)
	case chat.ClarificationNeeded:
		p.step(stepClarify)
	}
}

func (p *progress) stage(s chat.Stage) {
	switch s {
	case chat.StageRewrite:
		if !p.x.req.Options.Rewrite.Off {
			p.step(stepRewrite)
		}
	case chat.StageRetrieve:
		p.step(stepRetrieve)
	case chat.StageRerank:
		p.ranked = true
		p.step(stepRerank)
	case chat.StageSummarize:
		p.step(stepSummarize)
	case chat.StagePrompt:
		if !p.ranked {
			p.step(stepNoRerank)
		}
		if p.x.webSearch {
			p.webContext()
		}
		p.step(stepPrompt)
	case chat.StageGenerate:
		p.step(stepGenerate)
	case chat.StageTools:
		p.step(stepTools)
	case chat.StageSynthesize:
		p.step(stepSynthesis)
	}
}

// webContext is the step of a turn that is to search the web, with why it cannot where it cannot.
func (p *progress) webContext() {
	if p.x.noWeb == "" {
		p.step(stepWeb)
		return
	}
	p.step(stepWeb, wire.AppendString([]byte(`,"status":`), p.x.noWeb)...)
}

func (p *progress) step(name string, more ...byte) {
	p.run.add(p.event(name, more...))
}

// event returns a step; more is what stands behind its common members.
func (p *progress) event(name string, more ...byte) []byte {
	b := wire.AppendString([]byte(`{"type":"stage","stage":`), name)
	b = wire.AppendString(append(b, `,"id":`...), p.id)
	b = strconv.AppendFloat(append(b, `,"ts":`...), float64(p.now().UnixMicro())/1e6, 'f', 6, 64)
	return append(append(b, more...), '}')
}

// finish ends the steps of a turn with its answer, or with the sentence of its error.
func (p *progress) finish(answer string, html *string) {
	if p.run == nil {
		return
	}
	final := wire.AppendString([]byte(`,"final":true,"finalContent":`), answer)
	final = append(final, `,"finalHtml":`...)
	if html == nil {
		final = append(final, `null`...)
	} else {
		final = wire.AppendString(final, *html)
	}
	p.run.end(p.event(stepFinal, final...), p.event(stepDone, []byte(`,"final":true`)...))
}
