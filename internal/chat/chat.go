// Package chat is the core of Parley: an Engine runs the pipeline for one turn and emits one
// typed stream of events, which protocol adapters render.
//
// # The contract of the stream
//
//  1. If the request is rejected, the error is the first item of the stream, without an event before
//     it, so that the adapter can still choose the status code.
//  2. An error that ends the turn is the last item. When only one agent's message fails, that message
//     ends with MessageFinished and StatusFailed, and the other agents continue.
//  3. The events of one message are in order. Stages may nest. TurnFinished is the last event.
//  4. A reply that is not streamed is the fold of the stream (Collect): there is one pipeline.
//  5. Events have one versioned JSON encoding (Numbered.MarshalJSON).
//  6. When the model calls a tool that the client must run, the turn ends with ToolCalled and then
//     MessageFinished with the reason tool_calls. A request whose messages end with the results of
//     the calls continues the turn.
//
// The engine neither saves nor bills; package turn does both, from the events alone.
package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Message is one utterance of a conversation.
type Message struct {
	ID        string
	Role      llm.Role
	Agent     string // the agent that spoke, in multi-agent chats
	Parts     []llm.Part
	Citations []Citation // a snapshot, readable even after the documents have changed
	Tokens    int        // counted once; 0 when not counted
	CreatedAt time.Time  // UTC

	ToolCalls  []llm.ToolCall // the calls that an assistant message asks the client to run
	ToolCallID string         // the call that a tool message answers
	ToolsUsed  []string       // names of the tools that the server ran for this message, in the order of their first calls

	Files []File // sent with the message by the client; adapters turn them into a Place
}

// File is a file attached to a message: either a stored file or its content.
type File struct {
	ID   string // of a stored file; "" if Data is the content
	Name string
	Data []byte

	Pasted bool   // the client put the file's text into the message: it is plain text, whatever the name says
	Param  string // the place in the request, for errors; "" for a file of an earlier request
}

// Text returns the text parts of m, concatenated.
func (m Message) Text() string { return llm.Message{Parts: m.Parts}.Text() }

