package builtin

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"

	"parley/internal/encoder"
	"parley/internal/encoder/e5reader"
	"parley/internal/encoder/e5small"
	"parley/internal/encoder/minilm"
	"parley/internal/llm"
	"parley/internal/text"
)

// Reader judges how well blocks answer a question, which it reads together with each block. It may be used by several goroutines at
// once.
type Reader struct {
	// English says how well each text answers an English question: 10 if it does, -10 if it has nothing to do with it.
	English func(ctx context.Context, question string, texts []string) ([]float64, error)
	// Others says the same of questions and texts in other languages, which may differ.
	Others func(ctx context.Context, question string, texts []string) ([]float64, error)

	// Vector returns the vector of the meaning of a text in any language.
	Vector func(ctx context.Context, text string, kind encoder.Kind) ([]float32, error)

	mu      sync.Mutex
	known   map[pair]float64      // scores: a turn asks several times
	vectors map[kindred][]float32 // of texts: they do not depend on the question
}

// pair is a question with a text, and the model that reads them.
type pair struct {
	question, text string
	english        bool
}

// kindred is a text together with the kind as which it is embedded.
type kindred struct {
	text string
	kind encoder.Kind
}

const (
	maxRead   = 16      // blocks that are read at once: those that have most of the question's words
	rounds    = 3       // how often blocks are read while none is likely to answer
	likely    = 0.5     // the chance from which no further blocks are read
	maxPairs  = 96      // of a block and a form of the question, unless that is less than one round
	maxKnown  = 4 << 10 // most scores that are kept, and most vectors
	maxLooked = 500     // bytes that are read of a block, and of a question that is read in parts or in rounds
)

// NewReader returns the reader with the network that is part of the program, the same each time; nil on a
// processor that would take seconds for an answer.
var NewReader = sync.OnceValue(func() *Reader {
	if !encoder.Fast() {
		return nil
	}
	return &Reader{
		English: scores(minilm.Open), Others: scores(e5reader.Open),
		Vector: func(ctx context.Context, text string, kind encoder.Kind) ([]float32, error) {
			m, err := e5small.Open()
			if err != nil {
				return nil, err
			}
			return m.Embed(ctx, text, kind)
		},
	}
})

// scores returns the scores of a model that is opened when it is first used.
func scores(open func() (*encoder.Scorer, error)) func(context.Context, string, []string) ([]float64, error) {
	return func(ctx context.Context, question string, texts []string) ([]float64, error) {
		s, err := open()
		if err != nil {
			return nil, err
		}
		return s.Scores(ctx, question, texts)
	}
}

// likeness returns how well each text answers a question, as features: in English as the reader says, and in other languages by the mean
// of the reader and the meanings. Zeros if ctx has ended.
func (r *Reader) likeness(ctx context.Context, english bool, question string, texts []string) []float64 {
	all := r.read(ctx, english, question, texts)
	if !english {
		for i, like := range r.compare(ctx, question, texts) {
			all[i] = (all[i] + like) / 2
		}
	}
	return all
}

