// Package lexicaltest generates text of any size that an index takes like a real one: how many
// passages hold a word falls with the word's rank as Zipf's law says, new words never cease to
// appear, and passages of one document share their subject.
package lexicaltest

import (
	"math"
	"math/rand/v2"
	"strings"
)

// Generator makes passages. Two with the same seed make the same.
type Generator struct {
	rnd     *rand.Rand
	subject []int // ranks of the words of the present document's subject
	names   map[int]string
}

// New returns a generator.
func New(seed uint64) *Generator {
	return &Generator{rnd: rand.New(rand.NewPCG(seed, 1)), names: make(map[int]string)}
}

// The shape of the text: as of English prose cut to a thousand characters.
const (
	wordsPerPassage = 150
	subjectWords    = 25
	subjectShare    = 0.2 // of the words of a passage
	core            = 8000
	maxRank         = 1 << 30
)

// rank returns the rank of a random word. The probability of a rank r falls as 1/r among the core
// of the vocabulary and as 1/r² beyond (Ferrer i Cancho and Solé 2001), so that the vocabulary
// grows with about the square root of the text (Heaps' law).
func (g *Generator) rank() int {
	u := g.rnd.Float64() * (math.Log(core) + 1)
	if u > 1 {
		return int(math.Exp(u-1)) - 1
	}
	return int(min(core/u, maxRank))
}

// Document begins the next document: its passages have a subject of their own.
func (g *Generator) Document() {
	g.subject = g.subject[:0]
	for range subjectWords {
		g.subject = append(g.subject, 100+g.rank())
	}
}

// Passage returns the next passage of the document.
func (g *Generator) Passage() string {
	if len(g.subject) == 0 {
		g.Document()
	}
	var b strings.Builder
	for i := range wordsPerPassage {
		if i > 0 {
			b.WriteByte(' ')
		}
		rank := g.rank()
		if g.rnd.Float64() < subjectShare {
			rank = g.subject[g.rnd.IntN(len(g.subject))]
		}
		b.WriteString(g.Word(rank))
		if i%15 == 14 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// Question returns a question of n words: one is common, the others are as rare as what people
// ask about.
func (g *Generator) Question(n int) string {
	words := []string{g.Word(g.rnd.IntN(100))}
	for len(words) < n {
		words = append(words, g.Word(50+int(math.Exp(g.rnd.Float64()*math.Log(20_000)))))
	}
	return strings.Join(words, " ")
}

// Word returns the word of a rank, from 0: letters only, shorter for lower ranks, and never an
// English function word.
func (g *Generator) Word(rank int) string {
	const consonants, vowels, initials = "bdfgklmnprstvz", "aeiou", "abcdefghijklmnoprstuvw"
	if w, ok := g.names[rank]; ok {
		return w
	}
	var b strings.Builder
	b.WriteByte(initials[rank%len(initials)]) // over the alphabet, as in a dictionary
	for n := rank + 70; n > 0; n /= len(consonants) * len(vowels) {
		syllable := n % (len(consonants) * len(vowels))
		b.WriteByte(consonants[syllable%len(consonants)])
		b.WriteByte(vowels[syllable/len(consonants)])
	}
	g.names[rank] = b.String()
	return g.names[rank]
}
