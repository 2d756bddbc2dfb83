package chat

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/llm"
)

//go:embed prompts/judge.txt
var judgePrompt string

// The limits of what a judge is asked.
const (
	maxJudged      = 40      // citations
	maxJudgeTokens = 12_000  // of the sentences and pages
	maxJudgeAnswer = 4 << 10 // bytes
)

// verdictSchema is what a judge answers with.
const verdictSchema = `{"type":"object","properties":{"unsupported":{"type":"array","items":{"type":"integer"}}},` +
	`"required":["unsupported"],"additionalProperties":false}`

// verify finds what a finished answer cites, and what of it the cited pages do not bear out: by
// their words and, where there is a judge, by its verdict.
func (a *answer) verify(ctx context.Context) error {
	known := citable(a.sent)
	a.done.Citations = findCitations(a.done.Text, known)
	if a.check == nil {
		return nil
	}
	claims := claimsOf(a.done.Text, known)
	question := wordsOf(a.asked + "\n" + a.query.Query)
	doubts := support(claims, pageWords(claims, a.sent), question)
	if a.req.Options.Models.Judge != "" && len(claims) > 0 {
		judged := stage{StageVerify, func(ctx context.Context, _ *output) (StageFinished, error) {
			var done StageFinished
			doubts, done = a.judge(ctx, claims, doubts)
			return done, nil
		}}
		if err := a.runStage(ctx, a.out, judged); err != nil {
			return err
		}
	}
	a.done.Doubts = append(a.check.doubts(a.done.Text), doubts...)
	return nil
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

// judge asks a model which citations are not borne out. Its verdict replaces that of the words,
// except on numbers, which either is there or is not. Without a verdict that of the words stands.
func (a *answer) judge(ctx context.Context, claims []claim, doubts []Doubt) ([]Doubt, StageFinished) {
	var done StageFinished
	cases := a.cases(claims)
	m, err := a.resolve(a.req.Options.Models.Judge)
	var found []int
	if err == nil {
		done.Model = m.key
		ctx, cancel := context.WithTimeout(ctx, a.cfg.JudgeTimeout)
		defer cancel()
		found, done.Usage, err = a.askJudge(ctx, m, cases)
	}
	if err != nil {
		a.cfg.Logger.Warn("citations could not be judged", "turn_id", a.req.TurnID, "error", err)
		done.Note = "citations are checked by their words only"
		return doubts, done
	}
	doubts = slices.DeleteFunc(doubts, func(d Doubt) bool {
		return d.Reason == reasonWords && slices.ContainsFunc(cases, func(c judgeCase) bool { return c.is(d) })
	})
	for _, n := range found {
		d := Doubt{cases[n].label, Unsupported, snippet(cases[n].claim.text), reasonJudge}
		if !slices.ContainsFunc(doubts, cases[n].is) && len(doubts) < maxUnsupported {
			doubts = append(doubts, d)
		}
	}
	return doubts, done
}

// judgeCase is one citation to be judged.
type judgeCase struct {
	claim  claim
	label  string
	source string // the cited page, as far as the passages hold it
}

func (c judgeCase) is(d Doubt) bool { return d.Label == c.label && d.Sentence == snippet(c.claim.text) }

// cases returns what a judge is asked, as much as fits.
func (a *answer) cases(claims []claim) []judgeCase {
	pages := map[string]string{}
	for i := range a.sent {
		for label, said := range pageTexts(&a.sent[i]) {
			pages[label] += said
		}
	}
	var out []judgeCase
	room := maxJudgeTokens
	for _, c := range claims {
		for _, label := range c.labels {
			one := judgeCase{c, label, sourceText(pages[label])}
			room -= a.cfg.Count(one.source) + a.cfg.Count(c.before+c.text)
			if len(out) == maxJudged || room < 0 {
				return out
			}
			out = append(out, one)
		}
	}
	return out
}

// askJudge returns the indices of the cases that the judge finds unsupported.
func (a *answer) askJudge(ctx context.Context, m resolved, cases []judgeCase) ([]int, llm.Usage, error) {
	var user strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&user, "%d. Sentence: %s\n   Source: %s\n", i+1, sourceText(strings.TrimSpace(c.claim.before+" "+c.claim.text)), c.source)
	}
	req := llm.Request{
		Model:           m.name,
		Messages:        []llm.Message{llm.Text(llm.System, strings.TrimSpace(judgePrompt)), llm.Text(llm.User, user.String())},
		MaxOutputTokens: maxJudgeAnswer / 4,
		Schema:          json.RawMessage(verdictSchema),
	}
	var answer strings.Builder
	var usage *llm.Usage
	for c, err := range m.Stream(ctx, req) {
		if err != nil {
			return nil, llm.Usage{}, fmt.Errorf("judge citations with %s: %w", m.key, err)
		}
		if c.Usage != nil {
			usage = c.Usage
		}
		if answer.Len()+len(c.Text) > maxJudgeAnswer {
			return nil, llm.Usage{}, errors.New("the verdict is too long")
		}
		answer.WriteString(c.Text)
	}
	if usage == nil {
		usage = &llm.Usage{Input: llm.EstimateInput(req), Output: a.cfg.Count(answer.String()), Estimated: true}
	}
	found, err := readVerdict(answer.String(), len(cases))
	return found, *usage, err
}

// readVerdict reads the numbers of the cases that a judge finds unsupported, as indices.
func readVerdict(answer string, cases int) ([]int, error) {
	// Models that take no schema may put a fence or a word around the object.
	start, end := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if start < 0 || end < start {
		return nil, errors.New("the verdict holds no object")
	}
	var verdict struct {
		Unsupported *[]int `json:"unsupported"`
	}
	if err := json.Unmarshal([]byte(answer[start:end+1]), &verdict); err != nil {
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

// wasGiven reports whether the model was given a text, and so did not make it up: in a passage, by
// the user, or earlier in the conversation.
func (t *turn) wasGiven(s string) bool {
	if s == "" {
		return false
	}
	for i := range t.sent {
		if p := &t.sent[i]; strings.Contains(p.Chunk.Text, s) || p.Document.URL == s {
			return true
		}
	}
	for _, m := range t.history {
		if m.Role == llm.User && strings.Contains(m.Text(), s) {
			return true
		}
	}
	return strings.Contains(t.asked, s)
}
