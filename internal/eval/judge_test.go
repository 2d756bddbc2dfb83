package eval

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
)

func patterns(t *testing.T, all ...string) (out []pattern) {
	t.Helper()
	for _, s := range all {
		var p pattern
		b, _ := json.Marshal(s)
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestPattern_KeepsWordsAndNumbersWhole(t *testing.T) {
	for _, c := range []struct {
		pattern, said string
		want          bool
	}{
		{"25", "It takes 25 days.", true},
		{"25", "It takes 125 days.", false},
		{"25", "It takes 25.5 days.", false},
		{"25", "It takes 3.25 days.", false},
		{"25", "It takes 125 or 25.", true},
		{"37[.,]5", "37,5 Stunden", true},
		{"12", "It is 12cm long.", true},
		{"car", "The care home.", false},
		{"car", "A Car!", true},
		{"safe", "SQLITE_SAFE", false},
		{"20天", "每年享有20天假期", true},
		{"20天", "每年享有120天假期", false},
		{"8 %", "up to 8 %.", true},
		{"größe", "Die Größe zählt", true},
	} {
		if got := patterns(t, c.pattern)[0].in(c.said); got != c.want {
			t.Errorf("%q in %q: %v", c.pattern, c.said, got)
		}
	}
}

func TestJudge(t *testing.T) {
	asked := func(kind string) *FactQuestion {
		return &FactQuestion{ID: "x", Type: kind, Facts: patterns(t, "30 days|a month", "full pay"), Not: patterns(t, "unpaid"),
			Gold: []string{"a.pdf#page=2"}}
	}
	none := &FactQuestion{ID: "n", Type: "unanswerable"}
	for _, c := range []struct {
		name   string
		asked  *FactQuestion
		answer string
		labels []string
		want   Judgement
	}{
		{"all facts", asked("duration"), "You get thirty, i.e. 30 days [a.pdf#page=2]. It is at full pay [a.pdf#page=2]. The sky is blue.", []string{"a.pdf#page=2"},
			Judgement{Verdict: Right, Superfluous: 1, Cites: "page"}},
		{"a quoted item is a sentence of its own", asked("duration"), "1. Ring the bell. [b.md] You get 30 days at full pay. [a.pdf#page=2]", []string{"b.md", "a.pdf#page=2"},
			Judgement{Verdict: Right, Superfluous: 1, Cites: "page"}},
		{"the items of a list may be cited one by one", asked("steps"), "Do this: [a.pdf#page=2] 1. Wait 30 days. [a.pdf#page=2] 2. Ask for full pay. [a.pdf#page=2]",
			[]string{"a.pdf#page=2"}, Judgement{Verdict: Right, Cites: "page"}},
		{"some facts, another page", asked("duration"), "You get 30\u00a0days. [a.pdf#page=3]", []string{"a.pdf#page=3"},
			Judgement{Verdict: Partly, Cites: "document"}},
		{"a trap", asked("duration"), "30 days at full pay, or unpaid. [b.md]", []string{"b.md"},
			Judgement{Verdict: Partly, Misleading: true, Cites: "other"}},
		{"no fact", asked("duration"), "Ask your manager. [a.pdf#page=2]", []string{"a.pdf#page=2"},
			Judgement{Verdict: Wrong, Cites: "page"}},
		{"numbers of citations are no facts", asked("duration"), "See there. [30 days full pay.md]", []string{"30 days full pay.md"},
			Judgement{Verdict: Wrong, Cites: "other"}},
		{"refused", asked("duration"), "I don't know.", nil, Judgement{Verdict: WronglyRefused, Cites: "-"}},
		{"refused with what is near", none, "Das weiß ich nicht. Am nächsten kommt: [a.pdf#page=1]", []string{"a.pdf#page=1"},
			Judgement{Verdict: RightlyRefused, Cites: "other"}},
		{"invented", none, "It is blue. [a.pdf#page=1]", []string{"a.pdf#page=1"},
			Judgement{Verdict: Invented, Misleading: true, Cites: "other"}},
		{"a list belongs to the sentence before it", asked("list"), "You get 30 days at full pay for:\n\n- moving\n- weddings\n", []string{"a.pdf#page=2"},
			Judgement{Verdict: Right, Cites: "page"}},
	} {
		got := judge("c", c.asked, c.answer, c.labels)
		got.FactQuestion, got.Corpus, got.Answer = nil, "", ""
		if got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestJudge_AsksFollowUpsInTheirConversation(t *testing.T) {
	s := &AnswerSet{Questions: []FactQuestion{
		{ID: "a", Type: "unanswerable", Question: "One?"},
		{ID: "b", Type: "unanswerable", Question: "Two?", Follows: "a"},
		{ID: "c", Type: "unanswerable", Question: "Three?"},
	}}
	var asked []string
	_, err := s.Judge(context.Background(), func(_ context.Context, before []chat.Message, question string) (*chat.Turn, error) {
		said := question
		for _, m := range before {
			said = m.Text() + " / " + said
		}
		asked = append(asked, said)
		return &chat.Turn{Messages: []chat.MessageFinished{{Text: "Answer to " + question}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"One?", "Answer to One? / One? / Two?", "Three?"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestWriteChanges_ListsWonAndLost(t *testing.T) {
	judged := func(verdicts ...Verdict) (all []Judgement) {
		for i, v := range verdicts {
			all = append(all, Judgement{FactQuestion: &FactQuestion{ID: string(rune('a' + i)), Question: "right or wrong?"}, Verdict: v, Answer: "right q?"})
		}
		return all
	}
	var old, now strings.Builder
	if err := WriteAnswers(&old, judged(Right, Wrong, Invented, Partly, Right)); err != nil {
		t.Fatal(err)
	}
	if err := WriteChanges(&now, strings.NewReader(old.String()), judged(Wrong, Right, RightlyRefused, WronglyRefused, Right)); err != nil {
		t.Fatal(err)
	}
	want := `
won: 2
  b  wrong -> right  right or wrong?
  c  invented -> rightly-refused  right or wrong?

lost: 1
  a  right -> wrong  right or wrong?

neither won nor lost: 1
  d  partly -> wrongly-refused  right or wrong?
`
	if diff := cmp.Diff(want, now.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLoadAnswers_SaysWhatIsWrongWithAQuestion(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"a","language":"en","type":"list","question":"x","facts":["("],"gold":["a.md"]}`:            "compile a fact",
		`{"id":"a","language":"en","type":"list","question":"x","facts":["y"]}`:                            "needs facts and gold",
		`{"id":"a","language":"en","type":"unanswerable","question":"x","facts":["y"]}`:                    "needs facts and gold",
		`{"id":"a","language":"en","type":"unanswerable","question":"x","follows":"b"}`:                    "does not stand before",
		`{"id":"a","language":"en","type":"list","question":"x","facts":["y"],"gold":["gone.pdf#page=1"]}`: "which is missing",
		`{"id":"a","type":"unanswerable","question":"x"}`:                                                  "lacks question",
		`{"language":"en","type":"unanswerable","question":"x"}`:                                           "an id of its own",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, factsName), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadAnswers(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The sets of the project can be read, and 15 % of the questions or more have no answer.
func TestLoadAnswers_ReadsTheProjectsOwnSets(t *testing.T) {
	for _, half := range []string{"dev", "test"} {
		sets, err := LoadAnswers(filepath.Join("..", "..", "test", "answers", half))
		if err != nil {
			t.Fatal(err)
		}
		all, none := 0, 0
		for _, s := range sets {
			for _, q := range s.Questions {
				all++
				if !q.answerable() {
					none++
				}
			}
		}
		if len(sets) > 0 && none*100 < all*15 {
			t.Errorf("%s: %d of %d questions have no answer", half, none, all)
		}
	}
}
