package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// The limits of what a judge is asked.
const (
	maxJudged      = 40     // citations
	maxJudgeInput  = 12_000 // tokens of the sentences and pages
	maxJudgeOutput = 1000   // tokens; a model that reasons takes most of them for that
)

// verdictSchema is what a judge answers with.
var verdictSchema = json.RawMessage(`{"type":"object","properties":{"unsupported":{"type":"array","items":{"type":"integer"}}},` +
	`"required":["unsupported"],"additionalProperties":false}`)

// verify finds what a finished answer cites, and what of it the cited pages do not bear out: by
// their words and, where there is a judge, by its verdict.
func (a *answer) verify(ctx context.Context) error {
	known := citable(a.sent)
	a.done.Citations = findCitations(a.done.Text, known)
	if a.check == nil {
		locate(a.done.Citations, a.done.Text, known, a.sent, nil)
		return nil
	}
	claims := claimsOf(a.done.Text, known)
	question := wordsOf(a.asked + "\n" + a.query.Query)
	doubts := support(claims, pageWords(claims, a.sent), question)
	key := cmp.Or(a.req.Options.Models.Judge, a.cfg.Defaults.Models.Judge)
	if key != "" && !a.cfg.Grounded(key) && len(claims) > 0 {
		judged := func(ctx context.Context, _ *output) (StageFinished, error) {
			var done StageFinished
			doubts, done = a.judge(ctx, key, claims, doubts)
			return done, nil
		}
		if err := a.runStage(ctx, a.out, stage{name: StageVerify, run: judged}); err != nil {
			return err
		}
	}
	locate(a.done.Citations, a.done.Text, known, a.sent, doubts)
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
func (a *answer) judge(ctx context.Context, key string, claims []claim, doubts []Doubt) ([]Doubt, StageFinished) {
	var done StageFinished
	cases := a.cases(claims)
	m, err := a.resolve(StageVerify, key)
	var found []int
	if err == nil {
		var reply llm.Completion
		reply, err = a.ask(ctx, m, a.cfg.JudgeTimeout, a.judgeRequest(cases))
		done.Model, done.Usage = reply.Model, reply.Usage
		if err == nil {
			found, err = readVerdict(reply.Text, len(cases))
		}
	}
	if err != nil {
		a.cfg.Logger.Warn("citations could not be judged", "turn_id", a.req.TurnID, "model", key, "error", err)
		done.Note = fmt.Sprintf("citations are checked by their words only, because %s failed", key)
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
	room := maxJudgeInput
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

func (a *answer) judgeRequest(cases []judgeCase) llm.Request {
	var user strings.Builder
	for i, c := range cases {
		sentence := strings.TrimSpace(c.claim.before + " " + c.claim.text)
		fmt.Fprintf(&user, "%d. Sentence: %s\n   Source: %s\n", i+1, sourceText(sentence), c.source)
	}
	return llm.Request{
		Messages: []llm.Message{
			llm.Text(llm.System, a.cfg.Prompts.text(a.req.Options.PromptDomain, judgePrompt)),
			llm.Text(llm.User, user.String()),
		},
		MaxOutputTokens: maxJudgeOutput,
		Effort:          "low",
		Schema:          verdictSchema,
	}
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

// wasShown reports whether the model was shown a text, and so did not make it up: in a passage, by
// the user, or earlier in the conversation.
func (t *turn) wasShown(s string) bool {
	return t.wasGiven(s) || s != "" && slices.ContainsFunc(t.sent, func(p retrieval.Passage) bool {
		return strings.Contains(p.Chunk.Text, s) || p.Document.URL == s
	})
}

// wasGiven reports whether the user gave a text, now or earlier in the conversation.
func (t *turn) wasGiven(s string) bool {
	return s != "" && (strings.Contains(t.asked, s) || slices.ContainsFunc(t.history, func(m Message) bool {
		return m.Role == llm.User && strings.Contains(m.Text(), s)
	}))
}
