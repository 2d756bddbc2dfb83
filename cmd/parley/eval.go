package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/eval"
	"parley/internal/llm"
)

type evalCmd struct {
	Dataset string `arg:"" name:"dataset" help:"Folder with queries.jsonl and qrels.tsv, with ground_truth*.jsonl, or with sets of answers (facts.jsonl)."`
	Corpus  string `placeholder:"DIR" help:"Folder that holds corpus.jsonl, if it is not in DATASET."`
	Stages  bool   `help:"Also measure with the models for rewriting and reranking: up to four calls for each query."`
	JSON    bool   `name:"json" help:"Print the measures as JSON."`
	Compare string `placeholder:"FILE" help:"An older report on the same answers: also list the questions won and lost since."`
}

// Help returns text that kong cannot derive.
func (evalCmd) Help() string {
	return "The index is made in a temporary folder, unless --data or --database is on the command line: " +
		"then it is kept there for the next time. The usual data folder and database are never touched."
}

// Run prints the measures.
func (c evalCmd) Run(ctx context.Context, p *program) error {
	sets, err := eval.LoadAnswers(c.Dataset)
	if err != nil {
		return usageError{err}
	}
	if len(sets) > 0 {
		return c.judge(ctx, p, sets)
	}
	if c.Compare != "" {
		return usagef("--compare is for sets of answers, and %s holds none", c.Dataset)
	}
	d, err := eval.Load(c.Dataset, c.Corpus)
	if err != nil {
		return usageError{err}
	}
	cfg := p.config
	if p.serversEmbed {
		cfg.Embedding = "" // large sets would take hours
	}
	if !p.given["database"] {
		cfg.Database = ""
	}
	if !p.given["data"] {
		if cfg.Data, err = os.MkdirTemp("", "parley-eval-"); err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		defer os.RemoveAll(cfg.Data)
	}
	report, err := p.evaluate(ctx, cfg, d, c.Stages)
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	return report.WriteTable(p.stdout)
}

func (p *program) evaluate(ctx context.Context, cfg Config, d *eval.Dataset, stages bool) (report *eval.Report, err error) {
	display := newDisplay(p.stderr, time.Now)
	defer display.Finish()
	in, err := p.open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	env := eval.Env{Corpus: in.corpus, Store: in.db.Corpus(), Namespace: cfg.Namespace, Rewrite: builtin.Rewrite, Ask: in.askOnce}
	env.Find = func(ctx context.Context, req *chat.Request) (*chat.Turn, error) {
		return chat.Collect(in.engine.Finder().Run(ctx, req))
	}
	env.Options, env.Embedding = in.engine.Defaults(), cfg.Embedding
	report = &eval.Report{Dataset: d.Name}
	if err := p.index(ctx, in, env, d, display, report); err != nil {
		return nil, err
	}
	display.Finish()
	if err := p.embedNow(ctx, in, p.stderr, display); err != nil {
		return nil, err
	}
	stats, err := in.db.Corpus().Stats(ctx, cfg.Namespace)
	if err != nil {
		return nil, err
	}
	report.Documents, report.Chunks = stats.Documents, stats.Chunks
	if len(d.Queries) > 0 {
		if report.Rankings, err = eval.Rank(ctx, env, d); err != nil || !stages {
			return report, err
		}
		more, err := eval.RankStages(ctx, env, d)
		report.Rankings = append(report.Rankings, more...)
		return report, err
	}
	report.Pages, err = eval.AskPages(ctx, env, d)
	return report, err
}

// index ingests the corpus of the data set.
func (p *program) index(ctx context.Context, in *instance, env eval.Env, d *eval.Dataset, display *display, report *eval.Report) error {
	if len(d.Queries) > 0 {
		env.Progress = func(done int) {
			display.Update(ingest.Progress{Phase: ingest.Indexing, FilesTotal: done, FilesDone: done})
		}
		took, err := eval.Index(ctx, env, d)
		report.Indexing = took.Seconds()
		return err
	}
	r, err := in.documents.Ingest(ctx, documents.Sources{Paths: []string{d.Documents}}, display.Update)
	report.Indexing = r.Duration.Seconds()
	if err == nil && len(r.Failed) > 0 {
		display.Finish()
		writeResults(p.stderr, "Failed", r.Failed)
	}
	return err
}

// askOnce runs one question without history.
func (in *instance) askOnce(ctx context.Context, question string) (*chat.Turn, error) {
	return in.askIn(ctx, nil, question)
}

// askIn runs one question at the end of a conversation.
func (in *instance) askIn(ctx context.Context, conversation []chat.Message, question string) (*chat.Turn, error) {
	return chat.Collect(in.engine.Run(ctx, &chat.Request{
		Namespace: in.cfg.Namespace, Options: in.engine.Defaults(),
		Messages: append(slices.Clone(conversation), chat.TextMessage(llm.User, question)),
	}))
}
