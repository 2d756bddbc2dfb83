package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/job"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/ingestapi"
	"parley/internal/wire/ragchat"
	"parley/internal/wire/webapi"
)

// webAPI returns the handler of the web page's API.
func (s *serving) webAPI() *webapi.Handler {
	return webapi.New(webapi.Config{
		Namespaces: s.namespaces,
		Namespace:  s.cfg.Namespace,
		Catalog:    s.db.Corpus(),
		Pictures:   s.viewer,
		Turns:      s.runner,
		Records:    s.db.State(),
		Chats:      s.db.Transcripts(),
		Shelf:      s.db.Shelf(),
		Settings:   s.webSettings,
		Usage:      s.db.State().Usage,
		Delete:     s.documents.DeleteDocument,
		Changes:    s.uploads,
		Uploaded:   s.documents.UploadedBy,
		Reindex:    s.reindex,
	})
}

// reindex rebuilds a document.
func (s *serving) reindex(ctx context.Context, who access.Principal, d retrieval.Document) (string, error) {
	j, err := s.documents.Reindex(ctx, who, d)
	queue, queued := errors.AsType[*job.QueueError](err)
	switch {
	case queued:
		err = ingestapi.TooManyJobs(queue)
	case errors.Is(err, documents.ErrSite):
		err = &chat.Error{Kind: chat.Conflict, Msg: "A web page is read again together with its site."}
	case errors.Is(err, documents.ErrNotFound):
		err = &chat.Error{Kind: chat.Conflict, Msg: "The file of this document is unknown."}
	}
	return j.ID, err
}

// webSettings returns the settings that the web page needs at its start.
func (s *serving) webSettings(ctx context.Context) webapi.Settings {
	i := s.Ingestion()
	engine, models := s.engine.Defaults(), s.cfg.stageModels()
	return webapi.Settings{
		Version: release, Model: s.cfg.Model, Builtin: isBuiltin(s.cfg.Model),
		Models: s.webModels(),
		Defaults: map[string]string{
			"inference": models.Inference, "rewrite": models.Rewrite, "rerank": models.Rerank, "summary": models.Summary,
			"tools_synth": models.Synthesis,
		},
		Capabilities: webapi.Capabilities{
			Vectors: s.cfg.Embedding != "" && !s.tooMany.Load(), Rerank: s.cfg.reranks(), Vision: s.sees(),
			Tools:     len(s.tools.Offer(s.cfg.Namespace)) > 0 && s.models.Capabilities(s.cfg.Model).Tools,
			WebSearch: s.tools.searchesWeb(s.cfg.Namespace), MultiAgent: true,
			Uploads: s.uploads, WebSources: s.uploads, Reindex: s.uploads,
		},
		Limits:   webapi.Limits{Body: int64(s.cfg.LimitsMaxBody), Upload: s.maxUpload(), Question: chat.MaxQuestion},
		Settings: webapi.Described{Azure: azurechat.Settings(engine), RAGChat: ragchat.Settings(s.ragChatDefaults())},
		Ingestion: webapi.Ingestion{
			Running: i.Running, Files: i.Files, Done: i.Done, Indexed: i.Indexed, Unchanged: i.Unchanged, Skipped: i.Skipped,
			Failed: i.Failed, Embedding: i.Embedding, Unembedded: i.Unembedded,
		},
		Problems: s.problems(i.Embedding, i.Unembedded),
	}
}

// maxUpload returns the size limit of an upload in bytes, 0 if uploads are not allowed.
func (s *serving) maxUpload() int64 {
	if !s.uploads {
		return 0
	}
	return int64(s.cfg.LimitsMaxUpload)
}

// webModels returns the configured models that requests may name, by stage. GET /api/models lists
// the providers' models.
func (s *serving) webModels() map[string][]string {
	list, d := s.cfg.allowlist(), s.cfg.stageModels()
	allowed := func(keys ...string) []string {
		out := []string{}
		for _, key := range keys {
			usual := []string{d.Inference, d.Rewrite, d.Rerank, d.Summary, d.Synthesis}
			if key != "" && !slices.Contains(out, key) && (list.Allows(key) || slices.Contains(usual, key)) {
				out = append(out, key)
			}
		}
		return out
	}
	chats := append([]string{s.cfg.Model}, s.cfg.Fallback...)
	if !slices.Contains(chats, builtinModel) {
		chats = append(chats, builtinModel)
	}
	reads := slices.DeleteFunc(slices.Clone(chats), isBuiltin)
	return map[string][]string{
		"inference":   allowed(chats...),
		"rewrite":     allowed(slices.Concat(s.cfg.StagesRewrite, reads, []string{builtinRewriter})...),
		"rerank":      allowed(append(slices.Clone(s.cfg.StagesRerank), builtinReader, builtinLexical)...),
		"summary":     allowed(slices.Concat(s.cfg.StagesSummary, reads, []string{builtinSummary})...),
		"tools_synth": allowed(reads...),
	}
}

// problems returns what users should know before they ask.
func (s *serving) problems(embedding bool, waiting int) []webapi.Problem {
	out := []webapi.Problem{}
	if isBuiltin(s.cfg.Model) {
		out = append(out, webapi.Problem{Code: "no_key", Severity: webapi.Info,
			Message: "Answers quote your documents, because no language model is set up. " +
				"To have a model write them, set a key such as OPENAI_API_KEY, and the setting model."})
	}
	if embedding && waiting > 0 {
		out = append(out, webapi.Problem{Code: "embedding", Severity: webapi.Info,
			Message: "Search by meaning is being prepared for " + plural(waiting, "passage") + ". Until it is ready, these are found by their words only."})
	}
	for _, endpoint := range s.models.Open() {
		provider, model, _ := strings.Cut(endpoint, ":")
		out = append(out, webapi.Problem{Code: "provider_down", Severity: webapi.Failing,
			Message: "The model " + llm.CleanName(model) + " of " + llm.CleanName(provider) + " isn't answering at the moment. Parley keeps trying."})
	}
	return out
}
