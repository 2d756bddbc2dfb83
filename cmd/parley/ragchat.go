package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/price"
	"parley/internal/shelf"
	"parley/internal/store"
	"parley/internal/wire/ragchat"
)

// ragChat returns the handler of the Chat-with-RAG API.
func (s *serving) ragChat() *ragchat.Handler {
	catalog := &catalog{program: s.program, cfg: s.cfg, prices: s.prices}
	return ragchat.New(ragchat.Config{
		Base:         s.base(s.runner),
		Log:          s.runner.Log,
		Board:        s.board(),
		Sessions:     s.db.State(),
		Ledger:       s.db.State(),
		Search:       s.searcher.Search,
		Models:       catalog.models,
		Parameters:   s.ragChatDefaults(),
		NewBill:      func() ragchat.Bill { return s.runner.NewBill(s.engine.Finder()) },
		Document:     s.db.Corpus().Document,
		DocumentByID: s.db.Corpus().DocumentByID,
		Embedding:    s.cfg.Embedding,
		WebSearch:    s.tools.searchesWeb,
		Logger:       s.log,
	})
}

// longestAnswer is the default limit of an answer in tokens. The documented 500 cut off ordinary answers
// with a table or a list.
const longestAnswer = 2000

// ragChatDefaults returns the defaults for requests of the Chat-with-RAG API.
func (s *serving) ragChatDefaults() ragchat.Defaults {
	d := ragchat.DefaultDefaults()
	d.ShowSteps = s.cfg.RAGChatShowProcessingSteps
	d.MaxOutputTokens = longestAnswer
	return d
}

// budgets returns the budgets of the configuration. shared says that other servers may spend from them, too.
func budgets(cfg Config, db *store.DB, shared bool) *ledger.Budgets {
	return ledger.NewBudgets(db.State(), ledger.BudgetOptions{
		Shared:    shared,
		Window:    time.Duration(cfg.BudgetsWindow),
		Assumed:   int64(cfg.BudgetsAssumedPrice),
		User:      ledger.Limits{Requests: cfg.BudgetsUserRequests, Tokens: cfg.BudgetsUserTokens, Micros: int64(cfg.BudgetsUserCost)},
		Namespace: ledger.Limits{Requests: cfg.BudgetsNamespaceRequests, Tokens: cfg.BudgetsNamespaceTokens, Micros: int64(cfg.BudgetsNamespaceCost)},
		Chosen:    chosenBudgets{db.Shelf()}.read,
	})
}

// chosenBudgets keeps the limits that administrators have chosen in place of the configured ones.
type chosenBudgets struct{ items *store.Shelf }

var budgetsKey = shelf.Key{Kind: shelf.Budgets, ID: "chosen"}

func (c chosenBudgets) read(ctx context.Context) (a ledger.Allowance, chosen bool, err error) {
	i, err := c.items.Item(ctx, budgetsKey)
	if errors.Is(err, shelf.ErrNotFound) {
		return a, false, nil
	}
	if err == nil {
		err = json.Unmarshal(i.Body, &a)
	}
	return a, err == nil, err
}

func (c chosenBudgets) set(ctx context.Context, a *ledger.Allowance) error {
	if a == nil {
		if err := c.items.Delete(ctx, budgetsKey); !errors.Is(err, shelf.ErrNotFound) {
			return err
		}
		return nil
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = c.items.Save(ctx, budgetsKey, func(i *shelf.Item, _ bool) error {
		i.CreatedAt, i.Body = time.Now(), body
		return nil
	})
	return err
}

// catalogTime is the time for which a list of models stays valid.
const catalogTime = 5 * time.Minute

// catalog lists the models that requests may name: models that providers list, that have a price,
// or that are configured. It caches the providers' answers.
type catalog struct {
	program *program
	cfg     Config
	prices  *price.Table

	mu   sync.Mutex
	all  []ragchat.Model
	read time.Time
}

func (c *catalog) models(ctx context.Context) []ragchat.Model {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < catalogTime {
		return c.all
	}
	// The result serves all clients, so it must not depend on the first client's connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*probeTime)
	defer cancel()
	var listings []*listing
	var probes sync.WaitGroup
	for _, provider := range c.program.providersOf(c.cfg) {
		if provider.missing(c.cfg) != "" {
			continue
		}
		l := &listing{name: provider.name}
		listings = append(listings, l)
		probes.Go(func() { l.probe(ctx, provider, c.cfg) })
	}
	probes.Wait()
	c.all = nil
	for _, l := range listings {
		l.add(c.cfg.models(), false)
		for _, name := range c.prices.Models(l.name) {
			l.add([]string{l.name + ":" + name}, false)
		}
		for _, m := range l.models {
			if d := c.describe(l, m); c.mayBeNamed(d) {
				c.all = append(c.all, d)
			}
		}
	}
	c.read = time.Now()
	return c.all
}

// mayBeNamed reports whether a request may name a model. Models that stages use are always allowed,
// and embedding models never appear here.
func (c *catalog) mayBeNamed(m ragchat.Model) bool {
	list := c.cfg.allowlist()
	d := list.Defaults
	return m.Endpoint == "embeddings" || list.Allows(m.Key) ||
		slices.Contains([]string{d.Inference, d.Rewrite, d.Rerank, d.Summary, d.Synthesis, d.Judge}, m.Key)
}

func (c *catalog) describe(l *listing, m llm.ModelInfo) ragchat.Model {
	out := ragchat.Model{Key: l.name + ":" + m.Name, Provider: l.name, Model: m.Name, Endpoint: "chat", Context: m.Context}
	if p, _ := c.prices.Find(l.name, m.Name); m.Embeds || p.Embeds {
		out.Endpoint = "embeddings"
	}
	if l.name == ledger.Builtin {
		out.Pricing = ragchat.NewPricing(0, 0, 0)
	}
	if p, ok := c.prices.Find(l.name, m.Name); ok {
		cached := int64(-1)
		if p.Cached != nil {
			cached = int64(*p.Cached)
		}
		out.Pricing = ragchat.NewPricing(int64(p.Input), int64(p.Output), cached)
		out.Context = cmp.Or(out.Context, p.Context)
	}
	if l.takes != nil {
		takes := l.takes(m.Name)
		out.Capabilities = ragchat.Capabilities{Vision: takes.Vision, Tools: takes.Tools, Schema: takes.Schema, Reasoning: takes.Effort}
	}
	return out
}
