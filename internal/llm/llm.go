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

// Role is the role of a message's speaker.
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
	ToolCalls  []ToolCall // the calls that an assistant message asks for
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
	Signature string // set by the provider, and returned to it with the call; "" for most
}

// The values of Request.ToolChoice other than the name of a tool. No tool may have these names.
const (
	ToolsNone     = "none"     // call no tool, although there are some
	ToolsRequired = "required" // call at least one tool
)

// MaxStop is the maximum length of Request.Stop, which every provider accepts.
const MaxStop = 4

// Request asks a model for one completion.
type Request struct {
	Model           string // the provider's own model name, without the provider prefix
	Messages        []Message
	Tools           []Tool
	ToolChoice      string   // "" lets the model decide; otherwise ToolsNone, ToolsRequired, or the name of one of Tools
	Temperature     float64  // in [0, 2]
	TopP            float64  // 0 means the provider's default
	MaxOutputTokens int      // 0 means the provider's default
	Stop            []string // the completion ends before the first of these texts; at most MaxStop, none empty
	// Effort is the reasoning effort: minimal, low, medium or high; "" means the model's default. It is
	// not sent to models that do not reason.
	Effort string
	// Schema is the JSON Schema of the answer, which is an object; nil means a text answer.
	Schema   json.RawMessage
	Evidence *Evidence
	// Within returns the messages for a model with a context of that many tokens, or nil if Messages is
	// the only version. Optional.
	Within func(tokens int) []Message
	// Whole says that the completion is not streamed to anybody: adjacent texts may be merged into one
	// chunk.
	Whole bool
}

// Evidence is the material of a grounded answer in structured form. Models that read prompts ignore it,
// since Messages contains the same passages; builtin:extractive answers from it alone.
type Evidence struct {
	Question string    // the user's question as asked
	Query    string    // the standalone form of the question
	Terms    []Term    // the analysed terms of the query, with their statistics in the index
	Passages []Passage // best first
	Previous []string  // earlier questions of this conversation, oldest first
	Missing  string    // why documents may be missing from the search, in sentences for the user; "" if none are known to be missing

	// Documents returns the names of some documents that the user may ask about, and the number of all of them. Optional.
	Documents func(ctx context.Context) (names []string, total int) `json:"-"`
}

// Term is one analysed term of a query.
type Term struct {
	Text   string  // as in the index (stemmed, folded)
	Word   string  // as in the query
	Weight float64 // 1 for a term of the question, less for a term of the context
	IDF    float64 // inverse document frequency in the searched namespace; the maximum if Known is false
	Known  bool    // some searchable chunk contains the term
	Other  bool    // an inflected form of the preceding term; matching either counts
	Like   bool    // a word of similar meaning to the preceding term
}

// Passage is a piece of text that may be quoted and cited.
type Passage struct {
	Text     string
	Marks    []Mark  // ascending by Offset; the first has Offset 0
	Score    float64 // in [0, 1], in relation to the best passage
	Title    string
	Headings []string
	Part     int // index among the pieces of its document
	Parts    int // number of pieces of the document; 0 if unknown
}

// Mark says that Text from byte Offset up to the next mark is cited as Citation.
type Mark struct {
	Offset   int
	Citation string // for example "handbook.pdf#page=3"
}

// CitationAt returns the citation of the byte at offset, or "" for a passage without marks.
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

// Chunk is one increment of a completion. Any field may be zero. Model is set no later than in the first
// chunk, and FinishReason and Usage in the last ones.
type Chunk struct {
	Text         string
	Reasoning    string
	ToolCalls    []ToolCall
	Model        string // the model that answers, as the upstream names it
	FinishReason string // stop, length, tool_calls, content_filter
	Usage        *Usage
	Vendor       *Vendor
}

// Vendor carries upstream fields that a protocol passes through verbatim.
type Vendor struct {
	ID                  string          // the upstream's completion id
	SystemFingerprint   string          // "" if the upstream sent none
	ContentFilter       json.RawMessage `json:",omitempty"` // Azure OpenAI: choices[0].content_filter_results
	PromptFilterResults json.RawMessage `json:",omitempty"` // Azure OpenAI: prompt_filter_results
}

// Usage counts tokens of one or more completions.
type Usage struct {
	Input     int  `json:"input"`     // prompt tokens, cached ones included
	Output    int  `json:"output"`    // completion tokens, reasoning included
	Cached    int  `json:"cached"`    // the part of Input that came from a cache
	Reasoning int  `json:"reasoning"` // the part of Output spent on reasoning
	Estimated bool `json:"estimated"` // counted by Parley, not reported by the upstream
	// Seconds are the length of a recording. Later they show only in the cost of the call.
	Seconds int `json:"-"`
}

// Add returns the sum of u and v; an estimate in either makes the sum an estimate.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:     u.Input + v.Input,
		Output:    u.Output + v.Output,
		Cached:    u.Cached + v.Cached,
		Reasoning: u.Reasoning + v.Reasoning,
		Seconds:   u.Seconds + v.Seconds,
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

// Start returns m.Stream(ctx, *req). A request is large; a copy in the caller's frame would occupy stack
// for as long as the stream lasts, once for each nested Model.
//
//go:noinline
func Start(ctx context.Context, m Model, req *Request) iter.Seq2[Chunk, error] {
	return m.Stream(ctx, *req)
}

// ModelInfo is a provider's description of one of its models.
type ModelInfo struct {
	Name    string // as in Request.Model
	Context int    // maximum tokens of the prompt; 0 if the provider does not say
	Embeds  bool   // the provider says that the model embeds
}

// Lister is a provider that can list its models, which also shows whether it can be reached.
type Lister interface {
	Models(ctx context.Context) ([]ModelInfo, error)
}

// Error is a provider's error: a refusal or failure of the upstream.
type Error struct {
	Status     int           // the upstream's HTTP status; 0 if there was none
	Retryable  bool          // the same call may succeed later
	Silent     bool          // the upstream did not answer in time: another attempt would take as long again
	Filtered   bool          // a content filter refused the prompt or the answer
	Miscalled  bool          // the model called a tool in a form that the model's server cannot read
	Reason     Reason        // according to the upstream's error object; see Why
	RetryAfter time.Duration // as requested by the upstream; 0 if it did not say
	Err        error         // for logs, never for clients
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
