package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/chat"
	"parley/internal/retrieval"
)

// The names of the prompts and of their arguments.
const (
	answerPrompt  = "answer_from_documents"
	summaryPrompt = "summarize_document"
	questionArg   = "question"
	documentArg   = "document"
)

// addPrompts adds the prompts that people can choose in their client.
func (c *client) addPrompts(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{
		Name: answerPrompt, Title: "Answer from the documents",
		Description: "Answers a question from the documents only, with the page of each statement.",
		Arguments:   []*sdk.PromptArgument{{Name: questionArg, Description: "What you want to know.", Required: true}},
	}, c.answerPrompt)
	s.AddPrompt(&sdk.Prompt{
		Name: summaryPrompt, Title: "Summarize a document",
		Description: "Summarizes one document, with the page of each statement.",
		Arguments:   []*sdk.PromptArgument{{Name: documentArg, Description: "The name of the document.", Required: true}},
	}, c.summaryPrompt)
}

func (c *client) answerPrompt(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	question := strings.TrimSpace(req.Params.Arguments[questionArg])
	if question == "" {
		return nil, invalidArgument("The argument question is missing.")
	}
	return asPrompt("Answers a question from the documents.", &sdk.TextContent{Text: "Answer this question " +
		"only from the documents that the tools search, fetch and ask can read. " +
		"Put the citation after each statement, in square brackets, as the tools return it. " +
		"If the documents do not contain the answer, say so.\n\nQuestion: " + question}), nil
}

func (c *client) summaryPrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	name := strings.TrimSpace(req.Params.Arguments[documentArg])
	uri := resourceURI(retrieval.Document{Namespace: c.cfg.Namespace, Name: name})
	d, pages, err := c.document(ctx, uri)
	if chat.KindOf(err) == chat.NotFound {
		return nil, invalidArgument("There is no document with this name.")
	}
	if err != nil {
		return nil, c.explain(ctx, "read document", err)
	}
	var all strings.Builder
	for _, p := range pages {
		all.WriteString(p.Text + "\n")
	}
	contents := &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: clip(all.String())}
	return asPrompt("Summarizes "+titleOf(d, d.Name)+".",
		&sdk.EmbeddedResource{Resource: contents},
		&sdk.TextContent{Text: "Summarize this document in its own language: what it is about, what it says, and what follows from it. " +
			"Put the citation [" + d.Name + "] after each statement, with #page=N if you know the page."}), nil
}

func invalidArgument(text string) error { return &jsonrpc.Error{Code: invalidParams, Message: text} }

func asPrompt(description string, contents ...sdk.Content) *sdk.GetPromptResult {
	res := &sdk.GetPromptResult{Description: description}
	for _, c := range contents {
		res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
	}
	return res
}

// maxCompletions is the protocol's limit on suggested values (MCP 2025-06-18, Completion).
const maxCompletions = 100

// complete suggests values for the document of a prompt, and for the name and namespace in the resource template. It
// suggests only documents and namespaces that the caller may see.
func (c *client) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	res := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	ref, begun := req.Params.Ref, req.Params.Argument.Value
	ofPrompt := ref != nil && ref.Type == "ref/prompt" && ref.Name == summaryPrompt && req.Params.Argument.Name == documentArg
	ofResource := ref != nil && ref.Type == "ref/resource"
	var names []string
	var err error
	switch {
	case ofPrompt, ofResource && req.Params.Argument.Name == "name":
		namespace := c.cfg.Namespace
		if chosen := req.Params.Context; chosen != nil && ofResource && chosen.Arguments["namespace"] != "" {
			if namespace, err = c.namespace(ctx, chosen.Arguments["namespace"]); chat.KindOf(err) == chat.NotFound {
				return res, nil
			}
		}
		if err == nil {
			names, err = c.namesLike(ctx, namespace, begun)
		}
	case ofResource && req.Params.Argument.Name == "namespace":
		names = []string{c.cfg.Namespace}
		if c.cfg.Namespaces != nil {
			var more []string
			more, err = c.cfg.Namespaces(ctx, c.Principal)
			names = append(names, more...)
		}
	}
	if err != nil {
		return nil, c.explain(ctx, "complete", err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, begun) {
			continue
		}
		if res.Completion.HasMore = len(res.Completion.Values) == maxCompletions; res.Completion.HasMore {
			break
		}
		res.Completion.Values = append(res.Completion.Values, name)
	}
	return res, nil
}

// namesLike returns names of documents that begin with a text: if possible, more than maxCompletions of them.
func (c *client) namesLike(ctx context.Context, namespace, begun string) (names []string, err error) {
	f := retrieval.Filter{Principal: c.Principal, Namespace: namespace}
	if begun != "" {
		d, err := c.cfg.Documents.Document(ctx, f, begun)
		if err == nil {
			names = append(names, d.Name) // Documents lists only names after begun
		}
	}
	docs, err := c.cfg.Documents.Documents(ctx, f, begun, maxCompletions+1)
	for _, d := range docs {
		if strings.HasPrefix(d.Name, begun) {
			names = append(names, d.Name)
		}
	}
	return names, err
}
