package eval

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/test/needs"
)

var update = flag.Bool("update", false, "write the golden report anew")

const goldenPath = "testdata/small.golden"

// TestGolden holds the quality of retrieval, rewriting and answers on a small corpus, so that any
// change shows up as a diff: run it with -update and look at what the diff says.
func TestGolden(t *testing.T) {
	got := newProduct(t).golden(t)
	if *update {
		if err := os.WriteFile(goldenPath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compareGolden(t, got)
}

// One ranking everywhere: rankings and answers do not depend on the database.
func TestGolden_IsTheSameOnPostgreSQL(t *testing.T) {
	needs.Long(t)
	db, err := store.OpenPostgres(t.Context(), pgtest.New(t), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, newProductIn(t, db).golden(t))
}

func compareGolden(t *testing.T, got string) {
	t.Helper()
	golden, err := os.ReadFile(goldenPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("quality has changed (-golden +now); if it should, renew %s with -update:\n%s", goldenPath, diff)
	}
}

// golden indexes the small data set and returns what is held of it.
func (p *product) golden(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	d := load(t, "testdata/small")
	p.index(t, d)
	stats, err := p.db.Corpus().Stats(ctx, p.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Dataset: d.Name, Documents: stats.Documents, Chunks: stats.Chunks}
	if r.Rankings, err = Rank(ctx, p.Env, d); err != nil {
		t.Fatal(err)
	}
	for i := range r.Rankings {
		r.Rankings[i].P50, r.Rankings[i].P99 = 0, 0
	}
	var b strings.Builder
	fmt.Fprint(&b, "Written by go test ./internal/eval -run TestGolden -update. Latencies are left out; * is relevant.\n\n")
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\nThe best five passages of each query, by form, and what the answer cites.\n")
	p.writeQueries(t, &b, d)
	return b.String()
}

// writeQueries writes a paragraph for each query. The other forms have a line only where they say
// or find something else than the last turn.
func (p *product) writeQueries(t *testing.T, b *strings.Builder, d *Dataset) {
	t.Helper()
	lists := p.lists(t, d)
	cited, refused := 0, 0
	for i, q := range d.Queries {
		fmt.Fprintf(b, "\n%s  %s\n", q.ID, q.Text)
		last := lists["last_turn"][i]
		fmt.Fprintf(b, "  %-8s%s\n", "last", marked(last.ids, q.Relevant))
		forms := []list{lists["rewrite"][i]}
		for _, l := range lists["human_rewrite"] {
			if l.query.ID == q.ID {
				forms = append(forms, l)
			}
		}
		for j, l := range forms {
			if ids := marked(l.ids, q.Relevant); l.asked != q.Text || ids != marked(last.ids, q.Relevant) {
				fmt.Fprintf(b, "  %-8s%s  (%s)\n", []string{"rewrite", "human"}[j], ids, l.asked)
			}
		}
		turn, err := p.askIn(context.Background(), q.Conversation, q.Text)
		if err != nil {
			t.Fatal(err)
		}
		labels := citations(turn)
		fmt.Fprintf(b, "  %-8s%s\n", "cites", marked(labels, q.Relevant))
		switch {
		case len(labels) == 0:
			refused++
		case strings.Contains(marked(labels, q.Relevant), "*"):
			cited++
		}
	}
	fmt.Fprintf(b, "\n%d answers: %d cite a relevant passage, %d are refused\n", len(d.Queries), cited, refused)
}

// marked returns the first five ids, with a star behind those that are relevant.
func marked(ids []string, relevant map[string]int) string {
	if len(ids) == 0 {
		return "-"
	}
	var out []string
	for _, id := range ids[:min(5, len(ids))] {
		if relevant[id] > 0 {
			id += "*"
		}
		out = append(out, id)
	}
	return strings.Join(out, " ")
}
