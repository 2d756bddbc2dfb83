package cite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/retrieval"
	"parley/test/needs"
)

var northwind = filepath.Join("..", "..", "..", "..", "shared", "data", "northwind")

// northwindPassages returns passages of 160 words of the Northwind documents, by page.
func northwindPassages(t *testing.T) (labels []string, byPage map[string][]retrieval.Passage) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(northwind, "pdf", "*.pdf"))
	if _, err := exec.LookPath("pdftotext"); err != nil || len(paths) == 0 {
		needs.Missing(t, "the Northwind documents and pdftotext")
	}
	byPage = map[string][]retrieval.Passage{}
	for _, path := range paths {
		out, err := exec.Command("pdftotext", path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(out), "\f") {
			label := fmt.Sprintf("%s#page=%d", filepath.Base(path), i+1)
			words := strings.Fields(text)
			if len(words) < 30 {
				continue
			}
			labels = append(labels, label)
			for from := 0; from == 0 || from+30 < len(words); from += 130 {
				p := page(filepath.Base(path), i+1, strings.Join(words[from:min(from+160, len(words))], " "))
				byPage[label] = append(byPage[label], p)
			}
		}
	}
	return labels, byPage
}

// TestSupport_OnNorthwind measures how well the check by words tells true citations from false ones.
// It checks sentences of the reference answers against passages of the cited pages and of other pages,
// and sentences of the documents with one number changed.
func TestSupport_OnNorthwind(t *testing.T) {
	labels, byPage := northwindPassages(t)
	f, err := os.Open(filepath.Join(northwind, "ground_truth.dev20.jsonl"))
	if err != nil {
		needs.Missing(t, "the Northwind questions")
	}
	defer f.Close()
	random := rand.New(rand.NewPCG(1, 2))
	var kept, pairs, flagged, shuffled int
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var gold struct {
			Question, Truth string
			Citations       []string
		}
		if err := json.Unmarshal(lines.Bytes(), &gold); err != nil {
			t.Fatal(err)
		}
		for _, s := range sentencesIn(gold.Truth) {
			pairs++
			if slices.ContainsFunc(gold.Citations, func(label string) bool {
				return slices.ContainsFunc(byPage[label], func(p retrieval.Passage) bool { return bearsOut(s, gold.Question, p) })
			}) {
				kept++
			} else {
				t.Logf("not borne out: %s", s)
			}
			for range 40 {
				label := labels[random.IntN(len(labels))]
				if slices.Contains(gold.Citations, label) {
					continue
				}
				shuffled++
				if !bearsOut(s, gold.Question, byPage[label][random.IntN(len(byPage[label]))]) {
					flagged++
				}
			}
		}
	}
	// Precision as if there were as many shuffled pairs as true ones.
	found := share(flagged, shuffled)
	precision := found / (found + 1 - share(kept, pairs))
	t.Logf("%d true pairs, %.3f kept; %d shuffled pairs, %.3f flagged; precision of a flag %.3f",
		pairs, share(kept, pairs), shuffled, found, precision)
	if share(kept, pairs) < 0.93 || found < 0.85 {
		t.Error("the check accuses the innocent or lets too much pass")
	}
	changed, caught := changedNumbers(labels, byPage, random)
	t.Logf("%d sentences with a changed number, %.3f flagged", changed, share(caught, changed))
	if share(caught, changed) < 0.95 {
		t.Errorf("%d of %d changed numbers are flagged", caught, changed)
	}
}

func share(n, of int) float64 { return float64(n) / float64(of) }

var anyMark = regexp.MustCompile(`\s*\[[^\]]*\]`)

func sentencesIn(answer string) []string {
	plain := anyMark.ReplaceAllString(answer, "")
	var out []string
	for _, sp := range sentencesOf(plain) {
		out = append(out, plain[sp.Start:sp.End])
	}
	return out
}

// bearsOut reports whether a passage passes the check for a sentence that cites it.
func bearsOut(sentence, question string, p retrieval.Passage) bool {
	passages := []retrieval.Passage{p}
	claims := []claim{{text: sentence, labels: Labels(&p)}}
	return len(support(claims, pageWords(claims, passages), wordsOf(question))) == 0
}

var digits = regexp.MustCompile(`\d+`)

// changedNumbers changes one number in sentences of the documents and checks each against its own
// passage. It returns how many sentences there are and how many the check flags.
func changedNumbers(labels []string, byPage map[string][]retrieval.Passage, random *rand.Rand) (changed, found int) {
	for _, label := range labels {
		for _, p := range byPage[label] {
			for _, s := range sentencesIn(p.Chunk.Text) {
				if !digits.MatchString(s) || len(strings.Fields(s)) < 8 || !bearsOut(s, "", p) {
					continue
				}
				changed++
				first := true
				s = digits.ReplaceAllStringFunc(s, func(n string) string {
					if !first {
						return n
					}
					first = false
					return fmt.Sprint(len(n)*3 + random.IntN(900))
				})
				if !bearsOut(s, "", p) {
					found++
				}
			}
		}
	}
	return changed, found
}
