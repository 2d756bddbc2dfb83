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

// Review checks the citations of a finished answer. It is not safe for concurrent use.
type Review struct {
	answer    string
	passages  []retrieval.Passage
	known     Known
	citations []Citation
	removed   []Doubt // the citations that were removed from the answer
	claims    []claim
	doubts    []Doubt
	cases     []judgeCase // the cases that the judge was asked about
}

// Find returns the citations of an answer with the cited words, in order of first appearance. It does not
// check them. Use it for answers in the words of the passages, and for incomplete answers.
func Find(answer string, passages []retrieval.Passage) []Citation {
	r := newReview(answer, passages)
	citations, _ := r.Result()
	return citations
}

func newReview(answer string, passages []retrieval.Passage) *Review {
	known := Citable(passages)
	return &Review{answer: answer, passages: passages, known: known, citations: findCitations(answer, known)}
}

// Review checks the citations of the answer that has passed through the stream. It needs the question because
// the answer may repeat numbers from it.
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

// doubts returns the citations that were removed, each with the sentence of the answer that carried it.
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

// The limits of a question to the judge.
const (
	maxJudged      = 40     // citations
	maxJudgeInput  = 12_000 // tokens of the sentences and pages
	maxJudgeOutput = 1000   // tokens; a model that reasons uses most of them for its reasoning
)

// verdictSchema describes the judge's answer.
var verdictSchema = json.RawMessage(`{"type":"object","properties":{"unsupported":{"type":"array","items":{"type":"integer"}}},` +
	`"required":["unsupported"],"additionalProperties":false}`)

// judgeCase is one citation to judge.
type judgeCase struct {
	claim  claim
	label  string
	source string // the cited page, as far as the passages contain it
}

func (c judgeCase) is(d Doubt) bool { return d.Label == c.label && d.Sentence == snippet(c.claim.text) }

// Judgeable reports whether there is anything to ask a judge about.
func (r *Review) Judgeable() bool { return len(r.claims) > 0 }

// Question returns the request that asks a model which citations are not supported by their pages. It includes
// as many citations as fit. count counts tokens.
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

// fitting returns the first cases, as many as fit into the request.
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

// Verdict applies the reply to Question. The reply overrides the verdict by words, except about numbers,
// which a page either contains or does not. On an error, the verdict by words is unchanged.
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

// readVerdict returns the indices of the cases that the judge found unsupported.
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
