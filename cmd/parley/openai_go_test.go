package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/responses"

	"parley/internal/wire/openai/openaitest"
)

// OpenAI's client for Go drives files, a store, its search, an answer with a citation of the page, and what is stored of it. Each
// reply has every member that the client's types require, of the right type. Where OpenAI's description of its API is at hand
// (openaitest.Description), each request and reply is valid for it.
func TestSDK_OpenAIsTypesForGoHoldEveryReply(t *testing.T) {
	t.Parallel()
	p := startServe(t, nil, "--data", t.TempDir())
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	c := openAIForGo{t, openai.NewClient(option.WithBaseURL("http://"+p.addr+"/v1"), option.WithAPIKey("not-needed"), option.WithMaxRetries(0),
		option.WithMiddleware(judged(t)))}
	store, file := c.ingest()
	found := typed(c.VectorStores.Search(t.Context(), store, openai.VectorStoreSearchParams{
		Query: openai.VectorStoreSearchParamsQueryUnion{OfString: openai.String("How tall is the lighthouse?")}}))(t)
	if len(found.Data) == 0 || found.Data[0].FileID != file {
		t.Errorf("found %s", found.RawJSON())
	}
	c.answer(store, file)
	c.complete()
	typed(c.VectorStores.Files.Delete(t.Context(), store, file))(t)
	typed(c.VectorStores.Delete(t.Context(), store))(t)
	typed(c.Files.Delete(t.Context(), file))(t)
}

// openAIForGo is OpenAI's client for Go in a test.
type openAIForGo struct {
	*testing.T
	openai.Client
}

// judged returns a middleware of the client that judges each exchange by OpenAI's description.
func judged(t *testing.T) option.Middleware {
	described := openaitest.Read(t)
	return func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		x := openaitest.Exchange{Method: r.Method, Path: r.URL.Path, RequestMedia: mediaOf(r.Header)}
		if r.Body != nil && x.RequestMedia == "application/json" {
			x.Request, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(x.Request))
		}
		res, err := next(r)
		if err != nil || described == nil {
			return res, err
		}
		x.Response, err = io.ReadAll(res.Body)
		res.Body = io.NopCloser(bytes.NewReader(x.Response))
		x.Status, x.ResponseMedia = res.StatusCode, mediaOf(res.Header)
		for _, wrong := range described.Judge(x) {
			t.Error(wrong)
		}
		return res, err
	}
}

func mediaOf(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return media
}

// ingest uploads a file of two pages to a new store and waits until it is read.
func (c openAIForGo) ingest() (store, file string) {
	pdf := pagePDF([]pdfLine{{72, 700, "The coast of Jutland"}}, []pdfLine{{72, 700, "Towers"}, {72, 660, "The lighthouse of Skagen is 46 metres tall."}})
	ctx := c.Context()
	made := typed(c.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("Towers")}))(c.T)
	uploaded := typed(c.Files.New(ctx, openai.FileNewParams{
		File: openai.File(strings.NewReader(string(pdf)), "towers.pdf", "application/pdf"), Purpose: openai.FilePurposeAssistants}))(c.T)
	batch := typed(c.VectorStores.FileBatches.NewAndPoll(ctx, made.ID, openai.VectorStoreFileBatchNewParams{FileIDs: []string{uploaded.ID}}, 100))(c.T)
	if batch.FileCounts.Completed != 1 {
		c.Fatalf("the batch is %s", batch.RawJSON())
	}
	typed(c.VectorStores.Get(ctx, made.ID))(c.T)
	typed(c.VectorStores.List(ctx, openai.VectorStoreListParams{}))(c.T)
	typed(c.VectorStores.Files.Get(ctx, made.ID, uploaded.ID))(c.T)
	typed(c.VectorStores.Files.List(ctx, made.ID, openai.VectorStoreFileListParams{}))(c.T)
	typed(c.VectorStores.Files.Content(ctx, made.ID, uploaded.ID))(c.T)
	typed(c.Files.Get(ctx, uploaded.ID))(c.T)
	typed(c.Files.List(ctx, openai.FileListParams{}))(c.T)
	content, err := c.Files.Content(ctx, uploaded.ID)
	if err != nil {
		c.Fatal(err)
	}
	defer content.Body.Close()
	if got, err := io.ReadAll(content.Body); err != nil || string(got) != string(pdf) {
		c.Errorf("the file has %d bytes, %v", len(got), err)
	}
	return made.ID, uploaded.ID
}

