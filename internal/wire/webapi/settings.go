package webapi

import (
	"fmt"
	"net/http"

	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Settings contains the data that the page needs when it starts, except data that depends on the caller.
type Settings struct {
	Version      string              `json:"version"`
	Model        string              `json:"model"`   // the model that answers, as provider:model
	Builtin      bool                `json:"builtin"` // Model is built in
	Models       map[string][]string `json:"models"`
	Defaults     map[string]string   `json:"defaults"`
	Capabilities Capabilities        `json:"capabilities"`
	Limits       Limits              `json:"limits"`
	Settings     Described           `json:"settings"`
	Ingestion    Ingestion           `json:"ingestion"`
	Problems     []Problem           `json:"problems"`
}

// Capabilities says what the server supports.
type Capabilities struct {
	Vectors    bool `json:"vectors"`
	Rerank     bool `json:"rerank"`
	Vision     bool `json:"vision"`
	Uploads    bool `json:"uploads"`
	Reindex    bool `json:"reindex"`
	Tools      bool `json:"tools"`
	WebSearch  bool `json:"web_search"`
	WebSources bool `json:"web_sources"`
	SignIn     bool `json:"sign_in"`
	MultiAgent bool `json:"multi_agent"`
}

// Limits are the maximum sizes in bytes of a request body, an upload and a question. 0 means that the server does not
// accept that kind of request.
type Limits struct {
	Body     int64 `json:"body"`
	Upload   int64 `json:"upload"`
	Question int   `json:"question"`
}

// Described describes the options that requests may set, by protocol.
type Described struct {
	Azure   []wire.Setting `json:"azure"`
	RAGChat []wire.Setting `json:"ragchat"`
}

// Ingestion is the progress of ingesting the documents.
type Ingestion struct {
	Running    bool `json:"running"`
	Files      int  `json:"files"`
	Done       int  `json:"done"`
	Indexed    int  `json:"indexed"`
	Unchanged  int  `json:"unchanged"`
	Skipped    int  `json:"skipped"`
	Failed     int  `json:"failed"`
	Embedding  bool `json:"embedding"`
	Unembedded int  `json:"unembedded"`
}

// Severity says how bad a problem is.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Failing Severity = "error"
)

// Problem is something that users should know before they ask a question.
type Problem struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
}

// shownSettings is the response of GET /api/ui/config.
type shownSettings struct {
	Namespace string `json:"namespace"`
	Settings
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
}

// config handles GET /api/ui/config.
func (h *Handler) config(w http.ResponseWriter, r *wire.Request) error {
	out := shownSettings{Namespace: h.cfg.Namespace, Settings: h.cfg.Settings(r.Context())}
	var err error
	out.Documents, out.Chunks, err = h.count(r, retrieval.Filter{Principal: r.Who, Namespace: h.cfg.Namespace})
	if err != nil {
		return err
	}
	out.Problems = append(corpusState(out), out.Problems...)
	return sendTagged(w, r, out)
}

// corpusState returns the problem that documents are still being ingested, or that there are none; otherwise an empty list.
func corpusState(s shownSettings) []Problem {
	if i := s.Ingestion; i.Running {
		message := "The documents are being read"
		if i.Files > 0 {
			message += fmt.Sprintf(": %d of %d so far", i.Done, i.Files)
		}
		return []Problem{{"ingesting", Info, message + ". Until they all are, answers come from those read so far."}}
	}
	if s.Documents > 0 {
		return []Problem{}
	}
	message := "There are no documents yet: start the server with the files and folders to answer from."
	if s.Capabilities.Uploads {
		message = "There are no documents yet: drop files here, or start the server with the folders to answer from."
	}
	return []Problem{{"no_documents", Info, message}}
}