// TextMessage returns a message with one text part.
func TextMessage(role llm.Role, text string) Message {
	return Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// Request describes one turn to run.
type Request struct {
	TurnID         string // see package ident; set by the turn runner
	Principal      access.Principal
	Namespace      string               // the namespace to search
	ConversationID string               // "" for a stateless turn; otherwise Messages is appended to the stored conversation
	Within         *retrieval.Revisions // only these documents are searched; nil means all of the namespace
	Places         []Place              // if not empty, these are searched instead of Namespace and Within
	Messages       []Message            // oldest first; the last user message is the question, see checkMessages
	Options        Options

	Whole   bool    // the reply is not streamed: adjacent deltas may be merged
	Home    string  // namespace that the conversation belongs to; "" means Namespace
	Kind    string  // of the conversation; a conversation of a kind other than "" must already exist
	Account Account // the account that pays for the turn

	Team     bool      // the team of agents answers, if there is one (package team)
	Material *Material // what an agent of a team answers from; nil means that it searches
	Heard    []Message // what other agents of the team have said about the question; Agent names the speaker

	Configured bool // Options.Models.Inference is configured for an agent of a team: the client did not choose it
}

// Material is the evidence of an agent of a team that does not search itself: the findings of the team.
type Material struct {
	Query    QueryRewritten
	Passages []retrieval.Passage // best first
	Terms    []retrieval.Term    // see PassagesRetrieved
}

// Account holds the names under which a client wants the usage of its turns added up. It grants no rights.
// Accounts belong to the caller: if two callers use the same name, they have separate accounts.
type Account struct {
	User         string // the client's name for its user; "" for none
	Conversation string // the client's name for its conversation; "" for none
}

// Options holds the settings of one turn as plain values. Adapters overlay the options of a request on
// Engine.Defaults.
type Options struct {
	Top             int            // passages to retrieve, 1–50
	Mode            retrieval.Mode // text, vectors, hybrid
	Rerank          bool
	Captions        bool
	FollowUps       bool    // suggest follow-up questions
	MinScore        float64 // passages with a lower score are left out, in [0, 1]
	MinRerankScore  float64 // the same for the reranker's score, if there is one
	IncludeCategory string
	ExcludeCategory string
	Where           *attribute.Condition // only documents with attributes that meet it; nil for all
	RequireUser     bool                 // see retrieval.Filter
	RequireGroup    bool
	PromptTemplate  string // ">>>text" is appended to the default instructions; any other text replaces them
	PromptDomain    string // selects the set of prompts; "" means "default"
	Temperature     float64
	TopP            float64         // 0 means the provider's default
	MaxOutputTokens int             // 0 means the provider's default
	Stop            []string        // the answer ends before the first occurrence of any of these texts; at most llm.MaxStop
	Effort          string          // reasoning effort: minimal, low, medium, high; "" means the model's default
	Schema          json.RawMessage // JSON Schema of the answer, which is an object; nil means a text answer
	Tools           []llm.Tool      // tools that the client runs; a call of one ends the turn
	ToolChoice      string          // see llm.Request
	OneTool         bool            // at most one tool call at a time
	UseTools        bool            // the model may call the tools that the server runs
	OnlyTools       []string        // with UseTools, the only server tools that the model may call; nil means all
	MoreTools       []string        // server tools that the model may call regardless of UseTools and OnlyTools
	Images          ImageInput
	Models          Models
	Rewrite         RewriteOptions
	Summary         SummaryOptions
}

// RewriteOptions controls how a follow-up question is rewritten as a standalone query.
type RewriteOptions struct {
	Off       bool    // search for the question as it is, without words from the conversation
	Threshold float64 // minimum confidence at which a rewritten question is used, in [0, 1]
	Turns     int     // number of turns that the model sees; 0 means three, NoTurns none
	Gist      int     // number of turns before those, of which the model sees only the beginnings
	Clarify   bool    // ask the user instead of answering when the model finds the question ambiguous
}

// NoTurns means no turns where 0 means the default.
const NoTurns = -1

// SummaryOptions controls how a conversation that is too long is shortened.
type SummaryOptions struct {
	Turns  int // maximum number of turns kept in full; 0 means as many as fit, NoTurns none
	Input  int // tokens summarized at a time; 0 means 8000
	Output int // tokens of the summary; 0 means 400
}

// ImageInput says in which form a vision model gets the passages.
type ImageInput string

// The image inputs. ImagesOff is the zero value.
const (
	ImagesOff     ImageInput = ""
	TextAndImages ImageInput = "textAndImages"
	ImagesOnly    ImageInput = "images"
)

// Models names the model of each stage as "provider:model". "" means the stage's default in
// Config.Defaults. If that is "" too, the answering model also rewrites and summarizes, provided it
// reads prompts, and the built-in reranker reranks. A model of the provider "builtin" makes a stage work
// without a language model: rewriting by rules, the built-in rerankers, no summary.
type Models struct {
	Inference string
	Rewrite   string
	Rerank    string
	Summary   string
	Synthesis string // answers with the results of tools; "" means Inference
	Judge     string // judges citations; if the default is "" too, only the words of the page and of the sentence are compared
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
	StageSummarize  Stage = "summarize" // only when a model summarizes the messages that do not fit
	StageRewrite    Stage = "rewrite"
	StageClarify    Stage = "clarify" // replaces all later stages, when requested and the question is ambiguous
	StageRetrieve   Stage = "retrieve"
	StageRerank     Stage = "rerank" // only when requested
	StagePrompt     Stage = "prompt"
	StageGenerate   Stage = "generate"
	StageTools      Stage = "tools"      // within generate: the server runs tools
	StageSynthesize Stage = "synthesize" // within generate, after tools: a model answers with their results
	StageVerify     Stage = "verify"     // within generate, only when a model judges the citations
	StageSuggest    Stage = "suggest"    // only when requested
	StageEmbed      Stage = "embed"      // outside of turns: embedding of documents
	StageTranscribe Stage = "transcribe" // outside of turns: transcription of recordings
	StageRecognise  Stage = "recognise"  // outside of turns: recognition of pages by a model
)

type (
	// Citation is a cited passage, with the words in it that support the answer.
	Citation = cite.Citation
	// CitedSpan is the place of cited words on a page.
	CitedSpan = cite.Span
	// Doubt is a citation that was removed, or whose page does not support its sentence.
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
	Agent string `json:"agent,omitempty"` // the agent that runs the stage, in multi-agent chats
}

// StageFinished says that a stage succeeded.
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
	Candidate  string                   `json:"candidate,omitempty"` // a rewritten question that was not used: ambiguous, or confidence too low
	Ambiguous  bool                     `json:"ambiguous,omitempty"` // the question can mean several things
	Tried      bool                     `json:"tried,omitempty"`     // there was a conversation to rewrite from
	Confidence float64                  `json:"confidence"`          // in [0, 1]; 0 when no rewriting was tried
	Reason     string                   `json:"reason"`
	Context    []retrieval.WeightedTerm `json:"context,omitempty"` // words of the conversation to search for too
}

// ClarificationNeeded says that the question is ambiguous. The message that follows asks the user what
// they mean.
type ClarificationNeeded struct {
	Question string `json:"question"`
}

