// Package price knows the prices of models. A table is made from a generated catalogue (see
// test/pricegen), overlaid with a hand-written YAML file that names its sources, and with the operator's
// YAML. It reports unknown prices as unknown and never guesses. All calculations use whole numbers.
package price

//go:generate go run parley/test/pricegen

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// Rate is a price of tokens in millionths of a micro-dollar for each token, which is the same number as
// micro-dollars for a million tokens.
type Rate int64

// rateUnit is a dollar for a million tokens.
const rateUnit Rate = 1_000_000

// UnmarshalYAML reads dollars for a million tokens as a decimal number, exactly.
func (r *Rate) UnmarshalYAML(node *yaml.Node) error {
	x, ok := new(big.Rat).SetString(node.Value)
	if !ok || strings.ContainsAny(node.Value, "/eE_xXpP") {
		return fmt.Errorf("line %d: %q is not a price in dollars", node.Line, node.Value)
	}
	x.Mul(x, new(big.Rat).SetInt64(int64(rateUnit)))
	if !x.IsInt() || x.Sign() < 0 || x.Cmp(new(big.Rat).SetInt64(int64(100_000*rateUnit))) > 0 {
		return fmt.Errorf("line %d: %q is not a price between 0 and 100000 dollars of at most six decimals", node.Line, node.Value)
	}
	*r = Rate(x.Num().Int64())
	return nil
}

// String returns the price of a million tokens in dollars.
func (r Rate) String() string {
	s := fmt.Sprintf("%d.%06d", r/rateUnit, r%rateUnit)
	whole := strings.IndexByte(s, '.')
	s = strings.TrimRight(s, "0")
	return "$" + s + strings.Repeat("0", max(0, whole+3-len(s)))
}

// Rates are the prices of the kinds of tokens.
type Rates struct {
	Input  Rate  `yaml:"input"`
	Cached *Rate `yaml:"cached"` // nil if unknown
	Output Rate  `yaml:"output"`
}

// Price is the price of a model.
type Price struct {
	Rates   `yaml:",inline"`
	Context int `yaml:"context"` // tokens; 0 if unknown
	// MaxOutput is the maximum length of an answer in tokens, according to the catalogue; 0 if unknown.
	MaxOutput int    `yaml:"max_output"`
	Above     int    `yaml:"above"`  // prompts of more tokens cost the rates of Long; 0 for none
	Long      *Rates `yaml:"long"`   // nil if unknown
	Until     day    `yaml:"until"`  // the last day of the price; zero for no end
	Embeds    bool   `yaml:"embeds"` // the model embeds: it has no output, and no other rate than Input
	Minute    Rate   `yaml:"minute"` // of a recording, in micro-dollars; zero if the model charges none
}

// day is a date in UTC.
type day struct{ time.Time }

// UnmarshalYAML reads a date such as 2026-12-31.
func (d *day) UnmarshalYAML(node *yaml.Node) (err error) {
	d.Time, err = time.Parse(time.DateOnly, node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %q is not a date such as 2026-12-31", node.Line, node.Value)
	}
	return nil
}

// provider is a section of a price file.
type provider struct {
	Source string           `yaml:"source"`
	Read   day              `yaml:"read"`
	Models map[string]Price `yaml:"models"`
}

// Table holds prices. It is not modified after it is made, so it is safe for concurrent use.
type Table struct {
	models map[string]map[string]Price // by provider and model
}

//go:embed prices.yaml
var builtin string

// Builtin returns the table of this program.
func Builtin() *Table {
	t, err := listed().With(strings.NewReader(builtin))
	if err != nil {
		panic(fmt.Sprintf("the built-in prices: %v", err)) // a test reads them
	}
	return t
}

// maxTable limits the size of a price file in bytes.
const maxTable = 4 << 20

// With returns the table overlaid with the prices of a file.
func (t *Table) With(r io.Reader) (*Table, error) {
	var file map[string]provider
	dec := yaml.NewDecoder(io.LimitReader(r, maxTable))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read prices: %s", strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	out := &Table{models: map[string]map[string]Price{}}
	for name, models := range t.models {
		out.models[name] = maps.Clone(models)
	}
	for name, p := range file {
		if out.models[name] == nil {
			out.models[name] = map[string]Price{}
		}
		for model, price := range p.Models {
			if price.Long != nil && price.Above <= 0 || price.Above < 0 || price.Context < 0 {
				return nil, fmt.Errorf("read prices: %s:%s has impossible numbers", name, model)
			}
			if price.Minute != 0 && (price.Input != 0 || price.Output != 0) {
				return nil, fmt.Errorf("read prices: %s:%s costs by the minute, and so has no price of tokens", name, model)
			}
			if price.Embeds && (price.Output != 0 || price.Cached != nil) {
				return nil, fmt.Errorf("read prices: %s:%s embeds, and so has a price of input only", name, model)
			}
			out.models[name][model] = price
		}
	}
	return out, nil
}

// Without returns the table without the prices of a provider, for another server under the same name
// that has its own prices.
func (t *Table) Without(provider string) *Table {
	out := &Table{models: maps.Clone(t.models)}
	delete(out.models, provider)
	return out
}

// snapshot matches the date in the name of a model version.
var snapshot = lazyregexp.New(`-20\d\d-?\d\d-?\d\d$`)

// Find returns the price of a model: under its own name, or its name without a date, or "*". ok is false
// if there is none.
func (t *Table) Find(provider, model string) (p Price, ok bool) {
	models := t.models[provider]
	for _, name := range []string{model, snapshot.ReplaceAllString(model, ""), "*"} {
		if p, ok = models[name]; ok {
			return p, true
		}
	}
	return Price{}, false
}

// Models returns the names of a provider's models with known prices, sorted, without "*".
func (t *Table) Models(provider string) []string {
	names := slices.Sorted(maps.Keys(t.models[provider]))
	return slices.DeleteFunc(names, func(name string) bool { return name == "*" })
}

// Cost returns the cost of a completion in micro-dollars, rounded to the nearest. known is false if any
// part of it is unknown.
func (t *Table) Cost(provider, model string, u llm.Usage, at time.Time) (micros int64, known bool) {
	p, ok := t.Find(provider, model)
	if !ok || !p.Until.IsZero() && !at.Before(p.Until.AddDate(0, 0, 1)) {
		return 0, false
	}
	rates := p.Rates
	if p.Above > 0 && u.Input > p.Above {
		if p.Long == nil {
			return 0, false
		}
		rates = *p.Long
	}
	if u.Cached > 0 && rates.Cached == nil {
		return 0, false
	}
	if p.Minute > 0 {
		return (int64(u.Seconds)*int64(p.Minute) + 30) / 60, u.Seconds > 0 || !u.Estimated
	}
	if u.Seconds > 0 && u.Input+u.Output == 0 && rates.Input+rates.Output > 0 {
		return 0, false // the model charges tokens, and its server has not counted them
	}
	sum := int64(u.Input-u.Cached)*int64(rates.Input) + int64(u.Output)*int64(rates.Output)
	if u.Cached > 0 {
		sum += int64(u.Cached) * int64(*rates.Cached)
	}
	return (sum + int64(rateUnit)/2) / int64(rateUnit), true
}
