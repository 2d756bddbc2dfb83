package cite

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/retrieval"
	"parley/test/needs"
)

// TestLocate_OnNorthwind looks for the quotes behind the citations of the reference answers, which
// say the same as the pages in other words. It counts the citations with a quote, and the quotes that
// are too long.
func TestLocate_OnNorthwind(t *testing.T) {
	_, byPage := northwindPassages(t)
	f, err := os.Open(filepath.Join(northwind, "ground_truth.dev20.jsonl"))
	if err != nil {
		needs.Missing(t, "the Northwind questions")
	}
	defer f.Close()
	places, found, long := 0, 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var gold struct {
			Truth     string
			Citations []string
		}
		if err := json.Unmarshal(lines.Bytes(), &gold); err != nil {
			t.Fatal(err)
		}
		var passages []retrieval.Passage
		for _, label := range gold.Citations {
			passages = append(passages, byPage[label]...)
		}
		known := Citable(passages)
		cited := findCitations(gold.Truth, known)
		locate(cited, gold.Truth, known, passages, nil)
		for _, c := range cited {
			for _, s := range c.Spans {
				places++
				t.Logf("[%s] %d–%d %q", c.Label, s.Start, s.End, s.Quote)
				if s.End == 0 {
					continue
				}
				found++
				if s.End-s.Start > 3*maxSentence {
					long++
				}
				if !slices.ContainsFunc(byPage[c.Label], func(p retrieval.Passage) bool {
					return s.End <= len(p.Chunk.Text) && strings.HasPrefix(p.Chunk.Text[s.Start:s.End], s.Quote)
				}) {
					t.Errorf("[%s] does not say %q at %d", c.Label, s.Quote, s.Start)
				}
			}
		}
	}
	t.Logf("%d places of labels, %.3f with words of their pages, %d long", places, share(found, places), long)
	if places < 20 || share(found, places) < .9 || long > 0 {
		t.Errorf("of %d places %d have words, %d of them too many", places, found, long)
	}
}

func BenchmarkLocate(b *testing.B) {
	passages := []retrieval.Passage{benefits}
	const verbatim = "Vision care is included. [benefits.pdf#page=3]"
	const reworded = "You get $150 per year for contact lenses [benefits.pdf#page=3]."
	for name, answer := range map[string]string{"verbatim": verbatim, "reworded": reworded} {
		known := Citable(passages)
		cited := findCitations(answer, known)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cited[0].Spans = nil
				locate(cited, answer, known, passages, nil)
			}
		})
	}
}