// PassagesRetrieved carries the passages found, best first. The rerank stage emits it again.
type PassagesRetrieved struct {
	Mode      retrieval.Mode      `json:"mode"` // the mode that was actually used
	HasVector bool                `json:"has_vector"`
	Captions  bool                `json:"captions"`
	Matched   int                 `json:"matched"`
	Passages  []retrieval.Passage `json:"passages"`
	Terms     []retrieval.Term    `json:"terms,omitempty"`      // terms of the query, with their statistics in the index
	SmallTalk bool                `json:"small_talk,omitempty"` // the message can be answered without a document, such as a greeting
}

// PromptBuilt carries the messages that the model receives.
type PromptBuilt struct {
	Model    string        `json:"model"`   // the requested model, "provider:model"
	Sources  []string      `json:"sources"` // "<citation>: <content>", one for each passage that Messages contains as text
	Labels   []string      `json:"labels"`  // all citations that the passages allow, in order
	Messages []llm.Message `json:"messages"`

	Pictured int `json:"pictured,omitempty"` // number of passages that Messages contains only as an image of their pages
}

// MessageStarted says that an answer begins. Everything that precedes the model's first token is known
// by then.
type MessageStarted struct {
	ID       string `json:"id"`
	Agent    string `json:"agent,omitempty"`
	Model    string `json:"model"`              // the requested model, without the provider unless the provider is builtin
	Replaces string `json:"replaces,omitempty"` // the agent's earlier message, which failed and which this one replaces
}

// CompletionStarted carries the name of the model that actually answers, as its provider reports it. The
// name of a built-in model is its key, "builtin:extractive". The event precedes the first delta of the
// message. It is emitted again when a model continues the message with the results of tools.
type CompletionStarted struct {
	ID     string      `json:"id"`
	Model  string      `json:"model"`
	Vendor *llm.Vendor `json:"vendor,omitempty"`
}

// TextDelta is a piece of an answer. It is never empty.
type TextDelta struct {
	ID     string      `json:"id"`
	Text   string      `json:"text"`
	Vendor *llm.Vendor `json:"vendor,omitempty"`
}

// ReasoningDelta is a piece of a model's reasoning. It is never empty.
type ReasoningDelta struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ToolCalled says that the model asks the client to run a tool. The turn ends with this message.
type ToolCalled struct {
	ID   string       `json:"id"` // of the message
	Call llm.ToolCall `json:"call"`
}

// ToolStarted says that the server runs a tool that the model asked for.
type ToolStarted struct {
	ID   string       `json:"id"` // of the message
	Call llm.ToolCall `json:"call"`
}

// ToolReturned carries the result of a tool that the server ran.
type ToolReturned struct {
	ID       string        `json:"id"`                 // of the message
	CallID   string        `json:"call_id"`            // ToolStarted.Call.ID
	Name     string        `json:"name"`               // of the tool
	Text     string        `json:"text"`               // the result as the model reads it
	Passages int           `json:"passages,omitempty"` // how many passages the tool returned
	Failed   bool          `json:"failed,omitempty"`
	Duration time.Duration `json:"duration"` // nanoseconds

	Found []retrieval.Passage `json:"-"` // those of these passages that the model was shown
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
	ToolCalls    []llm.ToolCall `json:"tool_calls,omitempty"` // the calls that the client must run; only with the reason tool_calls
	Model        string         `json:"model"`                // see CompletionStarted
	Usage        llm.Usage      `json:"usage"`
	Vendor       *llm.Vendor    `json:"vendor,omitempty"`
	Err          *Error         `json:"-"` // the cause of the failure; only with StatusFailed
}

// Unsupported returns the labels in the text of m whose pages do not support their sentences, each once.
// Invented labels are not included, since the text does not contain them.
func (m MessageFinished) Unsupported() []string {
	var out []string
	for _, d := range m.Doubts {
		if d.Kind == Unsupported && !slices.Contains(out, d.Label) {
			out = append(out, d.Label)
		}
	}
	return out
}

// FollowUpsSuggested carries questions that the user may ask next. It is emitted only when requested,
// and never empty.
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

// Turn is the fold of the events of a turn. It is up to date after each call of Add, and must not be copied
// between calls.
type Turn struct {
	Stages    []StageFinished
	Rewrite   QueryRewritten
	Retrieved PassagesRetrieved
	Prompt    PromptBuilt
	Requested string            // model of the first MessageStarted
	Messages  []MessageFinished // in the order in which they began; the Status of an open message is ""
	Reasoning string
	FollowUps []string
	Tools     []ToolReturned // the tools that the server ran
	Duration  time.Duration
	Usage     llm.Usage

	said     []*strings.Builder // the text of each of Messages, as far as its deltas have arrived
	reasoned strings.Builder
}
