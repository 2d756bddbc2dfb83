package builtin

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/llm"
)

// lakes is a table in two parts, as documents are split.
func lakes() []llm.Passage {
	header := "Lake | Country | Area (km2) | Depth (m) | Price of a permit (EUR)\n"
	row := func(lake, country string, area, depth, price string) string {
		return fmt.Sprintf("Lake: %s; Country: %s; Area (km2): %s; Depth (m): %s; Price of a permit (EUR): %s\n", lake, country, area, depth, price)
	}
	one := passage("lakes.csv", header+row("Orrow", "Norland", "1,200", "45", "12.50")+row("Brisk", "Norland", "310", "199", "8")+row("Teal", "Suland", "95", "12", "30"))
	two := passage("lakes.csv", header+row("Umber", "Suland", "2,044", "80", "21")+row("Wick", "Suland", "18", "6", "4.50"))
	one.Part, one.Parts, two.Part, two.Parts = 0, 2, 1, 2
	one.Title, two.Title = "Fishing lakes", "Fishing lakes"
	return []llm.Passage{two, one}
}

func TestAnswer_ComputesOverAWholeTable(t *testing.T) {
	for question, want := range map[string]string{
		"Which lake has the largest area?":                 "Umber — ",
		"What is the lake with the smallest area?":         "Wick — ",
		"Which lake in Norland has the lowest depth?":      "Orrow — ",
		"Which fishing permit is the cheapest?":            "Wick — ",
		"Which lake has the most expensive permit?":        "Teal — ",
		"What is the total area of all lakes?":             "Sum of Area (km2) over 5 rows: Orrow 1,200, Brisk 310, Teal 95, Umber 2,044, Wick 18 → 3667. [lakes.csv]",
		"What is the total area of the lakes in Suland?":   "Sum of Area (km2) over 3 rows: Teal 95, Umber 2,044, Wick 18 → 2157. [lakes.csv]",
		"What is the average depth of the lakes?":          "Average of Depth (m) over 5 rows: Orrow 45, Brisk 199, Teal 12, Umber 80, Wick 6 → 68.4. [lakes.csv]",
		"How many lakes are on the list of fishing lakes?": "Number of rows (Lake): 5. [lakes.csv]",
		"How many lakes are there in Suland?":              "Number of rows (Lake): 3. [lakes.csv]",
	} {
		t.Run(question, func(t *testing.T) {
			if got := quotesOf(t, about(question, lakes()...)); !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A number over half a table is wrong, and so is one over rows that the question does not mean.
func TestAnswer_ComputesNothingItCannotKnow(t *testing.T) {
	whole := lakes()
	half := whole[:1]
	mixed := lakes()
	mixed[0].Text = strings.Replace(mixed[0].Text, "2,044", "about 2,044", 1)
	for _, c := range []struct {
		name, question string
		passages       []llm.Passage
	}{
		{"a part is missing", "What is the total area of all lakes?", half},
		{"the number of parts is not known", "What is the total area of all lakes?", []llm.Passage{{Text: whole[1].Text, Score: 1, Marks: whole[1].Marks}}},
		{"a cell is no number", "What is the total area of all lakes?", mixed},
		{"a word is in no row", "What is the total area of the lakes in Ostland?", whole},
		{"no column has a word of the question", "Which lake has the most swans?", whole},
		{"a limit", "May a lake have an area of at most 100?", whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := computedFrom(about(c.question, c.passages...)); ok {
				t.Errorf("%q is computed as %q", c.question, got.quotes)
			}
		})
	}
}

func TestNumber_ReadsCells(t *testing.T) {
	for _, c := range []struct {
		cell  string
		comma bool
		want  float64
		unit  string
		ok    bool
	}{
		{"1,234.5", false, 1234.5, "", true},
		{"0,10 €", true, 0.1, "€", true},
		{"1.200,50", true, 1200.5, "", true},
		{"£900", false, 900, "£", true},
		{"-5", false, -5, "", true},
		{"0-5 m", false, 0, "", false},
		{"±10 mm", false, 0, "", false},
		{"n/a", false, 0, "", false},
		{"", false, 0, "", false},
	} {
		if v, unit, ok := number(c.cell, c.comma); ok != c.ok || ok && (v != c.want || unit != c.unit) {
			t.Errorf("%q is read as %v %q %v", c.cell, v, unit, ok)
		}
	}
}
