package cite

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Review is what the citations of a finished answer are worth. It is used by one goroutine.
type Review struct {
	answer    string
	passages  []retrieval.Passage
	known     Known
	citations []Citation
	removed   []Doubt // the citations that are not in the answer any more
	claims    []claim
	doubts    []Doubt
	cases     []judgeCase // that a judge was asked about
}

// Find returns what an answer cites, in order of first appearance, with the cited words. It trusts
// the citations: the answer consists of the passages' own words, or is not complete.
func Find(answer string, passages []retrieval.Passage) []Citation {
	r := newReview(answer, passages)
	citations, _ := r.Result()
	return citations
}

func newReview(answer string, passages []retrieval.Passage) *Review {
	known := Citable(passages)
	return &Review{answer: answer, passages: passages, known: known, citations: findCitations(answer, known)}
}

// Review checks the citations of the answer that has passed the stream. The question helps to tell
// which numbers of the answer are the user's own.
func (s *Stream) Review(answer, question string) *Review {
	r := newReview(answer, s.check.passages)
	if s.form == Quotes {
		return r
	}
	r.claims = claimsOf(answer, r.known)
	r.doubts = support(r.claims, pageWords(r.claims, r.passages), wordsOf(question))
	r.removed = s.check.doubts(answer)
	return r
}

// doubts returns the citations that were removed, with the sentences of the answer in which they
// stood.
func (v *verifier) doubts(answer string) []Doubt {
	var out []Doubt
	if len(v.invented) == 0 {
		return out
	}
	spans := sentencesOf(answer)
	for _, inv := range v.invented {
		d := Doubt{Label: inv.label, Kind: Invented, Reason: reasonNotRetrieved}
		if i := carrier(answer, spans, min(inv.at, len(answer))); i >= 0 {
			d.Sentence = snippet(answer[spans[i].Start:spans[i].End])
		}
		out = append(out, d)
	}
	return out
}

// Result returns the citations with the cited words, and the doubts.
func (r *Review) Result() ([]Citation, []Doubt) {
	locate(r.citations, r.answer, r.known, r.passages, r.doubts)
	return r.citations, append(r.removed, r.doubts...)
}

// The limits of what a judge is asked.
const (
	maxJudged      = 40     // citations
	maxJudgeInput  = 12_000 // tokens of the sentences and pages
	maxJudgeOutput = 1000   // tokens; a model that reasons takes most of them for that
)

// verdictSchema is what a judge answers with.
var verdictSchema = json.RawMessage(`{"type":"object","properties":{"unsupported":{"type":"array","items":{"type":"integer"}}},` +
	`"required":["unsupported"],"additionalProperties":false}`)

// judgeCase is one citation to be judged.
type judgeCase struct {
	claim  claim
	label  string
	source string // the cited page, as far as the passages hold it
}

func (c judgeCase) is(d Doubt) bool { return d.Label == c.label && d.Sentence == snippet(c.claim.text) }

// Judgeable reports whether there is anything to ask a judge about.
func (r *Review) Judgeable() bool { return len(r.claims) > 0 }

// Question returns the request that asks a model which citations their pages do not support, as many
// of them as fit. Count counts tokens.
func (r *Review) Question(instructions string, count func(string) int) llm.Request {
	r.cases = r.fitting(count)
	var user strings.Builder
	for i, c := range r.cases {
		sentence := strings.TrimSpace(c.claim.before + " " + c.claim.text)
		fmt.Fprintf(&user, "%d. Sentence: %s\n   Source: %s\n", i+1, prompt.Neutral(sentence), c.source)
	}
	return llm.Request{
		Messages:        []llm.Message{llm.Text(llm.System, instructions), llm.Text(llm.User, user.String())},
		MaxOutputTokens: maxJudgeOutput,
		Effort:          "low",
		Schema:          verdictSchema,
	}
}

// fitting returns the cases that a judge has room for.
func (r *Review) fitting(count func(string) int) []judgeCase {
	pages := map[string]string{}
	for i := range r.passages {
		for label, said := range pageTexts(&r.passages[i]) {
			pages[label] += said
		}
	}
	var out []judgeCase
	room := maxJudgeInput
	for _, c := range r.claims {
		for _, label := range c.labels {
			one := judgeCase{c, label, prompt.Neutral(pages[label])}
			room -= count(one.source) + count(c.before+c.text)
			if len(out) == maxJudged || room < 0 {
				return out
			}
			out = append(out, one)
		}
	}
	return out
}

// Verdict takes in the reply to Question. It replaces the verdict by words, except about numbers,
// which either are there or are not. After an error the verdict by words stands.
func (r *Review) Verdict(reply string) error {
	found, err := readVerdict(reply, len(r.cases))
	if err != nil {
		return err
	}
	r.doubts = slices.DeleteFunc(r.doubts, func(d Doubt) bool {
		return d.Reason == reasonWords && slices.ContainsFunc(r.cases, func(c judgeCase) bool { return c.is(d) })
	})
	for _, n := range found {
		d := Doubt{r.cases[n].label, Unsupported, snippet(r.cases[n].claim.text), reasonJudge}
		if !slices.ContainsFunc(r.doubts, r.cases[n].is) && len(r.doubts) < maxUnsupported {
			r.doubts = append(r.doubts, d)
		}
	}
	return nil
}

// readVerdict reads the numbers of the cases that a judge finds unsupported, as indices.
func readVerdict(reply string, cases int) ([]int, error) {
	object, ok := llm.Object(reply)
	if !ok {
		return nil, errors.New("the verdict holds no object")
	}
	var verdict struct {
		Unsupported *[]int `json:"unsupported"`
	}
	if err := json.Unmarshal([]byte(object), &verdict); err != nil {
		return nil, fmt.Errorf("decode the verdict: %w", err)
	}
	if verdict.Unsupported == nil || len(*verdict.Unsupported) > cases {
		return nil, errors.New("the verdict is not what was asked for")
	}
	var found []int
	for _, n := range *verdict.Unsupported {
		if n < 1 || n > cases {
			return nil, fmt.Errorf("the verdict has no case %d", n)
		}
		found = append(found, n-1)
	}
	return found, nil
}
