package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
)

// AnswerSet is one corpus with questions whose answers are judged by the facts they must hold.
// Its folder has the questions in facts.jsonl and the documents in docs.
type AnswerSet struct {
	Name      string // of its folder
	Documents string // folder of the documents
	Questions []FactQuestion
}

// FactQuestion is a question with the facts of a right answer. Facts and traps are patterns, see pattern.
type FactQuestion struct {
	ID       string    `json:"id"`
	Language string    `json:"language"`
	Type     string    `json:"type"` // number, list, steps …; "unanswerable" when the documents hold no answer
	Question string    `json:"question"`
	Follows  string    `json:"follows,omitempty"` // ID of the question asked before it in the same conversation
	Facts    []pattern `json:"facts,omitempty"`   // a right answer matches all of them
	Not      []pattern `json:"not,omitempty"`     // an answer that matches any of them misleads
	Gold     []string  `json:"gold,omitempty"`    // where the answer stands: "file.pdf#page=3", or "file.md" without pages
}

// answerable reports whether the documents hold an answer.
func (q *FactQuestion) answerable() bool { return q.Type != "unanswerable" }

const factsName = "facts.jsonl"

// LoadAnswers returns the answer sets in dir: dir itself, or all of its folders. It returns none when
// dir holds no set.
func LoadAnswers(dir string) ([]*AnswerSet, error) {
	files, err := filepath.Glob(filepath.Join(dir, factsName))
	if err == nil && len(files) == 0 {
		files, err = filepath.Glob(filepath.Join(dir, "*", factsName))
	}
	if err != nil {
		return nil, fmt.Errorf("look for %s in %s: %w", factsName, dir, err)
	}
	var sets []*AnswerSet
	for _, f := range files {
		set, err := loadAnswerSet(f)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func loadAnswerSet(file string) (*AnswerSet, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", file, err)
	}
	set := &AnswerSet{Name: filepath.Base(dir), Documents: filepath.Join(dir, "docs")}
	seen := make(map[string]bool)
	for line, err := range lines(file) {
		if err != nil {
			return nil, err
		}
		var q FactQuestion
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, fmt.Errorf("read %s: %w in the line %s", file, err, line)
		}
		if err := set.check(&q, seen); err != nil {
			return nil, fmt.Errorf("read %s: question %q %w", file, q.ID, err)
		}
		seen[q.ID] = true
		set.Questions = append(set.Questions, q)
	}
	return set, nil
}

// check returns what is wrong with a question, as the predicate of a sentence.
func (s *AnswerSet) check(q *FactQuestion, seen map[string]bool) error {
	switch {
	case q.ID == "" || seen[q.ID]:
		return fmt.Errorf("needs an id of its own")
	case q.Question == "" || q.Language == "" || q.Type == "":
		return fmt.Errorf("lacks question, language or type")
	case q.Follows != "" && !seen[q.Follows]:
		return fmt.Errorf("follows %q, which does not stand before it", q.Follows)
	case q.answerable() != (len(q.Facts) > 0) || q.answerable() != (len(q.Gold) > 0):
		return fmt.Errorf("needs facts and gold, or the type unanswerable and neither")
	}
	for _, g := range q.Gold {
		if _, err := os.Stat(filepath.Join(s.Documents, documentOf(g))); err != nil {
			return fmt.Errorf("names the gold document %s, which is missing", g)
		}
	}
	return nil
}

// documentOf returns the document of a citation.
func documentOf(label string) string {
	name, _, _ := strings.Cut(label, pageMark)
	return name
}

// Asker answers a question at the end of a conversation.
type Asker func(ctx context.Context, conversation []chat.Message, question string) (*chat.Turn, error)

// Judge asks all questions of a set, and judges the answers. A question that follows another one is
// asked in the conversation with the answers given before.
func (s *AnswerSet) Judge(ctx context.Context, ask Asker) ([]Judgement, error) {
	said := make(map[string][]chat.Message)
	var judged []Judgement
	for i := range s.Questions {
		q := &s.Questions[i]
		before := said[q.Follows]
		turn, err := ask(ctx, before, q.Question)
		if err != nil {
			return nil, fmt.Errorf("answer question %s: %w", q.ID, err)
		}
		answer := answerText(turn)
		said[q.ID] = append(slices.Clone(before),
			chat.TextMessage(llm.User, q.Question), chat.TextMessage(llm.Assistant, answer))
		judged = append(judged, judge(s.Name, q, answer, citations(turn)))
	}
	return judged, nil
}

func answerText(t *chat.Turn) string {
	var parts []string
	for _, m := range t.Messages {
		parts = append(parts, m.Text)
	}
	return strings.Join(parts, "\n")
}
