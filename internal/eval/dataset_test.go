package eval

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/retrieval"
)

// folder writes files, each as name and content, into a new folder.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	oneQuery   = `{"id":"q1","text":"How tall is it?","rewrite":"How tall is the tower?","conversation":[{"role":"user","content":"What is the tower?"}]}` + "\n"
	oneQrel    = "query-id\tcorpus-id\tscore\nq1\tp1\t2\nq1\tp2\t0\nq1\tp3\t1\r\nq2\tp1\t1\n"
	onePassage = `{"id":"p1","title":"Tower","text":"Tower\nIt is 300 metres tall.","url":"https://example.com"}` + "\n"
)

func TestLoad_ReadsPassagesWithJudgedQueries(t *testing.T) {
	dir := folder(t, "queries.jsonl", oneQuery+"\n  \n"+`{"id":"q9","text":"nobody judged this"}`, "qrels.tsv", oneQrel, "corpus.jsonl", onePassage)
	want := &Dataset{Name: filepath.Base(dir), Queries: []Query{{
		ID: "q1", Text: "How tall is it?", Rewrite: "How tall is the tower?",
		Conversation: []Message{{Role: "user", Content: "What is the tower?"}},
		Relevant:     map[string]int{"p1": 2, "p3": 1},
	}}}
	d := load(t, dir)
	if diff := cmp.Diff(want, d, cmpopts.IgnoreUnexported(Dataset{})); diff != "" {
		t.Errorf("data set differs (-want +got):\n%s", diff)
	}
	var passages []Passage
	for p, err := range d.Passages() {
		if err != nil {
			t.Fatal(err)
		}
		passages = append(passages, p)
	}
	if diff := cmp.Diff([]Passage{{"p1", "Tower", "Tower\nIt is 300 metres tall.", "https://example.com"}}, passages); diff != "" {
		t.Errorf("passages differ (-want +got):\n%s", diff)
	}
}

