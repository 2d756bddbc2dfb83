package builtin

import (
	"context"
	"math"
	"sync"
	"unicode"

	"parley/internal/encoder"
	"parley/internal/encoder/minilm"
	"parley/internal/text"
)

// Reader reads blocks together with an English question, and tells how well each answers it. It may be used
// by several goroutines at once.
type Reader struct {
	// Scores says how well each text answers a question: 10 if it does, -10 if it has nothing to do with it.
	Scores func(ctx context.Context, question string, texts []string) ([]float64, error)

	mu    sync.Mutex
	known map[[2]string]float64 // scores by question and text: a turn asks several times
}

const (
	maxRead   = 16      // blocks of one question that are read: those that have most of its words
	maxKnown  = 4 << 10 // most scores that are kept
	maxLooked = 500     // bytes that are read of a block
)

// NewReader returns the reader with the network that is part of the program, the same each time; nil on a
// processor that would take seconds for an answer.
var NewReader = sync.OnceValue(func() *Reader {
	if !encoder.Fast() {
		return nil
	}
	return &Reader{known: make(map[[2]string]float64), Scores: func(ctx context.Context, question string, texts []string) ([]float64, error) {
		s, err := minilm.Open()
		if err != nil {
			return nil, err
		}
		return s.Scores(ctx, question, texts)
	}}
})

// read returns how well each text answers a question; zeros when it cannot, because ctx has ended.
func (r *Reader) read(ctx context.Context, question string, texts []string) []float64 {
	all := make([]float64, len(texts))
	var unread []int
	r.mu.Lock()
	for i, s := range texts {
		var ok bool
		if all[i], ok = r.known[[2]string{question, s}]; !ok {
			unread = append(unread, i)
		}
	}
	r.mu.Unlock()
	if len(unread) == 0 {
		return all
	}
	missing := make([]string, len(unread))
	for i, at := range unread {
		missing[i] = texts[at]
	}
	scores, err := r.Scores(ctx, question, missing)
	if err != nil {
		return make([]float64, len(texts))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known)+len(unread) > maxKnown {
		clear(r.known)
	}
	for i, at := range unread {
		all[at] = scores[i]
		r.known[[2]string{question, texts[at]}] = scores[i]
	}
	return all
}

// Reads reports whether there is a reader, and it knows the language of a question.
func (r *Reader) Reads(question string) bool { return r != nil && isEnglish(question) }

// judge keeps the units that have most of the question's words, and notes how well they answer it. A question
// that goes on is read alone and behind the one before, and the better score counts. Without a reader, or for a
// question in a language that it does not know, all units stay as they are.
func (r *Reader) judge(ctx context.Context, question string, before []string, goesOn bool, units []unit) []unit {
	if !r.Reads(question) || len(units) == 0 {
		return units
	}
	goesOn = goesOn && len(before) > 0
	most := maxRead
	if goesOn {
		most /= 2
	}
	best := mostLikely(units, most)
	texts := make([]string, len(best))
	for i := range best {
		texts[i] = best[i].text
	}
	scores := r.read(ctx, question, texts)
	if goesOn {
		for i, s := range r.read(ctx, before[len(before)-1]+" "+question, texts) {
			scores[i] = max(scores[i], s)
		}
	}
	for i, s := range scores {
		best[i].features[like] = squash(s)
		best[i].score = best[i].features.score()
	}
	return best
}

// What tells whether the best of the blocks that were read answers, fitted to the development half of test/answers:
// how well it does by itself, and how far it is ahead of the next one.
const (
	minWordedWhenRead = 0.25 // where the words of the question are there
	minChanceWhenRead = 0.4  // where they are not
	maxLead           = 1.5
)

// chanceWhenRead returns how likely the best unit is to answer, once units were read.
func chanceWhenRead(units []unit, best int) float64 {
	return 1 / (1 + math.Exp(1.9-1.44*units[best].features[like]-1.58*min(lead(units, best), maxLead)))
}

// squash maps the score of a scorer to [0, 1]: -10, what has nothing to do with the question, to 0 and 10 to 1.
func squash(score float64) float64 { return min(max(score/20+.5, 0), 1.1) }

// isEnglish reports whether a question is in the language that the encoder knows.
func isEnglish(question string) bool { return text.LanguageOf(question) == "en" && isASCII(question) }

// isASCII reports whether hardly any character of a text is of another script.
func isASCII(s string) bool {
	others := 0
	for _, r := range s {
		if r >= 0x250 && unicode.IsLetter(r) {
			others++
		}
	}
	return others*10 <= len(s)
}
