package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"parley/internal/access"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire/azurechat"
	"parley/internal/wire/ragchat"
	"parley/internal/wire/webapi"
)

// webAPI returns what answers the web page.
func (s *serving) webAPI() *webapi.Handler {
	return webapi.New(webapi.Config{
		Principal:  func(*http.Request) (access.Principal, error) { return access.Anonymous, nil },
		Namespaces: s.namespaces,
		Namespace:  s.cfg.Namespace,
		Catalog:    s.db.Corpus(),
		Pictures:   newPictures(s.db.Blobs(), s.pages),
		Turns:      s.runner,
		Records:    s.db.State(),
		Settings:   s.webSettings,
		Delete:     s.deleteDocument,
	})
}

// deleteDocument deletes a document from the index, and forgets what is known of its file: it comes
// back with the next ingestion that finds the file, which is reported. Archives and mails around it
// are read anew then.
func (in *instance) deleteDocument(ctx context.Context, d retrieval.Document) (returns bool, err error) {
	own, around, err := in.db.Corpus().FilesOf(ctx, d.Namespace, d.ID)
	if err != nil {
		return false, err
	}
	b := retrieval.Batch{Namespace: d.Namespace, Delete: []string{d.ID}}
	for _, f := range own {
		b.DropFiles = append(b.DropFiles, f.FileKey)
	}
	for _, f := range around {
		f.SHA256, f.Generation = "", "" // as if it had changed
		b.PutFiles = append(b.PutFiles, f)
	}
	return len(own) > 0, in.corpus.Apply(ctx, b)
}

// webSettings returns what the web page must know at its start.
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
			Vectors: s.cfg.Embedding != "", Rerank: s.cfg.reranks(), Vision: s.sees(),
			Tools:     len(s.tools.Offer(s.cfg.Namespace, "")) > 0 && s.models.Capabilities(s.cfg.Model).Tools,
			WebSearch: s.tools.searchesWeb(s.cfg.Namespace, ""), MultiAgent: true,
		},
		Limits:   webapi.Limits{Body: int64(s.cfg.LimitsMaxBody), Question: maxQuestion},
		Settings: webapi.Described{Azure: azurechat.Settings(engine), RAGChat: ragchat.Settings(s.ragChatDefaults())},
		Ingestion: webapi.Ingestion{
			Running: i.Running, Files: i.Files, Done: i.Done, Indexed: i.Indexed, Unchanged: i.Unchanged, Skipped: i.Skipped,
			Failed: i.Failed, Embedding: i.Embedding, Unembedded: i.Unembedded,
		},
		Problems: s.problems(i.Embedding, i.Unembedded),
	}
}

// maxQuestion is how many bytes a question may have, as the engine has it.
const maxQuestion = 32 << 10

// webModels returns the models of the configuration that requests may name, by stage. GET /api/models
// has those that the providers list.
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
		"rerank":      allowed(append(slices.Clone(s.cfg.StagesRerank), builtinReranker)...),
		"summary":     allowed(slices.Concat(s.cfg.StagesSummary, reads, []string{builtinSummary})...),
		"tools_synth": allowed(slices.Concat(s.cfg.StagesSynthesis, reads)...),
	}
}

// problems returns what people should know before they ask.
func (s *serving) problems(embedding bool, waiting int) []webapi.Problem {
	out := []webapi.Problem{}
	if isBuiltin(s.cfg.Model) {
		out = append(out, webapi.Problem{Code: "no_key", Severity: webapi.Info,
			Message: "Answers are sentences of your documents, because no language model is configured. " +
				"Set a key, such as OPENAI_API_KEY, and --model to have them worded by one."})
	}
	if embedding && waiting > 0 {
		out = append(out, webapi.Problem{Code: "embedding", Severity: webapi.Info,
			Message: "Vectors are being made for " + plural(waiting, "chunk") + ". Until then those are found by their words only."})
	}
	for _, endpoint := range s.models.Open() {
		provider, model, _ := strings.Cut(endpoint, ":")
		out = append(out, webapi.Problem{Code: "provider_down", Severity: webapi.Failing,
			Message: "The model " + llm.CleanName(model) + " of " + llm.CleanName(provider) + " does not answer at the moment. It is tried again now and then."})
	}
	return out
}