// read returns how well each text answers a question, as features; zeros if ctx has ended.
func (r *Reader) read(ctx context.Context, english bool, question string, texts []string) []float64 {
	all := make([]float64, len(texts))
	var unread []int
	r.mu.Lock()
	for i, s := range texts {
		score, ok := r.known[pair{question, s, english}]
		if all[i] = squash(score); !ok {
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
	model := r.Others
	if english {
		model = r.English
	}
	scores, err := model(ctx, question, missing)
	if err != nil {
		return make([]float64, len(texts))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known)+len(unread) > maxKnown {
		r.known = make(map[pair]float64)
	}
	for i, at := range unread {
		all[at] = squash(scores[i])
		r.known[pair{question, texts[at], english}] = scores[i]
	}
	return all
}

// compare returns how near in meaning each text is to a question, as features; zeros if ctx has ended. It uses all processors.
func (r *Reader) compare(ctx context.Context, question string, texts []string) []float64 {
	all := make([]float64, len(texts))
	if len(texts) == 0 {
		return all
	}
	asked, err := r.vector(ctx, question, encoder.Question)
	if err != nil {
		return all
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(len(texts), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(texts); i = int(next.Add(1)) - 1 {
				v, err := r.vector(ctx, texts[i], encoder.Passage)
				if err != nil {
					return
				}
				cosine := 0.0
				for j, x := range v {
					cosine += float64(x) * float64(asked[j])
				}
				all[i] = (cosine - leastLike) * likeSpread
			}
		})
	}
	wait.Wait()
	return all
}

// The values that turn cosines into a feature; the model gives unrelated texts .75 and answers .85 to .92. The spread was chosen
// on the development half of test/answers: 62 of 128 best blocks are right without the feature, and 64, 69, 73, 74 and 72 with a
// spread of 1.25, 2.5, 5, 6.25 and 10.
const (
	leastLike  = .75
	likeSpread = 6.25
)

// vector returns the vector of a text.
func (r *Reader) vector(ctx context.Context, text string, kind encoder.Kind) ([]float32, error) {
	key := kindred{text, kind}
	r.mu.Lock()
	v, ok := r.vectors[key]
	r.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := r.Vector(ctx, text, kind)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vectors == nil || len(r.vectors) >= maxKnown {
		r.vectors = make(map[kindred][]float32)
	}
	r.vectors[key] = v
	return v, nil
}

// askedIn returns the language of a question. If its words do not show it, as in "Preis Trockner", it is that of the best
// passage whose language is clear.
func askedIn(question string, passages []llm.Passage) string {
	language := text.LanguageOf(question)
	if language != "en" || text.Language(question) != "" {
		return language
	}
	for i := range passages {
		if l := text.Language(passages[i].Text); l != "" {
			return l
		}
	}
	return language
}

// ReadsInEnglish reports whether there is a reader, and English reads this question.
func (r *Reader) ReadsInEnglish(question string) bool {
	return r != nil && inEnglish(question, text.LanguageOf(question))
}

// reads reports whether there is a reader, and it knows the script of this question.
func (r *Reader) reads(question string) bool {
	return r != nil && (isLatin(question) || isSpelled(question))
}

// inEnglish reports whether the model for English reads a question in this language.
func inEnglish(question, language string) bool { return language == "en" && isLatin(question) }

// knownScripts are the scripts that the vocabulary of the models covers; words in other scripts are unknown to them.
var knownScripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// isSpelled reports whether the vocabulary of the models spells most letters of a text.
func isSpelled(text string) bool {
	letters, known := 0, 0
	for _, c := range text {
		if unicode.IsLetter(c) {
			letters++
			if unicode.In(c, knownScripts...) {
				known++
			}
		}
	}
	return 2*known > letters
}

// judge keeps the units that have most of the question's words, and notes how well they answer it. If none of them is likely to,
// it reads the question with more units, unless that should be hasty. Without a reader all units stay as they are.
func (r *Reader) judge(ctx context.Context, ev *llm.Evidence, n need, units []unit, hasty bool) []unit {
	if len(units) == 0 || !r.reads(ev.Query) {
		return units
	}
	english := inEnglish(ev.Query, askedIn(ev.Query, ev.Passages))
	sure := surenessIn(english)
	questions, step, parts := []string{ev.Query}, maxRead, 0
	if last := len(ev.Previous) - 1; n.goesOn && last >= 0 {
		questions, step = append(questions, ev.Previous[last]+" "+ev.Query), maxRead/2
	}
	limit := step
	if len(ev.Query) <= maxLooked && !hasty { // a long question costs as much to read as several
		asked := n.asked(ev)
		questions, parts = append(questions, asked...), len(asked)
		limit = min(rounds*step, max(step, maxPairs/len(questions)))
	}
	likeness := func(question string, texts []string) []float64 { return r.likeness(ctx, english, question, texts) }
	for most := step; ; most += step {
		best := mostLikely(units, min(most, limit))
		first, answered := note(best, questions, parts, likeness)
		if most >= min(len(units), limit) || answered == parts && sure.chance(best, first) >= likely {
			return best
		}
	}
}

// note notes how well units answer, and returns the best unit and the number of parts that have an answer. likeness says how well texts
// answer a question. questions holds the question, for a follow-up also the previous question followed by it, and then the parts; parts is
// their number. A follow-up counts by the mean of its two scores, since the previous question raises the block that answered it. For parts, the
// best score counts, but only up to maxMore above the score for the whole, since a part lacks words of the whole question.
func note(units []unit, questions []string, parts int, likeness func(question string, texts []string) []float64) (best, answered int) {
	texts := make([]string, len(units))
	for i := range units {
		texts[i], units[i].part = units[i].text, 0
	}
	for q, question := range questions {
		part, found := q-(len(questions)-parts)+1, false
		for i, s := range likeness(question, texts) {
			u := &units[i]
			switch {
			case q == 0:
				u.ownLike, u.features[like] = s, s
				continue
			case part > 0:
				if s = min(s, u.ownLike+maxMore); s >= likeOfPart {
					found = true
					if u.part == 0 || s > u.features[like] {
						u.part = part
					}
				}
				u.features[like] = max(u.features[like], s)
			default:
				u.features[like] = (u.ownLike+s)/2 + likeOfTalk
			}
		}
		if found {
			answered++
		}
	}
	for i := range units {
		if units[i].score = units[i].features.score(); units[i].score > units[best].score {
			best = i
		}
	}
	return best, answered
}

// A block answers a part of a question if its score for it is at least likeOfPart. That score may exceed the one for the whole question
// by maxMore. likeOfTalk is added to the mean for a follow-up, since it scores lower alone than together with the previous question.
const (
	likeOfPart = 0.3
	maxMore    = 0.5
	likeOfTalk = 0.06
)

// foreign returns the units that answer in another language than the question's, with which they share no words. It returns none
// if no such unit is likely to answer, or none is much better than the units that were read.
func (r *Reader) foreign(ctx context.Context, ev *llm.Evidence, read, all []unit) []unit {
	language := text.LanguageOf(ev.Query)
	if language == "en" {
		language = text.Language(ev.Query) // LanguageOf returns English for unknown languages
	}
	if language == "" || !r.reads(ev.Query) {
		return nil
	}
	foreign := make([]bool, len(ev.Passages))
	for i := range ev.Passages {
		l := text.Language(ev.Passages[i].Text)
		foreign[i] = l != "" && l != language
	}
	for i := range all {
		if p := all[i].passage; foreign[p] {
			foreign[p] = text.Language(all[i].key) != language // a text that is half translated has the words of the question
		}
	}
	all = mostLikely(slices.DeleteFunc(all, func(u unit) bool { return !foreign[u.passage] }), maxRead)
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].text
	}
	best := 0
	for i, s := range r.compare(ctx, ev.Query, texts) {
		all[i].features[like] = s + foreignLike
		if all[i].score = all[i].features.score(); all[i].score > all[best].score {
			best = i
		}
	}
	if len(all) == 0 || all[best].features[like] < sureOfForeign.alone.like || sureOfForeign.chance(slices.Concat(all, read), best) < minChanceOfForeign {
		return nil
	}
	return all
}

