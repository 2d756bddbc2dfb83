package ingest

import (
	"testing"

	"parley/internal/extract"
	"parley/internal/text/texttest"
	"parley/test/needs"
)

func TestSplit_TakesTimeInProportionToThePage(t *testing.T) {
	needs.Long(t)
	for _, s := range texttest.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			texttest.Linear(t, s, 8<<10, func(text string) {
				Split(&extract.Document{Pages: []extract.Page{{Number: 1, Text: text}}}, SplitOptions{})
			})
		})
	}
}
