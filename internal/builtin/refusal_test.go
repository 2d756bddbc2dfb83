package builtin

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/eval"
	"parley/internal/extract/sandbox"
	"parley/test/needs"
)

// The shares that the answerer is held to.
const (
	minRefused     = 0.95 // of questions that the corpus does not answer
	maxWrongRefuse = 0.06 // of questions whose answer is among the best passages
	minCited       = 0.8  // of questions about docs: the expected file is cited
	topPassages    = 5
)

// answerable is a question with what holds its answer.
type answerable struct {
	question string
	gold     []string // names of documents, or citations of pages
}

// refuses reports whether a turn ended without an answer.
func refuses(turn *chat.Turn) bool {
	return isRefusal(turn.Messages[0].Text)
}

// isRefusal reports whether an answer is one of the refusals, in any language, with or without the sources
// that come nearest.
func isRefusal(answer string) bool {
	for _, say := range append(slices.Collect(maps.Values(refusals)), english) {
		if rest, ok := strings.CutPrefix(answer, say.refusal); ok && (rest == "" || strings.HasPrefix(rest, " "+say.nearest+" ")) {
			return true
		}
	}
	return false
}

// checkRefusals asks what the corpus does not hold. The reader reads the most for such questions, so a quick run asks a third.
func checkRefusals(t *testing.T, p *product) {
	t.Helper()
	questions := readLines(t, "offcorpus.txt")
	if len(questions) < 50 {
		t.Fatalf("%d questions", len(questions))
	}
	refused := 0
	if needs.Quick() {
		var third []string
		for i := 0; i < len(questions); i += 3 {
			third = append(third, questions[i])
		}
		questions = third
	}
	for _, q := range questions {
		turn := p.ask(t, q)
		if refuses(turn) {
			refused++
		} else {
			t.Logf("not refused: %q\n\t%s", q, turn.Messages[0].Text)
		}
	}
	if float64(refused) < minRefused*float64(len(questions)) {
		t.Errorf("%d of %d questions that the corpus does not answer are refused", refused, len(questions))
	}
}

// checkAnswers asks what the corpus holds, unless it was asked already; page says that gold citations name pages. It returns
// how many questions were answered with a gold citation.
func checkAnswers(t *testing.T, p *product, asked map[string]*chat.Turn, questions []answerable, page bool) (cited int) {
	t.Helper()
	findable, refused := 0, 0
	for _, q := range questions {
		turn := asked[q.question]
		if turn == nil {
			turn = p.ask(t, q.question)
		}
		hit := false
		for _, c := range turn.Messages[0].Citations {
			hit = hit || slices.Contains(q.gold, c.Name) || slices.Contains(q.gold, c.Label)
		}
		if hit {
			cited++
		} else {
			t.Logf("%q should cite %q\n\t%s", q.question, q.gold, turn.Messages[0].Text)
		}
		for _, passage := range p.top(t, q.question, topPassages) {
			label := passage.Document.Name
			if page {
				label = fmt.Sprintf("%s#page=%d", label, passage.Chunk.PageAt(0))
			}
			if slices.Contains(q.gold, label) {
				findable++
				if refuses(turn) {
					refused++
					t.Logf("refused: %q", q.question)
				}
				break
			}
		}
	}
	t.Logf("%d questions: for %d the answer is in the top %d, of these %d are refused; %d cite it",
		len(questions), findable, topPassages, refused, cited)
	if findable < len(questions)/2 || float64(refused) > maxWrongRefuse*float64(findable) {
		t.Errorf("%d of %d questions are refused although a gold passage is in the top %d", refused, findable, topPassages)
	}
	return cited
}

// measuresAnswers skips a test of the quality of answers under the race detector, where it takes minutes and measures the same.
func measuresAnswers(t *testing.T) {
	t.Helper()
	if needs.Race {
		t.Skip("the quality of answers is measured without the race detector")
	}
}

