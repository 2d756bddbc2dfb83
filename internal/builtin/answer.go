package builtin

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode"

	"parley/internal/llm"
)

// ModelName is the name under which the answerer reports its answers.
const ModelName = "extractive"

// limits bound an answer, and set how much a further sentence must add to it.
type limits struct {
	sentences int
	bytes     int     // citations not counted
	pages     int     // citations that differ
	gain      float64 // a further block must add this, relative to the first
	pageGain  float64 // the same for a block on a page that is not cited yet
	again     float64 // weight of a word of the question that the answer already holds
	unlike    float64 // how much worse than the first block a reader may find a further one
}

// An answer is short enough to be read at a glance.
var brief = limits{sentences: 4, bytes: 900, pages: 3, gain: .4, pageGain: .5, again: .1, unlike: .1}

// Answerer is the provider builtin, which reads Request.Evidence only. Its model extractive answers with sentences of the
// evidence, each followed by the citation of the page on which it begins; without an answer in the evidence, it says that it
// does not know. Its model findings lists everything in the evidence that bears on the question (see findings).
type Answerer struct {
	Reader *Reader // compares quotable text with the question; nil: by words alone
	hasty  bool    // reads one round of blocks
}

var _ llm.Model = Answerer{}

// Stream implements llm.Model: a chunk for each sentence, then the finish reason and the usage.
func (a Answerer) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		ev := unpasted(req.Evidence)
		parts, name := []string{smallReply(ctx, ev)}, ModelName
		switch {
		case req.Model == FindingsName:
			parts, name = a.findings(ctx, ev), FindingsName
		case parts[0] == "":
			parts = a.sentences(ctx, ev)
		}
		if len(parts) == 0 {
			parts = append(parts, a.refusal(ctx, ev, name == ModelName))
		}
		reason := "stop"
		if name == ModelName && req.MaxOutputTokens > 0 { // findings are for other agents: the limit is for the answer
			if cut := within(parts, req.MaxOutputTokens); cut != nil {
				parts, reason = cut, "length"
			}
		}
		var input, output llm.TokenEstimate
		for _, p := range parts {
			if err := ctx.Err(); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			output.Add(p)
			if !yield(llm.Chunk{Text: p, Model: name}, nil) {
				return
			}
		}
		for _, m := range req.Messages {
			input.Add(m.Text())
		}
		yield(llm.Chunk{Model: name, FinishReason: reason,
			Usage: &llm.Usage{Input: input.Tokens(), Output: output.Tokens(), Estimated: true}}, nil)
	}
}

// within cuts an answer to a number of tokens. It returns nil if the whole answer fits. It cuts after a word, or inside the
// word if there is only one, but never inside a citation.
func within(parts []string, tokens int) (cut []string) {
	var used llm.TokenEstimate
	for i, p := range parts {
		for at, r := range p {
			if used.Add(string(r)); used.Tokens() <= tokens {
				continue
			}
			begun := p[:at]
			if open := strings.LastIndex(begun, " ["); open > strings.LastIndexByte(begun, ']') {
				begun = begun[:open]
			} else if space := strings.LastIndexByte(begun, ' '); space >= 0 && r != ' ' {
				begun = begun[:space]
			}
			cut = append([]string{}, parts[:i]...)
			if strings.TrimSpace(begun) != "" {
				cut = append(cut, begun)
			}
			return cut
		}
	}
	return nil
}

// unpasted returns the evidence without text that was pasted below a question, so that a question of any length takes little
// time.
func unpasted(ev *llm.Evidence) *llm.Evidence {
	if ev == nil || len(ev.Question) <= maxHistory && len(ev.Query) <= maxHistory {
		return ev
	}
	cut := *ev
	cut.Question, cut.Query = beginning(ev.Question), beginning(ev.Query)
	return &cut
}

// sentences returns the parts of an answer, none if the evidence does not hold one.
func (a Answerer) sentences(ctx context.Context, ev *llm.Evidence) (parts []string) {
	for i, q := range a.quotes(ctx, ev, brief) {
		text := q.String()
		if i > 0 {
			text = " " + text
		}
		parts = append(parts, text)
	}
	return parts
}

// quotes returns the quotes that answer the question, in reading order and within limits; none if the evidence does not hold an
// answer.
func (a Answerer) quotes(ctx context.Context, ev *llm.Evidence, most limits) (quotes []quote) {
	if c, ok := fromTable(ev); ok {
		return c.quotes
	}
	for _, u := range a.chosen(ctx, ev, most) {
		quotes = appendQuotes(quotes, &ev.Passages[u.passage], &u)
	}
	return quotes
}

// fromTable answers from a table: with a value that is computed from all of it, or with one of its cells.
func fromTable(ev *llm.Evidence) (c computed, ok bool) {
	if c, ok = computedFrom(ev); ok {
		return c, true
	}
	return lookedUp(ev)
}

// quote is a span of a passage with its citation.
type quote struct {
	text     string
	citation string
	row      bool // of a table
}

// String returns the quote as it appears in an answer.
func (q quote) String() string {
	s := q.said()
	if q.citation == "" {
		return s
	}
	return s + " [" + q.citation + "]"
}

// said returns the words of the quote: a text on one line, and a row as a person would say it, "Trainee — notice: two weeks;
// pay: 900". A row that begins with the number of a line stays as it is.
func (q quote) said() string {
	s := onOneLine(q.text)
	first, others, _ := strings.Cut(s, "; ")
	_, about, _ := strings.Cut(first, ": ")
	if !q.row || !strings.ContainsFunc(about, unicode.IsLetter) && !aYear.MatchString(about) {
		return s
	}
	return about + " — " + others
}

// onOneLine returns a text with a space for each line break, as in the sources that protocols show.
func onOneLine(s string) string { return lineBreaks.Replace(s) }

var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// Read returns the indices of the passages that the answer quotes, in the order of the quotes, and false. If the answer is
// computed, it returns all passages from which it is computed, and true.
func (a Answerer) Read(ctx context.Context, ev *llm.Evidence) (quoted []int, all bool) {
	if c, ok := fromTable(ev); ok {
		return c.passages, true
	}
	for _, u := range a.chosen(ctx, ev, brief) {
		if !slices.Contains(quoted, u.passage) {
			quoted = append(quoted, u.passage)
		}
	}
	return quoted, false
}