// answer asks for an answer from the store, whole and streamed.
func (c openAIForGo) answer(store, file string) {
	ctx := c.Context()
	conversation := typed(c.Conversations.New(ctx, conversations.ConversationNewParams{}))(c.T)
	asked := responses.ResponseNewParams{
		Model:        "parley",
		Input:        responses.ResponseNewParamsInputUnion{OfString: openai.String("How tall is the lighthouse?")},
		Tools:        []responses.ToolUnionParam{{OfFileSearch: &responses.FileSearchToolParam{VectorStoreIDs: []string{store}}}},
		Include:      []responses.ResponseIncludable{responses.ResponseIncludableFileSearchCallResults},
		Conversation: responses.ResponseNewParamsConversationUnion{OfString: openai.String(conversation.ID)},
	}
	whole := typed(c.Responses.New(ctx, asked))(c.T)
	c.cites(whole.Output, file)
	stream := c.Responses.NewStreaming(ctx, asked)
	var last responses.ResponseStreamEventUnion
	for stream.Next() {
		last = stream.Current()
		checkTypes(c.T, last)
	}
	if stream.Err() != nil || last.Type != "response.completed" {
		c.Errorf("the stream ends with %s, %v", last.RawJSON(), stream.Err())
	}
	c.cites(last.Response.Output, file)
	typed(c.Responses.Get(ctx, whole.ID, responses.ResponseGetParams{}))(c.T)
	typed(c.Responses.Cancel(ctx, whole.ID))(c.T)
	typed(c.Responses.InputItems.List(ctx, whole.ID, responses.InputItemListParams{}))(c.T)
	typed(c.Responses.InputTokens.Count(ctx, responses.InputTokenCountParams{
		Model: openai.String("parley"), Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String("How tall?")}}))(c.T)
	typed(c.Responses.Compact(ctx, responses.ResponseCompactParams{Model: "parley", PreviousResponseID: openai.String(whole.ID)}))(c.T)
	if items := typed(c.Conversations.Items.List(ctx, conversation.ID, conversations.ItemListParams{}))(c.T); len(items.Data) < 4 {
		c.Errorf("the conversation has %s", items.RawJSON())
	}
	if err := c.Responses.Delete(ctx, whole.ID); err != nil {
		c.Error(err)
	}
}

func (c openAIForGo) cites(output []responses.ResponseOutputItemUnion, file string) {
	for _, item := range output {
		for _, part := range item.Content {
			for _, a := range part.Annotations {
				if a.Type == "file_citation" && a.FileID == file && strings.Contains(a.RawJSON(), `"page":2`) {
					return
				}
			}
		}
	}
	c.Errorf("no citation of page 2 of %s in %+v", file, output)
}

func (c openAIForGo) complete() {
	ctx := c.Context()
	models := typed(c.Models.List(ctx))(c.T)
	typed(c.Models.Get(ctx, models.Data[0].ID))(c.T)
	typed(c.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "parley", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("How tall?")}}))(c.T)
	typed(c.Completions.New(ctx, openai.CompletionNewParams{Model: "parley", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("How tall?")}}))(c.T)
	asked := openai.ChatCompletionNewParams{Model: "parley", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How tall?")}}
	typed(c.Chat.Completions.New(ctx, asked))(c.T)
	stream := c.Chat.Completions.NewStreaming(ctx, asked)
	for stream.Next() {
		checkTypes(c.T, stream.Current())
	}
	if stream.Err() != nil {
		c.Error(stream.Err())
	}
}

// typed returns a function that checks a reply of the client's and returns it.
func typed[T any](v *T, err error) func(*testing.T) *T {
	return func(t *testing.T) *T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		checkTypes(t, *v)
		return v
	}
}

// checkTypes checks that v, which the client has decoded, has all members that its type requires, of the right types.
func checkTypes(t *testing.T, v any) {
	t.Helper()
	for _, wrong := range wrongMembers(reflect.ValueOf(v), reflect.TypeOf(v).Name()) {
		if wrong != "Response.AccessPrograms is missing" { // a programme of OpenAI's own, which Open Responses does not have
			t.Errorf("%s in %+v", wrong, v)
		}
	}
}

func wrongMembers(v reflect.Value, path string) (all []string) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, wrongMembers(v.Index(i), path)...)
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			all = wrongMembers(v.Elem(), path)
		}
	case reflect.Struct:
		if union := v.MethodByName("AsAny"); union.IsValid() { // the variant has what is required
			return wrongMembers(union.Call(nil)[0], path)
		}
		given := v.FieldByName("JSON")
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !given.IsValid() || !given.FieldByName(field.Name).IsValid() {
				continue
			}
			name := v.Type().Name() + "." + field.Name
			switch got := given.FieldByName(field.Name).Interface().(respjson.Field); {
			case got.Raw() == respjson.Omitted:
				if field.Tag.Get("api") == "required" {
					all = append(all, name+" is missing")
				}
			case got.Raw() != respjson.Null && !got.Valid():
				all = append(all, fmt.Sprintf("%s is %s", name, got.Raw()))
			case got.Valid():
				all = append(all, wrongMembers(v.Field(i), name)...)
			}
		}
	}
	return all
}
