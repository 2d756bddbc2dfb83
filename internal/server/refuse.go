package server

import (
	"net/http"
	"strings"

	"parley/internal/wire"
)

// shape writes a failure the way that the clients of a route read it.
type shape func(w http.ResponseWriter, f wire.Failure)

// speaks has whatever goes wrong with a request from now on refused in a shape.
func speaks(w http.ResponseWriter, s shape) {
	if x, ok := w.(*exchange); ok {
		x.shape = s
	}
}

// plainErrors is {"error": sentence}: the AI Chat Protocol, and whatever has no protocol.
func plainErrors(w http.ResponseWriter, f wire.Failure) {
	body := append(wire.AppendString([]byte(`{"error":`), f.Text), '}')
	writeFailure(w, f, body)
}

// sdkErrors is {"error": {"code", "message"}}, which Microsoft's SDK reads below /api/chat/.
func sdkErrors(w http.ResponseWriter, f wire.Failure) {
	body := wire.AppendString([]byte(`{"error":{"code":`), f.Code)
	body = wire.AppendString(append(body, `,"message":`...), f.Text)
	writeFailure(w, f, append(body, "}}"...))
}

// mcpErrors is the error of JSON-RPC 2.0 for a message of which not even the id is known.
func mcpErrors(w http.ResponseWriter, f wire.Failure) {
	const invalidRequest = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":`
	writeFailure(w, f, append(wire.AppendString([]byte(invalidRequest), f.Text), "}}"...))
}

func writeFailure(w http.ResponseWriter, f wire.Failure, body []byte) {
	f.SetHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	// Only a client that is gone makes writing fail, and nobody is left to tell.
	_ = wire.WriteJSON(w, f.Status, body)
}

// The refusals that have no kind in package chat, because no pipeline can cause them.
var (
	unknownPath = wire.Failure{
		Status: http.StatusNotFound, Code: "not_found",
		Text: "There is nothing at this path. GET /openapi.json lists what there is.",
	}
	unknownHost = wire.Failure{
		Status: http.StatusMisdirectedRequest, Code: "misdirected",
		Text: "This server does not answer for the host that was asked for. " +
			"If it should, set --public-url to the URL that clients use.",
	}
	unknownOrigin = wire.Failure{
		Status: http.StatusForbidden, Code: "forbidden_origin",
		Text: "Web pages of this origin may not call this server. " +
			"If they should, list the origin in --cors-origins.",
	}
	wrongMethod = wire.Failure{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Text: "This path does not take this method; the header Allow lists those it takes.",
	}
)

// elsewhere says, by the first name behind /v1/, what to use in place of a route of OpenAI's API that is
// not there.
var elsewhere = map[string]string{
	"responses":   "The Responses API is not there yet: use POST /v1/chat/completions, in the AI SDK openai.chat('parley').",
	"completions": "Completions are not there: use POST /v1/chat/completions.",
	"assistants":  assistantsElsewhere, "threads": assistantsElsewhere, "conversations": assistantsElsewhere,
	"files": filesElsewhere, "uploads": filesElsewhere, "vector_stores": filesElsewhere,
	"embeddings": "Embeddings are not there: Parley embeds what it ingests and is asked itself. POST /search finds passages.",
}

const (
	assistantsElsewhere = "Assistants and stored conversations are not there: send the whole conversation to POST /v1/chat/completions, " +
		"or keep it in a session, POST /chat/session."
	filesElsewhere = "Files are not there: POST /upload takes documents, and POST /v1/chat/completions answers from all of them."
)

// unknownOpenAI is the failure of a path below /v1/ that is none.
func unknownOpenAI(path string) wire.Failure {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, openAIPath), "/")
	f := unknownPath
	f.Text = "Of OpenAI's API there are POST /v1/chat/completions and GET /v1/models."
	if text, ok := elsewhere[name]; ok {
		f.Text = text
	}
	return f
}

// refusalError is an error of a handler that has no kind in package chat.
type refusalError struct{ wire.Failure }

func (e *refusalError) Error() string { return e.Text }
