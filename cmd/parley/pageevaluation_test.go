package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"parley/internal/eval"
)

func TestPage_EvaluatesAndLeadsToTheMisses(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	file := `{"question":"How many passengers does the rescue boat Martha carry?","truth":"Twelve.","citations":["boats.txt"]}
{"question":"When does the Fishery museum open?","gold":["keepers.pdf#page=1"]}
`
	var got struct {
		Findings, Rated, Misses, Sides, Made []string
		Sums, Verdicts                       [][]string
		Saved, Panel                         string
		Kept                                 int
		Seen                                 seenOnPage
	}
	onPage(t, "evaluation", p.addr, map[string]any{"file": file, "shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	if len(got.Rated) != 2 || got.Rated[0] != "How tall is the lighthouse of Skagen?" || !strings.HasPrefix(got.Rated[1], "skagen.md") {
		t.Errorf("the rated answer became %q", got.Rated)
	}
	if len(got.Sums) != 3 || !slices.Equal(got.Sums[0], []string{"Expected source cited", "2 / 3", "2 / 3"}) {
		t.Errorf("sums %q", got.Sums)
	}
	if len(got.Verdicts) != 4 || !slices.Equal(got.Verdicts[0], []string{"cited", "cited"}) || !slices.Contains([]string{"missed", "found, not cited"}, got.Verdicts[2][0]) ||
		!slices.Equal(got.Verdicts[3], []string{"no sources", "no sources"}) {
		t.Errorf("verdicts %q", got.Verdicts)
	}
	if !slices.Equal(got.Misses, []string{"When does the Fishery museum open?", "<img src=x onerror=__ran()>"}) {
		t.Errorf("misses %q", got.Misses)
	}
	if len(got.Sides) != 2 || !strings.Contains(got.Panel, "The lighthouse of Skagen is 46 metres tall.") {
		t.Errorf("sides %q, and the source shows %q", got.Sides, got.Panel)
	}
	if got.Kept != 8 || len(got.Made) == 0 {
		t.Errorf("%d verdicts after a reload; questions from the documents: %q", got.Kept, got.Made)
	}
	checkEvalFile(t, got.Saved)
}

// checkEvalFile checks that parley eval reads the questions that the page has saved.
func checkEvalFile(t *testing.T, saved string) {
	t.Helper()
	dir := folderOf(t, map[string]string{"questions.jsonl": saved})
	d, err := eval.Load(dir, "")
	if err != nil || len(d.Questions) != 4 || d.Questions[1].Truth != "Twelve." || !slices.Equal(d.Questions[1].Gold, []string{"boats.txt"}) {
		t.Errorf("parley eval reads %+v (%v)", d, err)
	}
}
