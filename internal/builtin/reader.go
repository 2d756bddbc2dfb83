package builtin

import (
	"context"
	"sync"
	"unicode"

	"parley/internal/encoder"
	"parley/internal/text"
)

// Reader tells how like a question the blocks are that may answer it, by a built-in encoder. It may be
// used by several goroutines at once.
type Reader struct {
	open func() (*encoder.Model, error)

	mu    sync.Mutex
	known map[string][]float32 // vectors of what was read, by its text
}

const (
	maxRead   = 24      // blocks of one question that are read: those that have most of its words
	maxKnown  = 4 << 10 // most texts whose vectors are kept; a vector has 1.5 KiB
	maxLooked = 500     // bytes that are read of a block
)

// ReaderOf returns the reader with one of Embedders, the same each time; nil for another name.
func ReaderOf(name string) *Reader { return readers()[name] }

var readers = sync.OnceValue(func() map[string]*Reader {
	all := make(map[string]*Reader)
	for name, e := range embedders {
		all[name] = &Reader{open: e.open, known: make(map[string][]float32)}
	}
	return all
})

// likeness returns the cosines of texts and a question, nil when it cannot.
func (r *Reader) likeness(ctx context.Context, question string, texts []string) []float64 {
	m, err := r.open()
	if err != nil {
		return nil
	}
	asked := r.vector(ctx, m, question, encoder.Question)
	if asked == nil {
		return nil
	}
	cosines := make([]float64, len(texts))
	for i, s := range texts {
		v := r.vector(ctx, m, s, encoder.Passage)
		if v == nil {
			return nil
		}
		for j := range v {
			cosines[i] += float64(asked[j]) * float64(v[j])
		}
	}
	return cosines
}

// vector returns the vector of a text, nil when ctx has ended.
func (r *Reader) vector(ctx context.Context, m *encoder.Model, s string, kind encoder.Kind) []float32 {
	key := s
	if kind == encoder.Question {
		key = "?" + s
	}
	r.mu.Lock()
	v := r.known[key]
	r.mu.Unlock()
	if v != nil {
		return v
	}
	v, err := m.Embed(ctx, s, kind)
	if err != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[key] = v
	return v
}

// reads reports whether there is a reader, and it knows the language of a question.
func (r *Reader) reads(question string) bool { return r != nil && isEnglish(question) }

// read keeps the units that have most of the question's words, and notes how like the question they are.
// A question that goes on is read behind the one before. Without a reader, or for a question in a language that it does not know, all units stay as they are.
func (r *Reader) read(ctx context.Context, question string, before []string, goesOn bool, units []unit) []unit {
	if !r.reads(question) || len(units) == 0 {
		return units
	}
	best := mostLikely(units, maxRead)
	texts := make([]string, len(best))
	for i := range best {
		texts[i] = best[i].text
	}
	if goesOn && len(before) > 0 {
		question = before[len(before)-1] + " " + question
	}
	cosines := r.likeness(ctx, question, texts)
	if cosines == nil {
		return units
	}
	for i, c := range cosines {
		best[i].features[like] = min(max((c-.5)/.4, 0), 1.2)
		best[i].score = best[i].features.score()
	}
	return best
}

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
