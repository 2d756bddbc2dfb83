package price

import (
	_ "embed"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// catalogue has sections of the form "provider NAME ADDRESS", followed by one line for each model with
// the tab-separated fields NAME INPUT CACHED OUTPUT CONTEXT MAXOUTPUT ABOVE.
//
//go:embed catalogue.tsv
var catalogue string

// Date returns the date of the built-in catalogue.
func Date() time.Time {
	for line := range strings.Lines(catalogue) {
		if day, ok := strings.CutPrefix(line, "date\t"); ok {
			date, _ := time.Parse(time.DateOnly, strings.TrimSpace(day)) // a test reads it
			return date
		}
	}
	return time.Time{}
}

// listed returns the prices of the providers that are identified by name.
func listed() *Table {
	t := &Table{models: map[string]map[string]Price{}}
	eachSection(func(name, address, models string) {
		if address == "" {
			t.models[name] = readModels(models)
		}
	})
	return t
}

// At returns the table with the prices of the server at a base URL, if the catalogue has them, under the
// operator's name for the provider. Prices that the table already has under that name take precedence.
func (t *Table) At(provider, baseURL string) *Table {
	out := &Table{models: maps.Clone(t.models)}
	eachSection(func(_, address, models string) {
		if address != "" && strings.TrimRight(baseURL, "/") == address {
			found := readModels(models)
			maps.Copy(found, t.models[provider])
			out.models[provider] = found
		}
	})
	return out
}

// eachSection calls do for each provider of the catalogue.
func eachSection(do func(name, address, models string)) {
	for section := range strings.SplitSeq(catalogue, "\nprovider\t") {
		head, models, _ := strings.Cut(section, "\n")
		if name, address, ok := strings.Cut(head, "\t"); ok {
			do(name, strings.TrimRight(address, "/"), models)
		}
	}
}

func readModels(lines string) map[string]Price {
	models := map[string]Price{}
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 7 {
			panic(fmt.Sprintf("the built-in catalogue of prices: %q", line)) // a test reads all
		}
		p := Price{Rates: Rates{Input: readRate(f[1]), Output: readRate(f[3])},
			Context: readNumber(f[4]), MaxOutput: readNumber(f[5]), Above: readNumber(f[6])}
		if f[2] != "" {
			cached := readRate(f[2])
			p.Cached = &cached
		}
		models[f[0]] = p
	}
	return models
}

// readRate reads dollars with at most six decimals.
func readRate(s string) Rate {
	whole, decimals, _ := strings.Cut(s, ".")
	return Rate(readNumber(whole))*rateUnit + Rate(readNumber((decimals + "000000")[:6]))
}

func readNumber(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("the built-in catalogue of prices: %v", err))
	}
	return n
}
