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
//  6. A call of a tool that the client must run ends the turn: ToolCalled, then MessageFinished with
//     the reason tool_calls. A request that ends with the results goes on from there.
//
// The engine neither saves nor bills: the turn package does, from the events alone.
package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/chat/cite"
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

	ToolCalls  []llm.ToolCall // what an assistant message asks the client to run
	ToolCallID string         // the call that a tool message answers
	ToolsUsed  []string       // names of the tools that the server ran for it, in the order of their first calls
}

// Text returns the text parts of m, concatenated.
func (m Message) Text() string { return llm.Message{Parts: m.Parts}.Text() }

// TextMessage returns a message with a single text part.
func TextMessage(role llm.Role, text string) Message {
	return Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// Request is one turn to run.
type Request struct {
	TurnID         string // see package ident; the turn runner sets it
	Principal      access.Principal
	Namespace      string               // what is searched
	ConversationID string               // "" for a stateless turn; else Messages is put after what is stored
	Within         *retrieval.Revisions // only these documents are searched; nil for all of the namespace
	Messages       []Message            // oldest first; the last user message is the question, see checkMessages
	Options        Options

	Whole   bool    // the reply is not streamed: adjacent deltas may be merged
	Home    string  // namespace that the conversation belongs to; "" means Namespace
	Kind    string  // of the conversation; one of a kind other than "" must exist already
	Account Account // that pays for the turn

	Team     bool      // the team of agents answers, where there is one (package team)
	Material *Material // what one agent of a team answers from; nil: what it finds
	Heard    []Message // what other agents of the team have said to the question; Agent names them
}

// Material is what an agent of a team answers from instead of searching: what others have found.
type Material struct {
	Query    QueryRewritten
	Passages []retrieval.Passage // best first
	Terms    []retrieval.Term    // see PassagesRetrieved
}

// Account says how a client wants its turns to be added up. It gives no rights. It belongs to the caller who
// names it: two callers with the same name have two accounts.
type Account struct {
	User         string // as the client names its user; "" for none
	Conversation string // as the client names its conversation; "" for none
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
	PromptDomain    string // which prompts the models are given; "" means "default"
	Temperature     float64
	TopP            float64         // 0 means the provider's default
	MaxOutputTokens int             // 0 means the provider's default
	Stop            []string        // texts before which the answer is to end; at most llm.MaxStop
	Effort          string          // how long a model that reasons is to do so: minimal, low, medium, high; "" means its default
	Schema          json.RawMessage // JSON Schema of the object that the answer is to be; nil means text
	Tools           []llm.Tool      // that the client runs; a call of one ends the turn
	ToolChoice      string          // see llm.Request
	OneTool         bool            // call one tool at a time
	UseTools        bool            // the model may call the tools that the server runs
	OnlyTools       []string        // with UseTools, of those tools the ones that it may call; nil means all
	MoreTools       []string        // of the tools that the server runs, those that the model may call whatever UseTools and OnlyTools say
	Images          ImageInput
	Models          Models
	Rewrite         RewriteOptions
	Summary         SummaryOptions
}

// RewriteOptions says how a follow-up question is made standalone.
type RewriteOptions struct {
	Off       bool    // the question is searched for as it stands, without words of the conversation
	Threshold float64 // the confidence from which a rewritten question is used, in [0, 1]
	Turns     int     // how many turns a model is shown; 0 means the last three, NoTurns none
	Gist      int     // how many turns before those it is shown the beginnings of
	Clarify   bool    // ask back instead of answering when the model finds the question ambiguous
}

// NoTurns stands for no turns at all where 0 means a default.
const NoTurns = -1

// SummaryOptions says what happens to a conversation that is too long.
type SummaryOptions struct {
	Turns  int // the most that are kept in full; 0 means as many as fit, NoTurns none
	Input  int // tokens that are summarized at a time; 0 means 8000
	Output int // tokens of the summary; 0 means 400
}

// ImageInput says which form of a document a vision model gets.
type ImageInput string

// The image inputs. ImagesOff is the zero value.
const (
	ImagesOff     ImageInput = ""
	TextAndImages ImageInput = "textAndImages"
	ImagesOnly    ImageInput = "images"
)

// Models names the model of each stage as "provider:model". "" means the stage's default in Config.Defaults.
// If that is "" too, the model that answers also rewrites and summarizes, if it reads prompts, and the
// built-in reranker reranks. A model of the provider builtin stands for what the stage does without a
// model: rewriting by rules, reranking by words, no summary.
type Models struct {
	Inference string
	Rewrite   string
	Rerank    string
	Summary   string
	Synthesis string // answers with the results of tools; "" means Inference
	Judge     string // of citations; where the default is "" too, their words alone are compared
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
	StageHistory    Stage = "history"
	StageSummarize  Stage = "summarize" // only when a model summarizes what does not fit
	StageRewrite    Stage = "rewrite"
	StageClarify    Stage = "clarify" // instead of all stages after it, when asked for and needed
	StageRetrieve   Stage = "retrieve"
	StageRerank     Stage = "rerank" // only when asked for
	StagePrompt     Stage = "prompt"
	StageGenerate   Stage = "generate"
	StageTools      Stage = "tools"      // inside generate: the server runs tools
	StageSynthesize Stage = "synthesize" // inside generate, after tools: a model answers with their results
	StageVerify     Stage = "verify"     // inside generate, and only when a model judges the citations
	StageSuggest    Stage = "suggest"    // only when asked for
	StageEmbed      Stage = "embed"      // outside turns: documents are embedded
)

type (
	// Citation is a cited passage, with the words in it that support the answer.
	Citation = cite.Citation
	// CitedSpan says where cited words are.
	CitedSpan = cite.Span
	// Doubt is a citation that was removed, or that does not support its sentence.
	Doubt = cite.Doubt
)

// The kinds of Doubt.
const (
	Invented    = cite.Invented
	Unsupported = cite.Unsupported
)

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
	Note     string        `json:"note,omitempty"` // for people, for example about a fallback
}