func TestAnswer_KnowsWhatTheDocumentationSays(t *testing.T) {
	needs.Long(t)
	measuresAnswers(t)
	p := newProduct(collection(t, "manual.txtar"))
	t.Run("refuses what it does not", func(t *testing.T) { checkRefusals(t, p) })
	t.Run("answers what it does", func(t *testing.T) {
		var questions []answerable
		for _, line := range readLines(t, "manual.tsv") {
			q, gold, ok := strings.Cut(line, "\t")
			if !ok {
				t.Fatalf("no file in the line %q", line)
			}
			questions = append(questions, answerable{q, strings.Split(gold, ",")})
		}
		cited := checkAnswers(t, p, nil, questions, false)
		if len(questions) < 40 || float64(cited) < minCited*float64(len(questions)) {
			t.Errorf("%d of %d answers cite the expected file", cited, len(questions))
		}
	})
}

// In a few short documents, a word that they lack says little: people put questions in words of their own.
func TestAnswer_KnowsWhatAFewShortDocumentsSay(t *testing.T) {
	measuresAnswers(t)
	p := newProduct(collection(t, "small.txtar"))
	right, answerable, wrong, others := 0, 0, 0, 0
	for _, line := range readLines(t, "small.tsv") {
		q, want, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no answer in the line %q", line)
		}
		turn := p.ask(t, q)
		switch got := turn.Messages[0].Text; {
		case want == "-":
			others++
			if !refuses(turn) {
				wrong++
				t.Logf("not refused: %q\n\t%s", q, got)
			}
		case strings.Contains(got, want):
			answerable++
			right++
		default:
			answerable++
			t.Logf("%q should be answered with %q\n\t%s", q, want, got)
		}
	}
	t.Logf("%d of %d questions are answered, and %d of %d that the documents do not answer", right, answerable, wrong, others)
	if float64(right) < 0.9*float64(answerable) || float64(wrong) > (1-minRefused)*float64(others) {
		t.Error("too many wrong refusals, or too many wrong answers")
	}
}

func TestAnswer_KnowsWhatTheNorthwindDocumentsSay(t *testing.T) {
	measuresAnswers(t)
	if testing.Short() {
		t.Skip("reads 300 pages of PDF")
	}
	dir := filepath.Join("..", "..", "..", "shared", "data", "northwind")
	if _, err := os.Stat(dir); err != nil {
		needs.Missing(t, dir)
	}
	pool := sandbox.NewPool(sandbox.Options{CacheDir: needs.ParserCache()})
	defer pool.Close()
	p := newProduct(index(t, filepath.Join(dir, "pdf"), pool))
	t.Run("refuses what they do not", func(t *testing.T) { checkRefusals(t, p) })
	d, err := eval.Load(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(map[string]*chat.Turn)
	t.Run("cites the pages that hold the answers", func(t *testing.T) { checkPages(t, p, d, asked) })
	t.Run("answers what they do", func(t *testing.T) {
		var questions []answerable
		for _, q := range d.Questions {
			questions = append(questions, answerable{q.Text, q.Gold})
		}
		checkAnswers(t, p, asked, questions, true)
	})
}

// checkPages asks the questions of a data set about documents, compares what is found and what is cited with the goals, and keeps
// the turns in asked.
func checkPages(t *testing.T, p *product, d *eval.Dataset, asked map[string]*chat.Turn) {
	t.Helper()
	ask := func(_ context.Context, question string) (*chat.Turn, error) {
		asked[question] = p.ask(t, question)
		return asked[question], nil
	}
	r, err := eval.AskPages(t.Context(), eval.Env{Corpus: p.corpus, Namespace: "default", Rewrite: Rewrite, Ask: ask}, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	const rounding = 1e-9
	for _, m := range []struct {
		name       string
		got, least float64
	}{
		{"gold page in the top 5", r.Searches[0].Gold5, 0.65},
		{"the same within one page", r.Searches[0].Near5, 0.75},
		{"cited gold pages", r.CitedGold, 0.45},
		{"precision of citations", r.CitePrecision, 0.4},
	} {
		if m.got < m.least-rounding {
			t.Errorf("%s: %.4f, at least %v", m.name, m.got, m.least)
		}
	}
	if r.MostCited > 3 || r.Questions != 20 {
		t.Errorf("%d questions, up to %d pages cited", r.Questions, r.MostCited)
	}
}
