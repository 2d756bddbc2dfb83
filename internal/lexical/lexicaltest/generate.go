// Package lexicaltest generates text of any size that loads an index as real text does: document frequency falls with the rank
// of a word, new words keep appearing, words recur within a document, and function words stand between the others. Its
// parameters were fitted to the passages in shared/data, with which this package's test compares them; it contains none of their
// text.
package lexicaltest

import (
	"math"
	"math/rand/v2"
	"strings"
)

// Generator makes passages. Two generators with the same seed make the same text.
type Generator struct {
	rnd      *rand.Rand
	document []int // ranks of the words of the current document, the latest last
	names    map[int]string
}

// New returns a generator.
func New(seed uint64) *Generator {
	return &Generator{rnd: rand.New(rand.NewPCG(seed, 1)), names: make(map[int]string)}
}

// Parameters of the text, fitted to posts of a forum cut to a thousand characters (MTRAG FiQA).
const (
	wordsPerPassage = 65  // without function words
	functionWords   = 1.3 // function words before each word, 1 or 2
	sentence        = 9   // words of a sentence, without function words
	again           = 0.3 // share of words that occurred earlier in the passage
	memory          = 500 // words of the document that its later passages draw from
	subject         = 0.1 // share of words drawn from there

	// The probability of a word falls with its rank r from 0 as 1/(r+flat) in the core of the
	// vocabulary (the Zipf–Mandelbrot law), and as 1/r² beyond (Ferrer i Cancho and Solé 2001), so
	// that the vocabulary grows with the square root of the text (Heaps' law).
	flat    = 40
	core    = 1500
	maxRank = 1 << 30
)

// coreWeight and tailWeight are the unnormalised shares of the core and the rest.
var (
	coreWeight = math.Log(float64(core+flat) / flat)
	tailWeight = float64(core) / float64(core+flat)
)

// rank returns the rank of a random word.
func (g *Generator) rank() int {
	u := g.rnd.Float64() * (coreWeight + tailWeight)
	if u < coreWeight {
		return int(flat*math.Exp(u)) - flat
	}
	return int(min(core*tailWeight/(u-coreWeight), maxRank))
}

// Document begins the next document, whose passages have a new subject.
func (g *Generator) Document() { g.document = g.document[:0] }

// Passage returns the next passage of the document.
func (g *Generator) Passage() string {
	var b strings.Builder
	b.Grow(wordsPerPassage * 15)
	if len(g.document) > memory {
		g.document = append(g.document[:0], g.document[len(g.document)-memory:]...)
	}
	earlier := len(g.document) // where the passage begins
	for i := range wordsPerPassage {
		for range g.between() {
			b.WriteString(functions[g.rnd.IntN(len(functions))])
			b.WriteByte(' ')
		}
		rank := g.next(earlier)
		g.document = append(g.document, rank)
		b.WriteString(g.Word(rank))
		if i%sentence == sentence-1 {
			b.WriteByte('.')
		}
		b.WriteByte(' ')
	}
	return strings.TrimRight(b.String(), " ")
}

// between returns the number of function words before the next word.
func (g *Generator) between() int {
	if g.rnd.Float64() < functionWords-1 {
		return 2
	}
	return 1
}

// next returns the rank of the next word of a passage. The document had earlier words before the
// passage.
func (g *Generator) next(earlier int) int {
	u := g.rnd.Float64()
	switch here := g.document[earlier:]; {
	case u < again && len(here) > 0:
		return here[g.rnd.IntN(len(here))]
	case u >= again && u < again+subject && earlier > 0:
		return g.document[g.rnd.IntN(earlier)]
	}
	return g.rank()
}

// Parameters of questions, fitted to the last turns of MTRAG's conversations.
const (
	medianAsked = 125. // median rank of a word in a question
	spreadAsked = 1.95 // spread of the logarithm of that rank
)

// asked[n-1] is the share of questions with n words, without function words.
var asked = []float64{.15, .19, .19, .14, .10, .09, .05, .04, .03, .02}

// word returns the rank of a word of a question.
func (g *Generator) word() int {
	return int(min(medianAsked*math.Exp(spreadAsked*g.rnd.NormFloat64()), maxRank)) // log-normal
}

// Question returns a question of n words, without function words.
func (g *Generator) Question(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = g.Word(g.word())
	}
	return strings.Join(words, " ")
}

// LastTurn returns a question of a realistic length.
func (g *Generator) LastTurn() string {
	u := g.rnd.Float64()
	for i, share := range asked {
		if u -= share; u < 0 {
			return g.Question(i + 1)
		}
	}
	return g.Question(len(asked))
}

// Context returns n words such as an earlier part of the conversation adds to a question: the less
// frequent words of a passage, though not rare ones.
func (g *Generator) Context(n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = g.Word(int(min(medianContext*math.Exp(spreadContext*g.rnd.NormFloat64()), maxRank)))
	}
	return words
}

// Parameters of the words that the built-in rewriter takes from MTRAG's conversations.
const (
	medianContext = 210.
	spreadContext = 1.5
)

// functions are function words, which an index omits.
var functions = strings.Fields("the of and to in is that for it you as with on be are this not or have")

// Word returns the word of a rank, from 0. It has letters only, is shorter for lower ranks, and is
// never an English function word.
func (g *Generator) Word(rank int) string {
	const (
		consonants, vowels, initials = "bdfgklmnprstvz", "aeiou", "abcdefghijklmnoprstuvw"
		syllables                    = len(consonants) * len(vowels)
		frequent                     = 200 // ranks of short words
	)
	if w, ok := g.names[rank]; ok {
		return w
	}
	var b strings.Builder
	b.WriteByte(initials[rank%len(initials)]) // spread over the alphabet, as in a dictionary
	n := rank + syllables                     // two syllables
	if rank >= frequent {
		n = rank - frequent + syllables*syllables // three or more
	}
	for ; n > 0; n /= syllables {
		syllable := n % syllables
		b.WriteByte(consonants[syllable%len(consonants)])
		b.WriteByte(vowels[syllable/len(consonants)])
	}
	word := b.String()
	if rank < 1<<16 { // the others hardly recur
		g.names[rank] = word
	}
	return word
}