// QueryRewritten carries the standalone form of the question.
type QueryRewritten struct {
	Original   string                   `json:"original"`
	Query      string                   `json:"query"` // equals Original when not Rewritten
	Rewritten  bool                     `json:"rewritten"`
	Candidate  string                   `json:"candidate,omitempty"` // a rewritten question whose confidence was too low
	Ambiguous  bool                     `json:"ambiguous,omitempty"` // the question can mean several things
	Tried      bool                     `json:"tried,omitempty"`     // there was a conversation to rewrite it from
	Confidence float64                  `json:"confidence"`          // in [0, 1]; 0 when nothing was tried
	Reason     string                   `json:"reason"`
	Context    []retrieval.WeightedTerm `json:"context,omitempty"`
}

// ClarificationNeeded says that the question is ambiguous: the message that follows asks what is meant
// instead of answering.
type ClarificationNeeded struct {
	Question string `json:"question"`
}

// PassagesRetrieved carries what was found, best first. It comes again after a reranker has changed the order.
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

// MessageStarted says that an answer begins. All that precedes the model's first token is known.
type MessageStarted struct {
	ID       string `json:"id"`
	Agent    string `json:"agent,omitempty"`
	Model    string `json:"model"`              // the requested model, without the provider unless that is builtin
	Replaces string `json:"replaces,omitempty"` // the agent's earlier message, which this one replaces and which fails
}

// CompletionStarted names the model that really answers, as its provider does; a built-in one has its key,
// "builtin:extractive". It precedes the message's first delta.
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

// ToolCalled says that the model asks the client to run a tool, which ends the turn.
type ToolCalled struct {
	ID   string       `json:"id"` // of the message
	Call llm.ToolCall `json:"call"`
}

// ToolStarted says that the server runs a tool that the model has asked for.
type ToolStarted struct {
	ID   string       `json:"id"` // of the message
	Call llm.ToolCall `json:"call"`
}

// ToolReturned carries the result of a tool that the server ran.
type ToolReturned struct {
	ID       string        `json:"id"`      // of the message
	CallID   string        `json:"call_id"` // ToolStarted.Call.ID
	Name     string        `json:"name"`    // of the tool
	Text     string        `json:"text"`    // what the model is told
	Passages int           `json:"passages,omitempty"`
	Failed   bool          `json:"failed,omitempty"`
	Duration time.Duration `json:"duration"` // nanoseconds

	Found []retrieval.Passage `json:"-"` // the passages, for package team
}

// MessageFinished ends a message. Text is the concatenation of its deltas.
type MessageFinished struct {
	ID           string         `json:"id"`
	Agent        string         `json:"agent,omitempty"`
	Status       Status         `json:"status"`
	Text         string         `json:"text"`
	Citations    []Citation     `json:"citations"`            // in order of first appearance
	Doubts       []Doubt        `json:"doubts,omitempty"`     // what the check of a model's citations found
	FinishReason string         `json:"finish_reason"`        // stop, length, content_filter, tool_calls
	ToolCalls    []llm.ToolCall `json:"tool_calls,omitempty"` // what the client is to run; only with that reason
	Model        string         `json:"model"`                // see CompletionStarted
	Usage        llm.Usage      `json:"usage"`
	Vendor       *llm.Vendor    `json:"vendor,omitempty"`
	Err          *Error         `json:"-"` // why it failed; only with StatusFailed
}

// Unsupported returns the labels in the text of m whose pages do not say what their sentences do, each
// once. Invented labels are not among them, since they are not in the text.
func (m MessageFinished) Unsupported() []string {
	var out []string
	for _, d := range m.Doubts {
		if d.Kind == Unsupported && !slices.Contains(out, d.Label) {
			out = append(out, d.Label)
		}
	}
	return out
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

func (StageStarted) event()        {}
func (StageFinished) event()       {}
func (QueryRewritten) event()      {}
func (ClarificationNeeded) event() {}
func (PassagesRetrieved) event()   {}
func (PromptBuilt) event()         {}
func (MessageStarted) event()      {}
func (CompletionStarted) event()   {}
func (TextDelta) event()           {}
func (ReasoningDelta) event()      {}
func (ToolCalled) event()          {}
func (ToolStarted) event()         {}
func (ToolReturned) event()        {}
func (MessageFinished) event()     {}
func (FollowUpsSuggested) event()  {}
func (TurnFinished) event()        {}

// Turn is the fold of a turn's events, true at each moment of it (Add). It must not be copied
// while events are added.
type Turn struct {
	Stages    []StageFinished
	Rewrite   QueryRewritten
	Retrieved PassagesRetrieved
	Prompt    PromptBuilt
	Requested string            // model of the first MessageStarted
	Messages  []MessageFinished // in the order in which they began; Status is "" while one is open
	Reasoning string
	FollowUps []string
	Tools     []ToolReturned // that the server ran
	Duration  time.Duration
	Usage     llm.Usage

	said     []*strings.Builder // the texts of Messages, as far as they came in deltas
	reasoned strings.Builder
}