func TestLoad_ReadsTheCorpusFromAnotherFolder(t *testing.T) {
	dir := folder(t, "queries.jsonl", oneQuery, "qrels.tsv", oneQrel)
	d, err := Load(dir, folder(t, "corpus.jsonl", onePassage))
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range d.Passages() {
		if err != nil || p.ID != "p1" {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

func TestLoad_ReadsQuestionsAboutDocuments(t *testing.T) {
	const first = `{"id":"n1","question":"How tall?","truth":"300 m","citations":["a.pdf#page=3"]}`
	const second = `{"id":"n2","question":"How old?","citations":[]}`
	for _, sub := range []string{"pdf", "docs", ""} {
		dir := folder(t, "ground_truth.a.jsonl", first, "ground_truth.b.jsonl", second, filepath.Join(sub, "x.pdf"), "")
		want := &Dataset{Name: filepath.Base(dir), Documents: filepath.Join(dir, sub), Questions: []Question{
			{ID: "n1", Text: "How tall?", Truth: "300 m", Gold: []string{"a.pdf#page=3"}},
			{ID: "n2", Text: "How old?", Gold: []string{}},
		}}
		if diff := cmp.Diff(want, load(t, dir), cmpopts.IgnoreUnexported(Dataset{})); diff != "" {
			t.Errorf("data set in %q differs (-want +got):\n%s", sub, diff)
		}
	}
}

func TestLoad_SaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"an empty folder", nil, "name the folder of a data set"},
		{"no corpus", []string{"queries.jsonl", oneQuery, "qrels.tsv", oneQrel}, "name the folder that holds it with --corpus"},
		{"no judgements", []string{"queries.jsonl", oneQuery, "corpus.jsonl", onePassage}, "qrels.tsv is missing"},
		{"a grade in letters", []string{"queries.jsonl", oneQuery, "corpus.jsonl", onePassage, "qrels.tsv", "q1\tp1\thigh\n"}, `grade "high" is not a whole number`},
		{"judgements of another format", []string{"queries.jsonl", oneQuery, "corpus.jsonl", onePassage, "qrels.tsv", "q1 0 p1 1\n"}, "has not three columns"},
		{"no query with a relevant passage", []string{"queries.jsonl", oneQuery, "corpus.jsonl", onePassage, "qrels.tsv", "q1\tp1\t0\n"}, "no query with a relevant passage"},
		{"queries that are no JSON", []string{"queries.jsonl", "{", "corpus.jsonl", onePassage, "qrels.tsv", oneQrel}, "read the queries of"},
		{"no questions", []string{"ground_truth.jsonl", "\n"}, "holds no questions"},
		{"questions that are no JSON", []string{"ground_truth.jsonl", "How tall?\n"}, "ground_truth.jsonl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(folder(t, c.files...), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestLoad_OfNoFolderIsAnError(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "gone"), ""); err == nil {
		t.Error("no error")
	}
}

func TestPassages_EndWithTheFirstError(t *testing.T) {
	d := load(t, folder(t, "queries.jsonl", oneQuery, "qrels.tsv", oneQrel, "corpus.jsonl", onePassage+"no JSON\n"+onePassage))
	var errs []error
	for _, err := range d.Passages() {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "corpus.jsonl") {
		t.Errorf("errors %v", errs)
	}
	if _, err := Index(context.Background(), newProduct(t).Env, d); err == nil {
		t.Error("indexed in spite of it")
	}
	for range d.Passages() {
		break // a yield after this would panic
	}
}

func TestIndex_HappensOncePerCorpus(t *testing.T) {
	ctx := context.Background()
	small := load(t, "testdata/small")
	p := newProduct(t)
	done := 0
	p.Progress = func(n int) { done = n }
	if took, err := Index(ctx, p.Env, small); err != nil || took <= 0 {
		t.Fatalf("took %v, %v", took, err)
	}
	stats, err := p.db.Corpus().Stats(ctx, p.Namespace)
	if err != nil || stats.Documents != 84 || done != 84 || stats.Chunks <= 84 {
		t.Errorf("%+v after %d passages, %v", stats, done, err)
	}
	if took, err := Index(ctx, p.Env, small); err != nil || took != 0 {
		t.Errorf("the second time took %v, %v", took, err)
	}
	other := load(t, folder(t, "queries.jsonl", oneQuery, "qrels.tsv", oneQrel, "corpus.jsonl", onePassage))
	if _, err := Index(ctx, p.Env, other); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("another data set: %v", err)
	}
}

func TestIndex_KeepsPassagesThatAreNothingButTheirTitle(t *testing.T) {
	ctx := context.Background()
	d := load(t, folder(t, "queries.jsonl", oneQuery, "qrels.tsv", oneQrel,
		"corpus.jsonl", onePassage+`{"id":"p2","title":"Lighthouse","text":"Lighthouse"}`+"\n"+`{"id":"p3","title":"Beacon","text":""}`))
	p := newProduct(t)
	p.index(t, d)
	for question, want := range map[string]string{"lighthouse": "p2", "beacon": "p3", "How many metres?": "p1"} {
		res, err := p.Corpus.Search(ctx, retrieval.Query{Filter: retrieval.Filter{Namespace: p.Namespace}, Text: question, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Passages) != 1 || res.Passages[0].Document.Name != want {
			t.Errorf("%q finds %+v", question, res.Passages)
		}
	}
}

func TestCutTitle_CutsWholeLinesOnly(t *testing.T) {
	for _, c := range []struct{ title, text, want string }{
		{"Dogs", "Dogs\nThey bark.", "They bark."},
		{"Dogs", "Dogs \r\n\r\nThey bark.", "They bark."},
		{"Dogs", "Dogs are allowed.", "Dogs are allowed."},
		{"Dogs", "Dogs", ""},
		{"Dogs", "They bark.", "They bark."},
		{"", "\nThey bark.", "\nThey bark."},
	} {
		if got := (Passage{Title: c.title, Text: c.text}).cutTitle(); got != c.want {
			t.Errorf("title %q, text %q: %q, want %q", c.title, c.text, got, c.want)
		}
	}
}
