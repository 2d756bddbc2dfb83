// Package eval measures retrieval and citation quality on data sets in two formats: passages with
// judged queries (the BEIR layout with conversations, as in MTRAG), and documents with questions
// whose gold pages are known. Documents go through the product's own splitter and index, and
// answers through its own pipeline.
package eval

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Dataset is a data set on disk. Exactly one of Queries and Questions is not empty.
type Dataset struct {
	Name      string // of its folder
	Queries   []Query
	Questions []Question
	Documents string // folder of the documents that Questions are about
	corpus    string // corpus.jsonl of Queries
}

// Query is a judged query over passages.
type Query struct {
	ID           string
	Text         string // the last turn as the user wrote it
	Rewrite      string // the standalone form that a person wrote; "" when there is none
	Conversation []Message
	Relevant     map[string]int // grade by passage id, all above 0
}

// Message is one utterance before the last turn.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Question is a question about documents with pages.
type Question struct {
	ID    string
	Text  string
	Truth string   // a reference answer
	Gold  []string // citations of the pages that hold the answer: "file.pdf#page=3"
	// Pools has, for each fact of the answer, the pages of which any one proves it. Nil means that
	// each page of Gold proves a fact of its own. With neither, the documents do not answer the question.
	Pools [][]string
}

// facts returns the pages that prove each fact of the answer.
func (q *Question) facts() [][]string {
	if q.Pools != nil {
		return q.Pools
	}
	facts := make([][]string, len(q.Gold))
	for i, g := range q.Gold {
		facts[i] = []string{g}
	}
	return facts
}

// recall returns the share of the facts that the labels prove, pages within the given distance counting.
func (q *Question) recall(labels []string, distance int) float64 {
	facts, proven := q.facts(), 0
	for _, pool := range facts {
		if share(pool, labels, distance) > 0 {
			proven++
		}
	}
	return float64(proven) / float64(max(len(facts), 1))
}

// pages returns all pages that prove something.
func (q *Question) pages() []string { return slices.Concat(q.facts()...) }

// Passage is one document of a judged corpus.
type Passage struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
	URL   string `json:"url"`
}

