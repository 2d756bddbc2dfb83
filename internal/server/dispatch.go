package server

import (
	"mime"
	"net/http"
	"strings"

	"parley/internal/wire"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/ragchat"
)

// protocolHeader names the protocol of a body on POST /chat, where the body would decide.
const protocolHeader = "X-Chat-Protocol"

// What a request to dispatch was expected to be, for the sentences of refusals.
const (
	expectedBody = `a JSON object with a string "message" (Chat-with-RAG), ` +
		`with "messages" (AI Chat Protocol 2024-05-29), ` +
		`or with "messages" and "stream" (AI Chat Protocol 2024-01-28)`
	expectedName = "azure-0529, azure-0128 or ragchat"
)

// protocol is what a body on the shared path speaks.
type protocol uint8

const (
	azure0529 protocol = iota
	azure0128
	ragChat
)

// form is what a path says about a body of one of the AI Chat Protocols. On the path that never
// streams, /ask, clients of 2024-01-28 leave "stream" out: a body without it may be of either version.
func (c choice) form(stream azurechat.Streaming) azurechat.Form {
	if c.protocol == azure0128 {
		return azurechat.Form{Version: azurechat.V0128, Stream: stream}
	}
	return azurechat.Form{Stream: stream, Both: !c.decided && stream == azurechat.StreamNever}
}

// errorsOf is the shape in which the client that sent the body reads errors. The body is nil as long
// as it has not been read.
func (s *Server) errorsOf(c choice, r *http.Request, stream azurechat.Streaming, body []byte) shape {
	switch {
	case c.protocol != ragChat:
		return azurechat.Failures(c.form(stream), body)
	case body == nil:
		return ragchat.WriteFailure
	}
	return s.deps.RAGChat.Refusal(r, body)
}

// choice is what the headers of a request say about its protocol.
type choice struct {
	protocol  protocol
	decided   bool // otherwise the body decides
	multipart bool // the Microsoft SDK's form with files
}

// declared looks at what the headers alone decide: the first two rows of the table in
// specs/README.md section 1. With an error it returns what is known all the same.
func declared(h http.Header) (choice, error) {
	var c choice
	var err error
	if values := h.Values(protocolHeader); len(values) > 0 {
		if c.protocol, err = namedProtocol(values); err != nil {
			return choice{}, err
		}
		c.decided = true
	}
	if c.multipart, err = isMultipart(h); err != nil {
		return c, err
	}
	if c.multipart && c.protocol != azure0529 {
		return c, &refusalError{unsupportedType}
	}
	return c, nil
}

func namedProtocol(values []string) (protocol, error) {
	switch strings.Join(values, ", ") {
	case "azure-0529":
		return azure0529, nil
	case "azure-0128":
		return azure0128, nil
	case "ragchat":
		return ragChat, nil
	}
	return 0, wire.Invalidf("%s names no protocol; expected %s", protocolHeader, expectedName)
}

// byBody decides on what the headers left open: the rows from the third on.
func byBody(p wire.Probe) (protocol, error) {
	switch {
	case p.HasMessage && p.HasMessages:
		return 0, wire.Invalidf(`the request has both "message" and "messages"; expected %s`, expectedBody)
	case p.MessageIsString:
		return ragChat, nil
	case p.HasMessages && p.HasStream:
		return azure0128, nil
	case p.HasMessages:
		return azure0529, nil
	}
	return 0, wire.Invalidf("expected %s", expectedBody)
}

// isMultipart tells the two content types that are accepted apart: multipart forms, and JSON,
// which a missing content type counts as. No encoding of a body is undone.
func isMultipart(h http.Header) (bool, error) {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false, &refusalError{unsupportedEncoding}
	}
	value := h.Get("Content-Type")
	if value == "" {
		return false, nil
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil {
		return false, &refusalError{unsupportedType}
	}
	if media == "multipart/form-data" {
		return true, nil
	}
	charset, named := params["charset"]
	json := media == "application/json" || media == "text/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	if !json || named && !strings.EqualFold(charset, "utf-8") {
		return false, &refusalError{unsupportedType}
	}
	return false, nil
}

var unsupportedEncoding = wire.Failure{
	Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
	Text: "The body has a content encoding; expected it as it is.",
}

var unsupportedType = wire.Failure{
	Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
	Text: "The content type is not supported; expected application/json in UTF-8.",
}
