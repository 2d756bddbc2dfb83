package yourdata

import (
	"strings"
	"testing"

	"parley/internal/attribute"
)

func TestParseOData_ReadsTheFiltersOfAzureSearch(t *testing.T) {
	document := attribute.Decode([]byte(`{"category":"O'Hara","tags":["policy","hr"],"year":2026,"date":"2026-11-29","draft":false,"public":true,"author.name":"Ada"}`))
	for text, want := range map[string]bool{
		`category eq 'O''Hara'`: true, `category ne 'O''Hara'`: false, `'x' eq category`: false,
		`year gt 2025 and year le 2026`: true, `2025 lt year`: true, `2026 lt year`: false, `year eq 2.026e3`: true,
		`date ge 2026-01-01T00:00:00Z`: true, `date lt 2026-11-29`: false, `date gt 2026-11-28T23:59:59.5+02:00`: true,
		`draft`: false, `not draft`: true, `public`: true, `draft eq false`: true, `true`: true,
		`category eq 'x' or public and draft`: false, `(category eq 'x' or public) and not draft`: true, `public or draft and draft`: true,
		`tags/any(t: t eq 'hr')`: true, `tags/any(t: t eq 'x')`: false, `tags/all(t: t ne 'x')`: true, `tags/all(t: t eq 'hr')`: false,
		`tags/any(t: t ge 'p' and t le 'pz')`: true, `tags/any(t: search.in(t, 'a, hr'))`: true, `tags/any()`: true, `none/any()`: false, `none/all(t: t eq 1)`: true,
		`category/any(c: c eq 'O''Hara')`: true, `groups/any(g:search.in(g, 'id1, id2'))`: false,
		`search.in(author/name, 'Bob|Ada', '|')`: true, `search.in(author/name, 'Bob Ada')`: true, `search.in(author/name, 'Bob Ada', '|')`: false,
		`author/name eq 'Ada'`: true, `none eq null`: true, `none ne null`: false, `year ne null`: true, `none eq 'x'`: false, `none ne 'x'`: true,
		"  year\n eq\t2026 ": true,
	} {
		c, err := parseOData(strings.ReplaceAll(text, `\'`, "'"))
		if err != nil || c.Holds(document) != want {
			t.Errorf("%s: %v, want %v; %v", text, err == nil && c.Holds(document), want, err)
		}
	}
	for _, text := range []string{
		`category` + " eq", `eq 'x'`, `category eq`, `category eq 'x`, `category = 'x'`, `category eq "x"`, `(year eq 1`, `year eq 1)`, `year eq 1 and`, `not`,
		`search.ismatch('x')`, `geo.distance(a, b) lt 5`, `tags/any(t: year eq 1)`, `tags/any(t: t/any(u: u eq 1))`, `tags/some(t: t eq 1)`,
		`tags/any(t eq 1)`, `none gt null`, `year eq 1 year eq 2`, `search.in(tags)`, `search.in(tags, 5)`, `1 eq 2`, `'x'`, `year eq NaN`, `year lt INF`,
		strings.Repeat("(", 100) + "draft" + strings.Repeat(")", 100), strings.Repeat("draft or ", 300) + "draft",
	} {
		if c, err := parseOData(text); err == nil {
			t.Errorf("%.60s is taken as %v", text, c)
		}
	}
}

func FuzzParseOData(f *testing.F) {
	f.Add(`tags/any(t: t eq 'hr') and not (year lt 2026 or search.in(category, 'a,b', ','))`)
	f.Add(`a eq null or 2025-01-01T00:00:00Z le b/c`)
	document := attribute.Values{"a": "x", "b": []any{1.0, "y"}}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseOData(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		again, err := parseOData(text)
		if err != nil || again.String() != c.String() || again.Holds(document) != c.Holds(document) {
			t.Errorf("%q is read in two ways: %v, %v; %v", text, c, again, err)
		}
	})
}