// foreignLike is added to the likeness of a block in another language than the question, since the model scores these lower: the
// medians of blocks that answer are .88 in the language of the question and .44 in another one; those of blocks that do not
// answer are .75 and .15.
const foreignLike = 0.5

// The values that decide whether the best of the blocks that were read answers: how well it scores by itself, and its lead over
// the next one. docs/decisions.md says to what the values were fitted, and what others give.
const (
	minChanceOther     = 0.75 // if the block does not count or name what the question asks for: it may do so in other words
	minChanceOfForeign = 0.7  // in another language: at .5 four more are right in test/answers/across, and two of 22 elsewhere invented
	maxLead            = 1.5
)

// minCompeting is the number of blocks from which a lead is significant: in a document of a few sentences one block is always
// far ahead.
const minCompeting = maxRead / 2

// sureness gives the chance that a best block answers, from the reader's score and its lead.
type sureness struct {
	always, like, lead float64
	worded             float64 // the least chance where the words of the question are there
	alone              bar     // the bar if they are not
	far                bar     // … if the block is ahead of many others
}

// bar is the least chance and the least reader's score with which a block answers.
type bar struct{ chance, like float64 }

var (
	sureInEnglish = sureness{-2.5, 2.76, 1.95, .3, bar{.35, .5}, bar{.4, .3}}
	sureInOthers  = sureness{-4.07, 5.04, 1.85, .4, bar{.5, .6}, bar{.55, .5}}
	sureOfForeign = sureness{always: -3.42, like: 2.96, lead: 1.66, alone: bar{like: .8}}
)

// chance returns how likely the best unit is to answer.
func (s sureness) chance(units []unit, best int) float64 {
	return 1 / (1 + math.Exp(-(s.always + s.like*units[best].features[like] + s.lead*min(lead(units, best), maxLead))))
}

// surenessIn returns how sure the reader is of its scores for a question in English, or in another language.
func surenessIn(english bool) sureness {
	if english {
		return sureInEnglish
	}
	return sureInOthers
}

// sureness returns how sure this reader is of its scores for a question; false if it does not read it.
func (r *Reader) sureness(ev *llm.Evidence) (sureness, bool) {
	return surenessIn(inEnglish(ev.Query, askedIn(ev.Query, ev.Passages))), r.reads(ev.Query)
}

// squash maps the score of a scorer to [0, 1.1]: -10, for unrelated text, to 0, and 10 to 1.
func squash(score float64) float64 { return min(max(score/20+.5, 0), 1.1) }

// isLatin reports whether nearly all letters of a text are Latin, that is, below U+0250.
func isLatin(s string) bool {
	others := 0
	for _, r := range s {
		if r >= 0x250 && unicode.IsLetter(r) {
			others++
		}
	}
	return others*10 <= len(s)
}
