package builtin

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/text"
)

// gramLength is the number of letters of the pieces of words that are compared: inflections, compounds and derivations of a word
// share such pieces in any language.
const gramLength = 4

// The limits of the pieces of a question, and of those that are looked at: a compound of many parts repeats them.
const (
	maxGrams    = 200
	maxLookedAt = 20 * maxGrams
)

// grams are pieces of the words of a question, weighted by how few of the blocks hold them.
type grams struct {
	pieces []string
	weight []float64
	total  float64
}

// gramsOf returns the pieces of the words that name the subject of a question: some letters of each word or, in a script without
// spaces, each character and each pair of characters.
func gramsOf(question string) (pieces []string) {
	seen := make(map[string]bool)
	add := func(s string) {
		if !seen[s] && len(pieces) < maxGrams {
			seen[s] = true
			pieces = append(pieces, s)
		}
	}
	question = beginning(question)
	looked := 0
	toks, _ := text.AnalyzeQuestion(question)
	for _, t := range toks {
		word := []rune(strings.ToLower(question[t.Start:t.End]))
		if t.Parts > 0 || len(word) == 0 {
			continue
		}
		switch {
		case isUnspaced(word[0]):
			for _, r := range word {
				if !strings.ContainsRune(functionCharacters, r) {
					add(string(r))
				}
			}
			if !t.Loose {
				add(string(word))
			}
		case t.Stop:
		case len(word) <= gramLength:
			add(string(word))
		default:
			for i := 0; i+gramLength <= len(word) && looked < maxLookedAt; i++ {
				looked++
				add(string(word[i : i+gramLength]))
			}
		}
	}
	return pieces
}

// functionCharacters are characters of Chinese questions that do not name their subject.
const functionCharacters = "的了吗呢吧啊是在有和与或及就都也很我你您他她它们这那哪谁几把被对从向到什么怎样如何多少为可以需要请问应该个会能要说给让"

func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// weighGrams returns the pieces of a question with their weights among texts, which are in small letters.
func weighGrams(question string, texts []string) grams {
	g := grams{pieces: gramsOf(question)}
	for _, piece := range g.pieces {
		holds := 0.0
		for _, s := range texts {
			if strings.Contains(s, piece) {
				holds++
			}
		}
		weight := math.Log(1+(float64(len(texts))-holds+.5)/(holds+.5)) * math.Sqrt(float64(utf8.RuneCountInString(piece)))
		g.weight = append(g.weight, weight)
		g.total += weight
	}
	return g
}

// held returns the share of the weight of all pieces that a text in small letters holds.
func (g *grams) held(s string) (share float64) {
	for i, piece := range g.pieces {
		if strings.Contains(s, piece) {
			share += g.weight[i]
		}
	}
	return share / max(g.total, 1e-9)
}
