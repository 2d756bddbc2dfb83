package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"parley/internal/builtin"
	"parley/internal/llm"
	"parley/internal/llm/price"
)

type modelsCmd struct {
	Names []string `arg:"" optional:"" name:"provider" help:"Providers to list; by default all."`
}

// probeTime is the time limit for a provider to list its models.
const probeTime = 5 * time.Second

// listing is the result for one provider.
type listing struct {
	name    string
	state   string
	models  []llm.ModelInfo
	takes   func(model string) llm.Capabilities // nil if the provider does not say
	reranks bool                                // its models only rerank
}

// Run queries all providers at once and prints the results. An unreachable provider is a result,
// not an error.
func (c modelsCmd) Run(ctx context.Context, p *program) error {
	prices, err := readPrices(p.config)
	if err != nil {
		return err
	}
	for _, name := range c.Names {
		if names := p.config.providerNames(); !slices.Contains(names, name) {
			return usagef("there is no provider %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	var listings []*listing
	var probes sync.WaitGroup
	for _, provider := range p.providersOf(p.config) {
		if len(c.Names) > 0 && !slices.Contains(c.Names, provider.name) {
			continue
		}
		l := &listing{name: provider.name}
		listings = append(listings, l)
		probes.Go(func() { l.probe(ctx, provider, p.config) })
	}
	probes.Wait()
	for _, l := range listings {
		l.add(p.config.models(), false)
		l.add([]string{p.config.Embedding}, true)
		if err := l.print(p.stdout, prices); err != nil {
			return fmt.Errorf("print the models: %w", err)
		}
	}
	if old := pricesAge(price.Date(), time.Now()); old != "" {
		fmt.Fprintln(p.stderr, old)
	}
	return ctx.Err()
}

// oldPrices is the age from which the built-in prices cause a warning.
const oldPrices = 180 * 24 * time.Hour

// pricesAge returns a warning if the built-in prices are old, else "".
func pricesAge(of, now time.Time) string {
	if now.Sub(of) <= oldPrices {
		return ""
	}
	return fmt.Sprintf("warning: the built-in prices and context sizes are of %s; take a newer version of Parley, or correct them in the file that the setting prices names",
		of.Format(time.DateOnly))
}

func (l *listing) probe(ctx context.Context, provider provider, cfg Config) {
	if need := provider.missing(cfg); need != "" {
		l.state = "not configured: " + need
		return
	}
	m, err := provider.open(cfg)
	if err != nil {
		l.state = "not usable: " + err.Error()
		return
	}
	if d, ok := m.(llm.Describer); ok {
		l.takes = d.Capabilities
	}
	if _, answers := m.(llm.Model); !answers {
		_, l.reranks = m.(llm.Reranker)
	}
	lister, ok := m.(llm.Lister)
	if !ok {
		l.state, l.models = "in this program, free of charge", []llm.ModelInfo{{Name: strings.TrimPrefix(builtinModel, l.name+":")}}
		for _, name := range builtin.Embedders() {
			l.models = append(l.models, llm.ModelInfo{Name: name, Embeds: true})
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	l.models, err = lister.Models(ctx)
	switch {
	case err != nil:
		l.state = "not reachable: " + err.Error()
	case len(l.models) == 0:
		l.state = "reachable; it does not say which models it has"
	default:
		l.state = "reachable"
	}
}

// add adds configured models that the provider does not list.
func (l *listing) add(keys []string, embed bool) {
	for _, key := range keys {
		name, model, _ := strings.Cut(key, ":")
		if name == l.name && !slices.ContainsFunc(l.models, func(m llm.ModelInfo) bool { return m.Name == model }) {
			l.models = append(l.models, llm.ModelInfo{Name: model, Embeds: embed})
		}
	}
	slices.SortFunc(l.models, func(a, b llm.ModelInfo) int { return strings.Compare(a.Name, b.Name) })
}

func (l *listing) print(w io.Writer, prices *price.Table) error {
	if _, err := fmt.Fprintf(w, "%s (%s)\n", l.name, l.state); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, m := range l.models {
		p, known := prices.Find(l.name, m.Name)
		var takes llm.Capabilities
		if l.takes != nil {
			takes = l.takes(m.Name)
		}
		fmt.Fprintf(t, "  %s:%s\tcontext %s\t%s\t%s\n", l.name, m.Name,
			contextSize(m.Context, p.Context, takes.Context), l.task(m, p, takes), priceOf(l.name, p, known))
	}
	return t.Flush()
}

// task says what a model does if it does not answer, else which inputs it takes.
func (l *listing) task(m llm.ModelInfo, p price.Price, takes llm.Capabilities) string {
	switch {
	case l.reranks:
		return "reranks"
	case m.Embeds || p.Embeds:
		return "embeds"
	}
	return describe(takes)
}

// contextSize returns the first known size.
func contextSize(sizes ...int) string {
	for _, n := range sizes {
		if n > 0 {
			return strconv.Itoa(n)
		}
	}
	return "unknown"
}

// describe lists the inputs of a model beside text.
func describe(c llm.Capabilities) string {
	var takes []string
	for _, t := range []struct {
		ok   bool
		word string
	}{{c.Vision, "images"}, {c.Tools, "tools"}, {c.Schema, "schema"}, {c.Effort, "effort"}} {
		if t.ok {
			takes = append(takes, t.word)
		}
	}
	if len(takes) == 0 {
		return "text"
	}
	return strings.Join(takes, ", ")
}

// priceOf returns the price of a million tokens as text.
func priceOf(provider string, p price.Price, known bool) string {
	if provider == "builtin" {
		return "free"
	}
	if !known || !p.Until.IsZero() && time.Now().After(p.Until.AddDate(0, 0, 1)) {
		return "price unknown"
	}
	if p.Embeds {
		return fmt.Sprintf("%s in for a million tokens", p.Input)
	}
	cached := "unknown"
	if p.Cached != nil {
		cached = p.Cached.String()
	}
	s := fmt.Sprintf("%s in, %s cached, %s out for a million tokens", p.Input, cached, p.Output)
	if p.Above > 0 {
		s += fmt.Sprintf("; another price above %d", p.Above)
	}
	return s
}
