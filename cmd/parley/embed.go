package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"parley/internal/builtin"
	"parley/internal/documents/ingest"
	"parley/internal/interrupt"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/price"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire/openai"
)

// embedding returns the option for vector search; none without an embedder.
func embedding(cfg Config, models *llm.Router) []retrieval.Option {
	if cfg.Embedding == "" {
		return nil
	}
	return []retrieval.Option{retrieval.WithEmbedding(retrieval.Embedding{
		Embedders: models, Model: cfg.Embedding, Dimensions: cfg.EmbeddingDimensions, Share: builtin.LikenessShare, Knows: builtin.Knows,
	})}
}

// vectorIndex returns the options for the memory of indexes, and for an index of vectors in the database. It logs how vectors
// that do not fit into memory are searched.
func (p *program) vectorIndex(ctx context.Context, cfg Config, db *store.DB) ([]retrieval.Option, error) {
	memory := cfg.indexMemory()
	options := []retrieval.Option{retrieval.WithMemory(memory)}
	db.LimitSegments(2 * memory)
	if cfg.Embedding == "" || memory == 0 {
		return options, nil
	}
	index, about, err := db.VectorIndex(ctx)
	switch {
	case err != nil:
		return nil, err
	case index != nil:
		p.log.Info("vectors of a namespace are searched in memory, and where they take more than this by pgvector", "mebibytes", memory/2>>20, "version", about)
		options = append(options, retrieval.WithVectorIndex(index))
	case about != "":
		p.log.Info("all vectors are searched in memory", "reason", about)
	}
	return options, nil
}

// embeddings returns the embedder for clients: the configured one, or else the built-in one.
func (in *instance) embeddings() openai.Embedding {
	key := cmp.Or(in.cfg.Embedding, ledger.Builtin+":"+builtin.Embedders()[0])
	return openai.Embedding{Model: key, Embed: func(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
		e, name, err := in.models.ResolveEmbedder(key)
		if err != nil {
			return llm.Embeddings{}, err
		}
		req.Model = name
		return e.Embed(ctx, req)
	}}
}

// embed gives every chunk its vector, if an embedder is configured. It prints the expected and the
// actual cost on out, and reports progress to d and watch. If another process is embedding, the
// error is a *ingest.LockedError.
func (in *instance) embed(ctx context.Context, out io.Writer, d *display, watch func(embedProgress)) error {
	if in.cfg.Embedding == "" {
		return nil
	}
	unlock, err := in.locks().Embedding()
	if err != nil {
		return err
	}
	defer unlock()
	plan, err := in.corpus.PlanEmbedding(ctx)
	if err != nil {
		return err
	}
	watch(embedProgress{plan: plan})
	if plan.Chunks > 0 {
		fmt.Fprintf(out, "Embedding %s.\n", planned(plan, in.prices))
	}
	began := time.Now()
	d.Start()
	report, err := in.corpus.Embed(ctx, func(r retrieval.EmbedReport) {
		p := embedProgress{report: r, plan: plan, cost: in.costOf(r.Usage), elapsed: time.Since(began)}
		watch(p)
		d.Embedded(p)
	})
	d.Finish()
	if report.Chunks > 0 {
		fmt.Fprintf(out, "Embedded %s in %v: %s, %s.\n", plural(report.Chunks, "chunk"), rounded(report.Duration),
			plural(report.Usage.Input, "token"), in.costOf(report.Usage))
	}
	if report.Refused > 0 {
		fmt.Fprintf(out, "%s refuses %s; they are found by their words only.\n", report.Model, plural(report.Refused, "text"))
	}
	return err
}

// embedNow is embed, but waits for another process that is embedding. With the default embedder it does nothing: servers embed.
func (p *program) embedNow(ctx context.Context, in *instance, out io.Writer, d *display) error {
	if p.serversEmbed {
		return nil
	}
	for waiting := false; ; waiting = true {
		err := in.embed(ctx, out, d, func(embedProgress) {})
		locked, elsewhere := errors.AsType[*ingest.LockedError](err)
		if !elsewhere {
			return err
		}
		if !waiting {
			p.log.Info("waiting for another process that embeds", "process", locked.PID)
		}
		if interrupt.Sleep(ctx, lockInterval) != nil {
			return ctx.Err()
		}
	}
}

// lockInterval is the time between two checks whether another process has finished embedding.
const lockInterval = time.Second

// planned describes the expected work of an embedding.
func planned(plan retrieval.EmbedPlan, prices *price.Table) string {
	s := fmt.Sprintf("%s of %s with %s: ", plural(plan.Chunks, "chunk"), plural(plan.Documents, "document"), plan.Model)
	if plan.Texts == 0 {
		return s + "all texts are known already, so it costs nothing"
	}
	if plan.Texts < plan.Chunks {
		s += fmt.Sprintf("%s new, ", plural(plan.Texts, "text"))
	}
	return s + fmt.Sprintf("about %s, %s", plural(plan.Tokens, "token"), cost(prices, plan.Model, llm.Usage{Input: plan.Tokens}))
}

// cost returns the price of a model's tokens as text.
func cost(prices *price.Table, key string, u llm.Usage) string {
	provider, model, _ := strings.Cut(key, ":")
	if provider == ledger.Builtin {
		return "free"
	}
	micros, known := prices.Cost(provider, model, u, time.Now())
	if !known {
		return "price unknown"
	}
	return "$" + dollars(micros).String()
}

func (in *instance) costOf(u llm.Usage) string { return cost(in.prices, in.cfg.Embedding, u) }

// embedProgress is the state of an embedding.
type embedProgress struct {
	report  retrieval.EmbedReport
	plan    retrieval.EmbedPlan
	cost    string
	elapsed time.Duration
}

func (e embedProgress) String() string {
	line := fmt.Sprintf("%d/%s, %s, %s", e.report.Chunks, plural(max(e.plan.Chunks, e.report.Chunks), "chunk"),
		plural(e.report.Usage.Input, "token"), e.cost)
	if left := e.left(); left > 0 {
		line += fmt.Sprintf(", %v left", max(left.Round(time.Second), time.Second))
	}
	return line
}

// left estimates the remaining time from the texts embedded so far; 0 if unknown. Known texts take
// no time.
func (e embedProgress) left() time.Duration {
	done := e.report.Chunks - e.report.Known
	if rest := e.plan.Texts - done; done > 0 && rest > 0 {
		return time.Duration(float64(e.elapsed) / float64(done) * float64(rest))
	}
	return 0
}
