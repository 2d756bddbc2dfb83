// Package chat is the core of Parley: an Engine runs the pipeline for one turn and emits one
// typed stream of events, which protocol adapters render.
//
// # The contract of the stream
//
//  1. A rejected request is the first item of the stream, an error with no event before it, so
//     that it still gets its own status code.
//  2. What ends the turn is a terminal error. What ends one agent's message is MessageFinished
//     with StatusFailed, and the other agents go on.
//  3. Order holds per message; stages may nest; TurnFinished is the last event.
//  4. A reply that is not streamed is the fold of the stream (Collect): there is one pipeline.
//  5. Events have one versioned JSON encoding (MarshalEvent).
//
// The engine neither saves nor bills: the turn package does, from the events alone.
package chat

import (
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Message is one utterance of a conversation.
type Message struct {
	ID        string
	Role      llm.Role
	Agent     string // which agent spoke, in multi-agent chats
	Parts     []llm.Part
	Citations []Citation // a snapshot: readable after the documents have changed
	Tokens    int        // counted once, 0 when not counted
	CreatedAt time.Time  // UTC
}

// Text returns the text parts of m, concatenated.
func (m Message) Text() string { return llm.Message{Parts: m.Parts}.Text() }

// TextMessage returns a message with a single text part.
func TextMessage(role llm.Role, text string) Message {
	return Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// Request is one turn to run.
type Request struct {
	TurnID         string // ULID; the turn runner sets it
	Principal      access.Principal
	Namespace      string
	ConversationID string    // "" for a stateless turn; else Messages is put after what is stored
	Messages       []Message // oldest first; the last user message is the question
	Options        Options

	Team     bool      // the team of agents answers, where there is one (package team)
	Material *Material // what one agent of a team answers from; nil: what it finds
	Heard    []Message // what other agents of the team have said to the question; Agent names them
}

// Material is what an agent of a team answers from in place of what it would have to find: others
// have searched for it.
type Material struct {
	Query    QueryRewritten
	Passages []retrieval.Passage // best first
	Terms    []retrieval.Term    // see PassagesRetrieved
}

// Options is what a caller may set for one turn, resolved to plain values: adapters overlay a
// request on Engine.Defaults.
type Options struct {
	Top             int            // passages to retrieve, 1–50
	Mode            retrieval.Mode // text, vectors, hybrid
	Rerank          bool
	Captions        bool
	FollowUps       bool    // suggest follow-up questions
	MinScore        float64 // passages below it are left out, in [0, 1]
	MinRerankScore  float64 // the same on the reranker's score, where there is one
	IncludeCategory string
	ExcludeCategory string
	RequireUser     bool // see retrieval.Filter
	RequireGroup    bool
	PromptTemplate  string // ">>>text" is put after the default instructions, other text replaces them
	Temperature     float64
	TopP            float64 // 0 means the provider's default
	MaxOutputTokens int     // 0 means the provider's default
	Images          ImageInput
	Models          Models
}

// ImageInput says what of a document goes to a vision model.
type ImageInput string

// The image inputs. ImagesOff is the zero value.
const (
	ImagesOff     ImageInput = ""
	TextAndImages ImageInput = "textAndImages"
	ImagesOnly    ImageInput = "images"
)

// Models names the model of each stage as "provider:model"; "" means the stage's default.
type Models struct {
	Inference string
}

// Status says how a turn or a message ended.
type Status string

// The statuses.
const (
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled" // the client left
)

// Stage names a stage of the pipeline.
type Stage string

// The stages.
const (
	StageHistory  Stage = "history"
	StageRewrite  Stage = "rewrite"
	StageRetrieve Stage = "retrieve"
	StagePrompt   Stage = "prompt"
	StageGenerate Stage = "generate"
	StageSuggest  Stage = "suggest"
)

// Citation is a passage, or a page of one, that an answer points to.
type Citation struct {
	Label      string `json:"label"` // as it stands in the answer between brackets: "a/b.pdf#page=3"
	DocumentID string `json:"document_id"`
	Name       string `json:"name"` // retrieval.Document.Name
	Title      string `json:"title"`
	URL        string `json:"url"`     // of the original elsewhere; "" when only under /content/
	Page       int    `json:"page"`    // 0 where the format has no pages
	Passage    int    `json:"passage"` // index into PassagesRetrieved.Passages
	Snippet    string `json:"snippet"` // the beginning of the passage
}

// Event is one step of a turn: one of the types below.
type Event interface{ event() }

// StageStarted says that a stage began.
type StageStarted struct {
	Stage Stage  `json:"stage"`
	Agent string `json:"agent,omitempty"` // whose stage it is, in multi-agent chats
}

// StageFinished says that a stage ended well.
type StageFinished struct {
	Stage    Stage         `json:"stage"`
	Agent    string        `json:"agent,omitempty"` // see StageStarted
	Duration time.Duration `json:"duration"`        // nanoseconds
	Model    string        `json:"model,omitempty"`
	Usage    llm.Usage     `json:"usage"`
	Note     string        `json:"note,omitempty"` // what people should know, e.g. a fallback
}

// QueryRewritten carries the standalone form of the question.
type QueryRewritten struct {
	Original   string                   `json:"original"`
	Query      string                   `json:"query"` // equals Original when not Rewritten
	Rewritten  bool                     `json:"rewritten"`
	Confidence float64                  `json:"confidence"` // in [0, 1]; 0 when nothing was tried
	Reason     string                   `json:"reason"`
	Context    []retrieval.WeightedTerm `json:"context,omitempty"`
}

// PassagesRetrieved carries what was found, best first.
type PassagesRetrieved struct {
	Mode      retrieval.Mode      `json:"mode"` // what was really used
	HasVector bool                `json:"has_vector"`
	Captions  bool                `json:"captions"`
	Matched   int                 `json:"matched"`
	Passages  []retrieval.Passage `json:"passages"`
	Terms     []retrieval.Term    `json:"terms,omitempty"` // of the query, as the index knows them
}

// PromptBuilt carries the messages that the model is given.
type PromptBuilt struct {
	Model    string        `json:"model"`   // the requested model, "provider:model"
	Sources  []string      `json:"sources"` // "<citation>: <content>", one a passage, as in Messages
	Labels   []string      `json:"labels"`  // every citation that the passages allow, in order
	Messages []llm.Message `json:"messages"`
}

// MessageStarted says that an answer begins: everything before the model's first token is known.
type MessageStarted struct {
	ID       string `json:"id"`
	Agent    string `json:"agent,omitempty"`
	Model    string `json:"model"`              // the requested model, without the provider unless that is builtin
	Replaces string `json:"replaces,omitempty"` // the message that the agent takes back for this one; it fails
}

// CompletionStarted names the model that really answers, as its provider does; a built-in one has
// its key, "builtin:extractive". It comes before the message's first delta.
type CompletionStarted struct {
	ID     string      `json:"id"`
	Model  string      `json:"model"`
	Vendor *llm.Vendor `json:"vendor,omitempty"`
}

// TextDelta is a piece of an answer, never empty.
type TextDelta struct {
	ID     string      `json:"id"`
	Text   string      `json:"text"`
	Vendor *llm.Vendor `json:"vendor,omitempty"`
}

// ReasoningDelta is a piece of a model's reasoning, never empty.
type ReasoningDelta struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// MessageFinished ends a message. Text is the concatenation of its deltas.
type MessageFinished struct {
	ID           string      `json:"id"`
	Agent        string      `json:"agent,omitempty"`
	Status       Status      `json:"status"`
	Text         string      `json:"text"`
	Citations    []Citation  `json:"citations"`             // in order of first appearance
	Unsupported  []string    `json:"unsupported,omitempty"` // labels in the text that no passage has
	FinishReason string      `json:"finish_reason"`         // stop, length, content_filter
	Model        string      `json:"model"`                 // see CompletionStarted
	Usage        llm.Usage   `json:"usage"`
	Vendor       *llm.Vendor `json:"vendor,omitempty"`
	Err          *Error      `json:"-"` // why it failed; only with StatusFailed
}

// FollowUpsSuggested carries questions that the user may ask next; only when asked for, and
// never empty.
type FollowUpsSuggested struct {
	Questions []string `json:"questions"`
}

// TurnFinished is the last event of a turn.
type TurnFinished struct {
	Duration time.Duration `json:"duration"` // nanoseconds
	Usage    llm.Usage     `json:"usage"`    // of all stages
}

func (StageStarted) event()       {}
func (StageFinished) event()      {}
func (QueryRewritten) event()     {}
func (PassagesRetrieved) event()  {}
func (PromptBuilt) event()        {}
func (MessageStarted) event()     {}
func (CompletionStarted) event()  {}
func (TextDelta) event()          {}
func (ReasoningDelta) event()     {}
func (MessageFinished) event()    {}
func (FollowUpsSuggested) event() {}
func (TurnFinished) event()       {}

// Turn is the fold of a turn's events, true at each moment of it (Add). It must not be copied
// while events are added.
type Turn struct {
	Stages    []StageFinished
	Rewrite   QueryRewritten
	Retrieved PassagesRetrieved
	Prompt    PromptBuilt
	Requested string            // model of the first MessageStarted
	Messages  []MessageFinished // in order of their beginning; Status "" while one is open
	Reasoning string
	FollowUps []string
	Duration  time.Duration
	Usage     llm.Usage

	said     []*strings.Builder // the texts of Messages, as far as they came in deltas
	reasoned strings.Builder
}
