package retrieval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/retrieval"
)

// describedDocument returns a document with random attributes, whose text every search finds.
func describedDocument(r *rand.Rand, n int) retrieval.Put {
	p := document(fmt.Sprintf("doc-%02d.md", n), "The plan covers everything.")
	v := attribute.Values{"n": float64(r.IntN(4)), "draft": r.IntN(2) == 0}
	for _, tag := range []string{"a", "b", "c"} {
		if r.IntN(3) == 0 {
			v.Add("tags", tag)
		}
	}
	p.Document.Attributes = v.Encode()
	p.Document.Category = []string{"", "news"}[r.IntN(2)]
	if r.IntN(3) == 0 {
		p.Document.Access = access.List{Users: []string{"ann"}}
	}
	return p
}

func randomCondition(r *rand.Rand, depth int) *attribute.Condition {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		return attribute.Any(randomCondition(r, depth-1), randomCondition(r, depth-1))
	case n == 2 && depth > 0:
		return attribute.All(randomCondition(r, depth-1), attribute.Not(randomCondition(r, depth-1)))
	case n == 3:
		return attribute.In("tags", []any{"a", "x"})
	case n == 4:
		return attribute.Compare("eq", retrieval.AttributeCategory, "news")
	case n == 5:
		return attribute.Compare("ne", "draft", true)
	}
	return attribute.Compare(attribute.Operators[r.IntN(len(attribute.Operators))], "n", float64(r.IntN(4)))
}

// Two processes change documents; each finds exactly those that the caller may see and whose attributes meet the condition.
func TestSearch_FindsWhatMeetsTheConditionAndNothingElse(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	here := newWorld(t)
	there := openWorld(t, here.dir)
	stored := map[string]retrieval.Put{}
	for step := range 60 {
		w := []*world{here, there}[r.IntN(2)]
		batch := retrieval.Batch{Namespace: "ns"}
		for range r.IntN(3) {
			p := describedDocument(r, r.IntN(20))
			if !slices.ContainsFunc(batch.Put, func(q retrieval.Put) bool { return q.Document.Name == p.Document.Name }) {
				batch.Put = append(batch.Put, p)
				stored[p.Document.Name] = p
			}
		}
		if gone := fmt.Sprintf("doc-%02d.md", r.IntN(20)); r.IntN(4) == 0 && stored[gone].Document.Name != "" &&
			!slices.ContainsFunc(batch.Put, func(q retrieval.Put) bool { return q.Document.Name == gone }) {
			batch.Delete = append(batch.Delete, stored[gone].Document.ID)
			delete(stored, gone)
		}
		w.apply(batch)
		where := randomCondition(r, 2)
		for _, who := range []string{"", "ann"} {
			f := retrieval.Filter{Namespace: "ns", Principal: access.Principal{Subject: who}, Where: where}
			want := []string{}
			for name, p := range stored {
				if where.Holds(p.Document.AllAttributes()) && f.MaySee(p.Document.Category, p.Document.Access) {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			got := names(w.search(retrieval.Query{Filter: f, Text: "plan", Limit: 50}))
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("step %d, %q, %v (-want +got):\n%s", step, who, where, diff)
			}
		}
	}
}

// A set of revisions and a condition both confine a search.
func TestSearch_MeetsTheConditionWithinASet(t *testing.T) {
	w := newWorld(t)
	a, b, c := document("a.md", "plan"), document("b.md", "plan"), document("c.md", "plan")
	a.Document.Attributes, b.Document.Attributes = []byte(`{"n":1}`), []byte(`{"n":1}`)
	w.put(a, b, c)
	revisions := []int64{}
	for _, p := range w.ask("plan").Passages {
		if p.Document.Name != "a.md" {
			revisions = append(revisions, p.Document.Revision)
		}
	}
	f := retrieval.Filter{Within: retrieval.NewRevisions(revisions), Where: attribute.Compare("eq", "n", 1.0)}
	if got := names(w.search(retrieval.Query{Filter: f, Text: "plan"})); !slices.Equal(got, []string{"b.md"}) {
		t.Errorf("found %v", got)
	}
}

// readCounter counts the documents whose attributes are read.
type readCounter struct {
	retrieval.Store
	read []string
}

func (s *readCounter) EachDocument(ctx context.Context, namespace string, revisions []int64, f func(retrieval.Document)) error {
	return s.Store.EachDocument(ctx, namespace, revisions, func(d retrieval.Document) {
		s.read = append(s.read, strings.TrimSuffix(d.Name, ".md"))
		f(d)
	})
}

// A condition that is asked again costs the reading of what is new.
func TestSearch_ReadsTheAttributesOfADocumentOnce(t *testing.T) {
	w := newWorld(t)
	s := &readCounter{Store: w.db.Corpus()}
	w.corpus = w.open(s)
	w.put(document("a.md", "plan"), document("b.md", "plan"), document("c.md", "plan"))
	ask := func() {
		w.search(retrieval.Query{Text: "plan", Filter: retrieval.Filter{Where: attribute.Compare("ne", "n", 1.0)}})
	}
	ask()
	ask()
	w.put(document("d.md", "plan"))
	ask()
	w.apply(retrieval.Batch{Namespace: "ns", Delete: []string{"id of a.md"}})
	ask()
	slices.Sort(s.read)
	if got := strings.Join(s.read, " "); got != "a b c d" {
		t.Errorf("read %s", got)
	}
}
