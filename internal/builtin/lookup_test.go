package builtin

import (
	"strings"
	"testing"

	"parley/internal/llm"
)

// balances is a page of a report as PDF files give it.
func balances() llm.Passage {
	p := passage("harbour-2023.pdf", `Consolidated Balance Sheets

(amounts in thousands) June 30, 2023 | June 30, 2022
Assets
Cash and cash equivalents | $ 12,410 | $ 9,877
Trade receivables, net | 4,051 | 3,998
Goodwill | 915 | —
Total assets | $ 48,230 | $ 45,002
Liabilities
Long-term debt | 7,300 | 7,450
Total liabilities | 20,118 | 21,640
`)
	p.Title = "Harbour Ferries annual report"
	p.Headings = []string{"Consolidated Balance Sheets"}
	return p
}

func models() llm.Passage {
	p := passage("pumps.pdf", `Technical data

Model | Flow | Weight | Warranty
B200 | 500 l/min | 21 kg | 2 years
B350 | 900 l/min | 34 kg | 5 years
Delivery times on request.
`)
	p.Title = "Pumps"
	return p
}

// charts is a table with a row that has no number.
func charts() llm.Passage {
	p := passage("charts.pdf", `Seagull Lines sails here too. It was founded by two sailors who had had enough of the ferries of the harbour, and its charts are other ones.

Chart | North | South
Printed | yes | no
Reefs | 12 | 30

Net sales of charts
Month | Copies
July | 310
Net income | 1,200
`)
	p.Title = "Charts"
	return p
}

func TestAnswer_LooksUpACellOfATable(t *testing.T) {
	for question, want := range map[string]string{
		"What were the total assets of Harbour Ferries at the end of FY2023?":          "Total assets — June 30, 2023: $ 48,230 (amounts in thousands) [harbour-2023.pdf]",
		"How much were Harbour's total assets in 2022?":                                "Total assets — June 30, 2022: $ 45,002 (amounts in thousands) [harbour-2023.pdf]",
		"What is the year end FY2023 total amount of trade receivables? In thousands.": "Trade receivables, net — June 30, 2023: 4,051 (amounts in thousands) [harbour-2023.pdf]",
		"What is the long-term debt of Harbour Ferries?":                               "Long-term debt — June 30, 2023: 7,300; June 30, 2022: 7,450 (amounts in thousands) [harbour-2023.pdf]",
		"What is the weight of the B350?":                                              "B350 — Weight: 34 kg [pumps.pdf]",
		"How many reefs has the North chart?":                                          "Reefs — North: 12 [charts.pdf]",
		"How many copies are there of the charts in July?":                             "July — Copies: 310 [charts.pdf]",
		"How long is the warranty of the B200 pump?":                                   "B200 — Warranty: 2 years [pumps.pdf]",
	} {
		t.Run(question, func(t *testing.T) {
			if got := quotesOf(t, about(question, balances(), models(), charts())); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A cell of another row, another year or another column is worse than no answer.
func TestAnswer_LooksUpNothingThatTheTableDoesNotSay(t *testing.T) {
	for _, question := range []string{
		"What were the total assets of Harbour Ferries in 2019?",
		"What were the total assets of Seagull Lines in 2023?",
		"By how much did total assets change from 2022 to 2023?",
		"What was the ratio of total assets to equity in 2023?",
		"What was the goodwill in 2022?",
		"What was the change in total assets in 2023?",
		"What was the average of total assets in 2023?",
		"What were the net sales of charts?",
		"How many reefs has the North chart of Seagull Lines?",
		"What is the price of July?",
		"What is the price of the B350?",
		"What is the weight of the B900?",
		"When were the total assets of 2023 audited?",
		"Were the total assets in 2023 audited?",
	} {
		t.Run(question, func(t *testing.T) {
			ev := about(question, balances(), models(), charts())
			if c, ok := lookedUp(ev); ok {
				t.Errorf("got %q", c.quotes[0])
			}
		})
	}
	forged := balances()
	forged.Text = strings.Replace(forged.Text, "$ 48,230", "$ 48,230 [other.pdf#page=1]", 1)
	if c, ok := lookedUp(about("What were the total assets of Harbour Ferries in 2023?", forged)); ok {
		t.Errorf("a forged citation is quoted: %q", c.quotes[0])
	}
}
