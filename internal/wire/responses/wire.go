package responses

import "encoding/json"

// response is the response object of the API. Members that this server does not use keep the API's
// default values.
type response struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	CompletedAt        *int64            `json:"completed_at"`
	Status             string            `json:"status"`
	Background         bool              `json:"background"`
	Error              *cause            `json:"error"`
	IncompleteDetails  *incomplete       `json:"incomplete_details"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	Model              string            `json:"model"`
	Fingerprint        string            `json:"system_fingerprint,omitempty"` // names the model that answered, as in Chat Completions
	Output             []any             `json:"output"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       *reference        `json:"conversation,omitempty"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
	PromptCacheKey     *string           `json:"prompt_cache_key"`
	Reasoning          reasoningSettings `json:"reasoning"`
	SafetyIdentifier   *string           `json:"safety_identifier"`
	ServiceTier        string            `json:"service_tier"`
	Store              bool              `json:"store"`
	Temperature        float64           `json:"temperature"`
	Text               json.RawMessage   `json:"text"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Tools              []json.RawMessage `json:"tools"`
	TopLogprobs        int               `json:"top_logprobs"`
	TopP               float64           `json:"top_p"`
	Truncation         string            `json:"truncation"`
	Usage              *usage            `json:"usage"`
	Metadata           json.RawMessage   `json:"metadata"`
}

// Statuses of responses and items, and other fixed values of the API.
const (
	waiting     = "queued"
	inProgress  = "in_progress"
	completed   = "completed"
	unfinished  = "incomplete"
	failed      = "failed"
	cancelled   = "cancelled"
	searching   = "searching"
	objectName  = "response"
	textType    = "output_text"
	messageType = "message"
)

type incomplete struct {
	Reason string `json:"reason"`
}

type reference struct {
	ID string `json:"id"`
}

type reasoningSettings struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type usage struct {
	Input         int           `json:"input_tokens"`
	InputDetails  inputDetails  `json:"input_tokens_details"`
	Output        int           `json:"output_tokens"`
	OutputDetails outputDetails `json:"output_tokens_details"`
	Total         int           `json:"total_tokens"`
	Estimated     bool          `json:"estimated,omitempty"` // the upstream reported no usage
}

type inputDetails struct {
	Cached     int `json:"cached_tokens"`
	CacheWrite int `json:"cache_write_tokens"` // always 0: no provider here reports it
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

// The items of an output.

type messageItem struct {
	ID      string     `json:"id"`
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Role    string     `json:"role"`
	Content []textPart `json:"content"`
}

type textPart struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"` // urlCitation or fileCitation
	Logprobs    []any  `json:"logprobs"`

	// Unsupported lists the labels of citations whose pages do not support the answer. This member is a
	// Parley extension.
	Unsupported []string `json:"unsupported_citations,omitempty"`
}

type urlCitation struct {
	Type  string `json:"type"`
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// fileCitation is a citation of a file in a vector store, or in the request. The members after Index are
// Parley extensions.
type fileCitation struct {
	Type     string `json:"type"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	Index    int    `json:"index"` // of the mark in the text, in Unicode code points
	Page     int    `json:"page,omitempty"`
	URL      string `json:"url"`
	Start    int    `json:"start_index"`
	End      int    `json:"end_index"`
}

type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Extra     *extra `json:"extra_content,omitempty"` // see openai.SignatureOf
}

type extra struct {
	Parley struct {
		Signature string `json:"signature"`
	} `json:"parley"`
}

// reasoningItem contains the text of a model's reasoning: in Summary if the client asked for a summary,
// otherwise in Content.
type reasoningItem struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Status  string          `json:"status"`
	Summary []reasoningPart `json:"summary"`
	Content []reasoningPart `json:"content,omitempty"`
}

type reasoningPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// searchItem contains the queries of a search, and its results if the client asked for them.
type searchItem struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	Status  string   `json:"status"`
	Queries []string `json:"queries"`
	Results []result `json:"results"` // null unless requested
}

type result struct {
	FileID     string          `json:"file_id"`
	Filename   string          `json:"filename"`
	Score      float64         `json:"score"`
	Text       string          `json:"text"`
	Attributes json.RawMessage `json:"attributes"`
	Page       int             `json:"page,omitempty"`
	URL        string          `json:"url,omitempty"`
}

// The events of a stream.

// head contains the members that every event begins with.
type head struct {
	Type string `json:"type"`
	Seq  int    `json:"sequence_number"`
}

func (h head) name() string { return h.Type }

type stateEvent struct {
	head
	Response *response `json:"response"`
}

type itemEvent struct {
	head
	Output int `json:"output_index"`
	Item   any `json:"item"`
}

// place identifies a part of an item.
type place struct {
	Item    string `json:"item_id"`
	Output  int    `json:"output_index"`
	Content int    `json:"content_index"`
}

type partEvent struct {
	head
	place
	Part any `json:"part"`
}

type annotationEvent struct {
	head
	place
	Index      int `json:"annotation_index"`
	Annotation any `json:"annotation"`
}

type textDoneEvent struct {
	head
	place
	Text     string `json:"text"`
	Logprobs []any  `json:"logprobs"`
}

// reasoningPlace is like place, for a reasoning item: exactly one of Content and Summary is set.
type reasoningPlace struct {
	Item    string `json:"item_id"`
	Output  int    `json:"output_index"`
	Content *int   `json:"content_index,omitempty"`
	Summary *int   `json:"summary_index,omitempty"`
}

type reasoningPartEvent struct {
	head
	reasoningPlace
	Part reasoningPart `json:"part"`
}

type reasoningDeltaEvent struct {
	head
	reasoningPlace
	Delta string `json:"delta"`
}

type reasoningDoneEvent struct {
	head
	reasoningPlace
	Text string `json:"text"`
}

type argumentsDeltaEvent struct {
	head
	Item   string `json:"item_id"`
	Output int    `json:"output_index"`
	Delta  string `json:"delta"`
}

type argumentsDoneEvent struct {
	head
	Item      string `json:"item_id"`
	Output    int    `json:"output_index"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type searchEvent struct {
	head
	Item   string `json:"item_id"`
	Output int    `json:"output_index"`
}

// errorEvent repeats its members: Open Responses defines them inside error, OpenAI's types next to it.
type errorEvent struct {
	head
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Error   problem `json:"error"`
}
