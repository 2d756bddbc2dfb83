package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/fetch"
	"parley/internal/ledger"
	"parley/internal/library"
	"parley/internal/llm"
	"parley/internal/llm/price"
	"parley/internal/pageview"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/tokens"
	"parley/internal/turn"
)

// instance is Parley over one data folder, wired together.
type instance struct {
	cfg    Config
	db     *store.DB
	corpus *retrieval.Corpus
	books  *ledger.Ledger
	models *llm.Router
	tools  *toolbox      // empty until openTools fills it
	web    *fetch.Client // reads web sites to ingest
	pages  *sandbox.Pool // draws pages; starts its first process on demand
	viewer *pageview.Viewer
	engine *chat.Engine
	crew   chat.Runner // the engine, including multi-agent chat
	keys   *turn.Keys
	prices *price.Table
	lacks  *coverage // tells users about missing documents

	documents *documents.Service // ingests documents
	library   *library.Library   // files and vector stores of clients
	searcher  library.Searcher   // searches the corpus for clients
}

// openStore opens the store: the data folder, or the database of the configuration.
func (p *program) openStore(ctx context.Context, cfg Config) (*store.DB, error) {
	if cfg.Database != "" {
		return store.OpenPostgres(ctx, cfg.Database, cfg.Data, p.log)
	}
	return store.Open(ctx, cfg.Data, p.log)
}

// open opens the data folder and wires an instance. The caller closes it.
func (p *program) open(ctx context.Context, cfg Config, options ...retrieval.Option) (*instance, error) {
	db, err := p.openStore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	in := &instance{cfg: cfg, db: db}
	prices, err := readPrices(cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	in.prices, in.keys = prices, turn.NewKeys(db.State(), nil).Share(in.peers())
	in.books = ledger.New(db.State(), ledger.Options{Log: p.log, Price: costs(prices), Count: tokens.Count})
	models, err := p.newRouter(cfg, in.books)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	models.KnownWindow = func(provider, model string) int {
		p, _ := prices.Find(provider, model)
		return p.Context
	}
	prompts, err := readPrompts(cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	index, err := p.vectorIndex(ctx, cfg, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	options = slices.Concat(options, embedding(cfg, models), index)
	if in.corpus, err = retrieval.Open(ctx, db.Corpus(), p.log, options...); err != nil {
		return nil, errors.Join(fmt.Errorf("open the corpus: %w", err), db.Close())
	}
	in.lacks = &coverage{corpus: db.Corpus(), namespace: cfg.Namespace, log: p.log}
	in.web = newWebClient(cfg)
	in.documents = p.newDocuments(cfg, db, in.corpus, in.web)
	in.library = library.New(library.Config{Items: db.Shelf(), Documents: in.documents})
	in.searcher = library.Searcher{Corpus: in.corpus, Library: in.library, Documents: db.Corpus()}
	in.models, in.tools = models, &toolbox{}
	in.pages = sandbox.NewPool(sandbox.Options{
		Workers: pageWorkers, CacheDir: filepath.Join(cfg.Data, "cache"), Limits: extractLimits(cfg),
	})
	in.viewer = pageview.New(db.Blobs(), in.pages)
	config := chat.Config{
		Retriever:    in.searcher,
		Models:       models,
		Coverage:     in.lacks,
		Rerankers:    models,
		Capabilities: models.Capabilities,
		Window:       models.Window,
		CountExactly: tokens.Count,
		PageImage:    in.viewer.DataURL,
		Tools:        in.tools,
		OnRequest:    cfg.onRequest(),
		Writes:       in.tools.writes,
		Rewrite:      builtin.Rewrite,
		Read:         answerer().Read,
		Suggest:      answerer().Suggest,
		Reader:       reader,
		SmallTalk:    builtin.IsSmallTalk,
		Prompts:      prompts,
		Instructions: db.Instructions().Of,
		Namespace:    cfg.Namespace,
		Logger:       p.log,
	}
	config.Defaults.Models = cfg.stageModels()
	if len(cfg.StagesRerank) > 1 {
		config.RerankFallback = cfg.StagesRerank[1:]
	}
	if slices.Contains(cfg.Fallback, builtinModel) {
		config.Fallback = builtinModel
	}
	in.engine = chat.NewEngine(config)
	if in.crew, err = p.newTeam(cfg, in.engine); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// newRunner returns a runner of turns with the given options and those of the configuration.
func (in *instance) newRunner(log *slog.Logger, o turn.Options) *turn.Runner {
	o.Log, o.Namespace, o.Allow = log, in.cfg.Namespace, in.cfg.allowlist()
	o.Budgets, o.Price, o.Peers = budgets(in.cfg, in.db, in.db.Peers() != nil), costs(in.prices), in.peers()
	return turn.NewRunner(in.crew, in.db.State(), o)
}

// openAnswering is open for commands that answer questions: it adds tools and checks that budgets
// can work.
func (p *program) openAnswering(ctx context.Context, options ...retrieval.Option) (*instance, error) {
	in, err := p.open(ctx, p.config, options...)
	if err != nil {
		return nil, err
	}
	if err = in.checkPriced(p.log); err == nil {
		err = p.openTools(ctx, in)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (in *instance) Close() error {
	in.tools.Close()
	in.web.Close()
	return errors.Join(in.pages.Close(), in.db.Close())
}

// sees reports whether the answering model reads images.
func (in *instance) sees() bool { return in.models.Capabilities(in.cfg.Model).Vision }

// pageWorkers is the number of pages that are drawn at once.
const pageWorkers = 2

func extractLimits(cfg Config) extract.Limits {
	return extract.Limits{Time: time.Duration(cfg.ExtractTimeout), MemoryBytes: int64(cfg.ExtractMemory)}
}
