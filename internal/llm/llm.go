// Package llm is the contract between the pipeline and models: a Model turns one Request into
// one stream of Chunks. Providers live in their own packages below this one; their SDK or wire
// types stay there. Keys have the form "provider:model" (see Router).
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Role says who speaks a message.
type Role string

// The roles of a message.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Part is one piece of a message's content: text, or an image when Image is set.
type Part struct {
	Text  string // UTF-8 text; empty for an image
	Image string // a data: or https: URL of an image; empty for text
}

// Message is one utterance sent to or received from a model.
type Message struct {
	Role       Role
	Parts      []Part
	ToolCalls  []ToolCall // what an assistant message asks to run
	ToolCallID string     // the call that a tool message answers
}

// Text returns a message with a single text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// Text returns the text parts of m, concatenated.
func (m Message) Text() string {
	if len(m.Parts) == 1 {
		return m.Parts[0].Text
	}
	var s string
	for _, p := range m.Parts {
		s += p.Text
	}
	return s
}

// Tool describes a function that a model may ask to call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it; not validated
	Signature string // the provider's own, to be given back with the call; "" for most
}

// What Request.ToolChoice can be beside the name of a tool, which therefore no tool may have.
const (
	ToolsNone     = "none"     // call none, though there are some
	ToolsRequired = "required" // call at least one
)

// MaxStop is how many texts there may be in Request.Stop, which is what every provider takes.
const MaxStop = 4

// Request asks a model for one completion.
type Request struct {
	Model           string // the provider's own model name, without the provider prefix
	Messages        []Message
	Tools           []Tool
	ToolChoice      string   // "" for as the model likes, ToolsNone, ToolsRequired, or the name of one of Tools
	Temperature     float64  // in [0, 2]
	TopP            float64  // 0 means the provider's default
	MaxOutputTokens int      // 0 means the provider's default
	Stop            []string // texts before which the completion is to end; at most MaxStop, none empty
	// Effort is how long a model that reasons is to do so: minimal, low, medium or high; "" means
	// its default. Models that do not reason are asked without it.
	Effort string
	// Schema is the JSON Schema of an object that the answer is to be; nil means any text.
	Schema   json.RawMessage
	Evidence *Evidence
	// Within returns the messages for a model that reads and writes no more tokens than that, nil where
	// Messages are what there is. Nil knows no others.
	Within func(tokens int) []Message
	// Whole says that nobody waits for the pieces of the completion: texts that have come at once may be
	// one chunk.
	Whole bool
}

// Evidence is the material of a grounded answer in structured form. Models that read prompts
// ignore it, since the same passages stand in Messages; builtin:extractive answers from it alone.
type Evidence struct {
	Question string    // the user's question as asked
	Query    string    // the standalone form of it
	Terms    []Term    // the analysed terms of the query, with what the index knows of them
	Passages []Passage // best first
	Previous []string  // questions asked before in this conversation, oldest first
	Missing  string    // why documents may be missing from what was searched, in sentences for the user; "" when nothing is known of that
}

// Term is one analysed term of a query.
type Term struct {
	Text   string  // as it stands in the index (stemmed, folded)
	Word   string  // as it stood in the query
	Weight float64 // 1 for a term of the question, less for a term of the context
	IDF    float64 // inverse document frequency in the searched namespace; the maximum when unseen
	Known  bool    // false when no searchable chunk holds the term
	Other  bool    // another form of the term before it: one of them is enough
	Like   bool    // a word of like meaning for the term before it
}

// Passage is a piece of text that may be quoted and cited.
type Passage struct {
	Text     string
	Marks    []Mark // ascending by Offset; the first has Offset 0
	Score    float64
	Title    string
	Headings []string
	Part     int // position among the pieces of its document, from 0
	Parts    int // how many pieces the document has; 0 when that is not known
}

// Mark says that Text from byte Offset on, up to the next mark, is cited as Citation.
type Mark struct {
	Offset   int
	Citation string // for example "handbook.pdf#page=3"
}

// CitationAt returns the citation of the byte at offset, "" for a passage without marks.
func (p Passage) CitationAt(offset int) string {
	c := ""
	for _, m := range p.Marks {
		if m.Offset > offset {
			break
		}
		c = m.Citation
	}
	return c
}

// Chunk is one increment of a completion. Any field may be zero; Model is set on the first
// chunk at the latest, FinishReason and Usage on the last ones.
type Chunk struct {
	Text         string
	Reasoning    string
	ToolCalls    []ToolCall
	Model        string // the model that really answers, as the upstream names it
	FinishReason string // stop, length, tool_calls, content_filter
	Usage        *Usage
	Vendor       *Vendor
}

// Vendor carries upstream fields that a protocol passes through verbatim.
type Vendor struct {
	ID                  string          // the upstream's completion id
	SystemFingerprint   string          // "" when the upstream sent none
	ContentFilter       json.RawMessage `json:",omitempty"` // Azure OpenAI: choices[0].content_filter_results
	PromptFilterResults json.RawMessage `json:",omitempty"` // Azure OpenAI: prompt_filter_results
}

// Usage counts tokens of one or more completions.
type Usage struct {
	Input     int  `json:"input"`     // prompt tokens, cached ones included
	Output    int  `json:"output"`    // completion tokens, reasoning included
	Cached    int  `json:"cached"`    // the part of Input that was served from a cache
	Reasoning int  `json:"reasoning"` // the part of Output spent on reasoning
	Estimated bool `json:"estimated"` // true when Parley counted, not the upstream
}

// Add returns the sum of u and v; an estimate in either makes the sum an estimate.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:     u.Input + v.Input,
		Output:    u.Output + v.Output,
		Cached:    u.Cached + v.Cached,
		Reasoning: u.Reasoning + v.Reasoning,
		Estimated: u.Estimated || v.Estimated,
	}
}

// Model makes completions.
type Model interface {
	// Stream starts one completion. The sequence ends after the last chunk or with one error,
	// which is terminal; an error before the first chunk means that nothing was produced. It can
	// be ranged once. Cancelling ctx, or breaking out of the range, ends the upstream call.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Start returns m.Stream(ctx, *req). A request is large, and a copy of it in the caller's frame would take
// stack for as long as the stream lasts, once for each Model.
//
//go:noinline
func Start(ctx context.Context, m Model, req *Request) iter.Seq2[Chunk, error] {
	return m.Stream(ctx, *req)
}

// ModelInfo is what a provider says of one of its models.
type ModelInfo struct {
	Name    string // as in Request.Model
	Context int    // tokens that fit into the prompt; 0 when the provider does not say
	Embeds  bool   // the provider says that it is a model that embeds
}

// Lister is a provider that can say which models it has, and so whether it can be reached.
type Lister interface {
	Models(ctx context.Context) ([]ModelInfo, error)
}

// Error is what providers return for an upstream's refusal or fault.
type Error struct {
	Status     int           // the upstream's HTTP status, 0 when there was none
	Retryable  bool          // the same call may succeed later
	Silent     bool          // the upstream has had its time: another attempt would take as long again
	Filtered   bool          // a content filter refused the prompt or the answer
	Miscalled  bool          // the model called a tool in a form that its server cannot read
	Reason     Reason        // what the upstream's error object told; see Why
	RetryAfter time.Duration // what the upstream asked for; 0 when it did not
	Err        error         // internal text: for logs, never for clients
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