// Load reads the data set in dir. It is one of passages when the folder holds queries.jsonl and
// qrels.tsv; their corpus.jsonl stands beside them or in the folder corpusDir, if that is not
// empty. It is one of documents when the folder holds ground_truth*.jsonl or questions.jsonl; the
// documents are in its folder "pdf" or "docs", or beside the questions.
func Load(dir, corpusDir string) (*Dataset, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", dir, err)
	}
	d := &Dataset{Name: filepath.Base(abs)}
	if truths, _ := filepath.Glob(filepath.Join(dir, "ground_truth*.jsonl")); len(truths) > 0 {
		return d, d.loadQuestions(dir, truths)
	}
	if name := filepath.Join(dir, "questions.jsonl"); exists(name) {
		return d, d.loadQuestions(dir, []string{name})
	}
	if exists(filepath.Join(dir, "queries.jsonl")) {
		return d, d.loadQueries(dir, corpusDir)
	}
	return nil, fmt.Errorf("%s holds neither queries.jsonl and qrels.tsv nor ground_truth*.jsonl or questions.jsonl: "+
		"name the folder of a data set", dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (d *Dataset) loadQuestions(dir string, files []string) error {
	d.Documents = dir
	for _, sub := range []string{"pdf", "docs"} {
		if exists(filepath.Join(dir, sub)) {
			d.Documents = filepath.Join(dir, sub)
			break
		}
	}
	for _, f := range files {
		for line, err := range lines(f) {
			if err != nil {
				return err
			}
			var q struct {
				ID        string     `json:"id"`
				Question  string     `json:"question"`
				Truth     string     `json:"truth"`
				Citations []string   `json:"citations"`
				Gold      []string   `json:"gold"`
				Pools     [][]string `json:"pools"`
			}
			if err := json.Unmarshal(line, &q); err != nil {
				return fmt.Errorf("read %s: %w", f, err)
			}
			d.Questions = append(d.Questions, Question{ID: q.ID, Text: q.Question, Truth: q.Truth, Gold: append(q.Citations, q.Gold...), Pools: q.Pools})
		}
	}
	if len(d.Questions) == 0 {
		return fmt.Errorf("%s holds no questions", strings.Join(files, ", "))
	}
	return nil
}

func (d *Dataset) loadQueries(dir, corpusDir string) error {
	if corpusDir == "" {
		corpusDir = dir
	}
	d.corpus = filepath.Join(corpusDir, "corpus.jsonl")
	if !exists(d.corpus) {
		return fmt.Errorf("%s is missing: name the folder that holds it with --corpus", d.corpus)
	}
	qrels, err := readQrels(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		return err
	}
	for line, err := range lines(filepath.Join(dir, "queries.jsonl")) {
		if err != nil {
			return err
		}
		var q struct {
			ID           string    `json:"id"`
			Text         string    `json:"text"`
			Rewrite      string    `json:"rewrite"`
			Conversation []Message `json:"conversation"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			return fmt.Errorf("read the queries of %s: %w", dir, err)
		}
		if rel := qrels[q.ID]; len(rel) > 0 {
			d.Queries = append(d.Queries, Query{ID: q.ID, Text: q.Text, Rewrite: q.Rewrite, Conversation: q.Conversation, Relevant: rel})
		}
	}
	if len(d.Queries) == 0 {
		return fmt.Errorf("%s has no query with a relevant passage", dir)
	}
	return nil
}

// readQrels reads "query-id <tab> corpus-id <tab> grade" with a header, keeping grades above 0.
func readQrels(path string) (map[string]map[string]int, error) {
	qrels := make(map[string]map[string]int)
	for line, err := range lines(path) {
		if err != nil {
			return nil, err
		}
		f := strings.Split(string(line), "\t")
		if f[0] == "query-id" {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("read %s: the line %q has not three columns", path, line)
		}
		grade, err := strconv.Atoi(strings.TrimSpace(f[2]))
		if err != nil {
			return nil, fmt.Errorf("read %s: grade %q is not a whole number", path, f[2])
		}
		if grade <= 0 {
			continue
		}
		if qrels[f[0]] == nil {
			qrels[f[0]] = make(map[string]int)
		}
		qrels[f[0]][f[1]] = grade
	}
	return qrels, nil
}

// Passages ranges over the corpus of a data set of passages.
func (d *Dataset) Passages() iter.Seq2[Passage, error] {
	return func(yield func(Passage, error) bool) {
		for line, err := range lines(d.corpus) {
			var p Passage
			if err == nil {
				if err = json.Unmarshal(line, &p); err != nil {
					err = fmt.Errorf("read %s: %w", d.corpus, err)
				}
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// corpusHash identifies the content of the corpus.
func (d *Dataset) corpusHash() (string, error) {
	f, err := os.Open(d.corpus)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", d.corpus, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// lines ranges over the lines of a file that are not blank. A line is valid until the next one.
func lines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s is missing", path)
			}
			yield(nil, err)
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<16)
		for {
			line, err := r.ReadBytes('\n')
			if trimmed := trim(line); len(trimmed) > 0 && !yield(trimmed, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", path, err))
				return
			}
		}
	}
}

func trim(line []byte) []byte { return []byte(strings.TrimSpace(string(line))) }

// cutTitle returns the text of a passage without the title, which may be its first line too.
func (p Passage) cutTitle() string {
	rest, ok := strings.CutPrefix(p.Text, p.Title)
	if line := strings.TrimLeft(rest, " \t\r"); ok && p.Title != "" && (line == "" || line[0] == '\n') {
		return strings.TrimSpace(rest)
	}
	return p.Text
}
