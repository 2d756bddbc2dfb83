package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"time"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/fetch"
	"parley/internal/format"
	"parley/internal/ledger"
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
	tools  *toolbox      // empty but where openTools has filled it
	web    *fetch.Client // reads web sites to ingest
	pages  *extract.Pool // draws pages; holds no process until it is asked to
	viewer *pageview.Viewer
	engine *chat.Engine
	crew   chat.Runner // the engine, with the team round it
	keys   *turn.Keys
	prices *price.Table
	lacks  *coverage // what is not there yet
}

// open opens the data folder and what answers from it. The caller closes the instance.
func (p *program) open(ctx context.Context, cfg Config, options ...retrieval.Option) (*instance, error) {
	db, err := store.Open(ctx, cfg.Data, p.log)
	if err != nil {
		return nil, err
	}
	in := &instance{cfg: cfg, db: db}
	prices, err := readPrices(cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	in.prices, in.keys = prices, turn.NewKeys(db.State(), nil)
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
	if in.corpus, err = retrieval.Open(ctx, db.Corpus(), p.log, append(options, embedding(cfg, models)...)...); err != nil {
		return nil, errors.Join(fmt.Errorf("open the corpus: %w", err), db.Close())
	}
	in.lacks = &coverage{corpus: db.Corpus(), namespace: cfg.Namespace, log: p.log}
	in.web = newWebClient(cfg)
	in.models, in.tools, in.pages = models, &toolbox{}, newPool(cfg, pageWorkers, false)
	in.viewer = pageview.New(db.Blobs(), in.pages)
	config := chat.Config{
		Retriever:    in.corpus,
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
		Read:         answerer(cfg).Read,
		Suggest:      builtin.Suggest,
		Prompts:      prompts,
		Namespace:    cfg.Namespace,
		Logger:       p.log,
	}
	config.Defaults.Models = cfg.stageModels()
	if len(cfg.StagesRerank) > 1 {
		config.RerankFallback = cfg.StagesRerank[1:]
	}
	if cfg.FallbackToBuiltin {
		config.Fallback = builtinModel
	}
	in.engine = chat.NewEngine(config)
	if in.crew, err = p.newTeam(cfg, in.engine); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// newRunner returns a runner of turns, with what the configuration says added to the options.
func (in *instance) newRunner(log *slog.Logger, o turn.Options) *turn.Runner {
	o.Log, o.Namespace, o.Allow = log, in.cfg.Namespace, in.cfg.allowlist()
	o.Budgets, o.Price = budgets(in.cfg, in.db.State()), costs(in.prices)
	return turn.NewRunner(in.crew, in.db.State(), o)
}

// openAnswering is open for commands that answer: with the tools of models, and with budgets that limit
// what they should.
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

// Close ends all use of the data folder.
func (in *instance) Close() error {
	in.tools.Close()
	in.web.Close()
	return errors.Join(in.pages.Close(), in.db.Close())
}

// sees reports whether the model that answers reads images.
func (in *instance) sees() bool { return in.models.Capabilities(in.cfg.Model).Vision }

// supports returns which files are ingested. Images are of use to models that see, and only noise
// to others.
func supports(cfg Config) func(name string, head []byte) bool {
	return func(name string, head []byte) bool {
		return extract.Supports(name, head) && (cfg.IngestImages || format.NameOf(name) != "image")
	}
}

// pageWorkers is how many pages are drawn at once.
const pageWorkers = 2

// newPool returns a pool of processes that read files. Ahead is for many files: then all start with
// the first one.
func newPool(cfg Config, workers int, ahead bool) *extract.Pool {
	return extract.NewPool(extract.Options{
		Workers: workers, Ahead: ahead, CacheDir: filepath.Join(cfg.Data, "cache"),
		Limits: extract.Limits{Time: time.Duration(cfg.ExtractTimeout), MemoryBytes: int64(cfg.ExtractMemory)},
	})
}

// blobAge is how long an original without a document is kept, because a document that refers to
// it may be about to be committed.
const blobAge = time.Hour

// ingest brings sources into the corpus, files before web sites, which take longer.
func (p *program) ingest(ctx context.Context, in *instance, from sources, progress func(ingest.Progress)) (report ingest.Report, err error) {
	pool := newPool(in.cfg, in.cfg.readers(), true)
	defer pool.Close()
	ingester := p.ingester(in, pool)
	if len(from.paths) > 0 {
		if report, err = ingester.Run(ctx, from.paths, progress); err != nil {
			return report, badPath(err)
		}
	}
	if len(from.urls) > 0 {
		sites, err := from.sites(ctx, ingester)
		if err != nil {
			return report, badPath(err)
		}
		web, err := ingester.RunSites(ctx, sites, progress)
		report.Add(web)
		return report, badPath(err)
	}
	return report, nil
}

// readers is how many processes read files for an ingestion.
func (c *Config) readers() int {
	if c.ExtractWorkers > 0 {
		return c.ExtractWorkers
	}
	return min(runtime.NumCPU(), 4)
}

func (p *program) ingester(in *instance, pool *extract.Pool) *ingest.Ingester {
	return ingest.New(p.ingestConfig(in, pool))
}

func (p *program) ingestConfig(in *instance, pool *extract.Pool) ingest.Config {
	return ingest.Config{
		Corpus: in.corpus, Store: in.db.Corpus(), Blobs: in.db.Blobs(), Extractor: pool,
		Namespace: in.cfg.Namespace, DataDir: in.cfg.Data, Supports: supports(in.cfg),
		Sweep:   func(ctx context.Context) (int, error) { return in.db.SweepBlobs(ctx, blobAge) },
		Workers: in.cfg.readers(), ConfigFile: p.configFile, Logger: p.log,
		Crawler: newCrawler(in.cfg, in.web), MayName: in.cfg.mayName, Split: in.cfg.split(),
	}
}

// split returns how documents are cut into chunks.
func (c *Config) split() ingest.SplitOptions {
	return ingest.SplitOptions{Size: c.IngestChunkSize, Overlap: cmp.Or(c.IngestChunkOverlap, -1)}
}

// badPath makes a usage error of one that is about a path or address of the command line.
func badPath(err error) error {
	if _, bad := errors.AsType[*ingest.PathError](err); bad {
		return usageError{err}
	}
	if _, bad := errors.AsType[*ingest.SiteError](err); bad {
		return usageError{err}
	}
	return err
}
