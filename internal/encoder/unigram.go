package encoder

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram is SentencePiece's tokenizer with a unigram language model (Kudo 2018), as XLM-RoBERTa has it: it
// replaces characters by a table, and cuts each word into the pieces that are the most likely together.
type unigram struct {
	pieces        map[string]int32
	scores        []float32 // logarithms of likelihoods
	unknownScore  float32
	longest       int // bytes of the longest piece
	normal        map[rune]string
	begin, finish int32
	unknown       int32
}

// wordMark stands in pieces for the space before a word.
const wordMark = "▁"

// newUnigram takes the scores of a vocabulary, whose first pieces stand for begin, padding, end and unknown, and a table of
// replacements of characters: a code point, the number of code points that replace it, and these code points.
func newUnigram(vocabulary []string, scores []float32, table []byte) (*unigram, error) {
	t := &unigram{pieces: make(map[string]int32, len(vocabulary)), scores: scores, normal: make(map[rune]string), begin: 0, finish: 2, unknown: 3}
	least := float32(math.Inf(1))
	for i, piece := range vocabulary {
		least = min(least, scores[i])
		if i > int(t.unknown) {
			t.pieces[piece] = int32(i)
			t.longest = max(t.longest, len(piece))
		}
	}
	t.unknownScore = least - 10
	for len(table) > 0 {
		if len(table) < 5 || len(table) < 5+4*int(table[4]) {
			return nil, fmt.Errorf("the table of characters is cut off")
		}
		r, n := rune(binary.LittleEndian.Uint32(table)), int(table[4])
		table = table[5:]
		by := make([]rune, n)
		for i := range by {
			by[i] = rune(binary.LittleEndian.Uint32(table[4*i:]))
		}
		table = table[4*n:]
		t.normal[r] = string(by)
	}
	return t, nil
}

func (t *unigram) tokens(text string, limit int) []int32 {
	all := []int32{t.begin}
	word := []byte(wordMark)
	add := func(r rune) {
		if r != ' ' {
			word = utf8.AppendRune(word, r)
			if len(word) < maxUnigramWord {
				return
			}
		}
		if len(word) > 0 && string(word) != wordMark {
			all = t.cut(all, word)
		}
		if word = word[:0]; r == ' ' {
			word = append(word, wordMark...)
		}
	}
	for _, r := range text {
		by, ok := t.normal[r]
		if !ok {
			add(r)
		}
		for _, r := range by {
			add(r)
		}
		if len(all) >= limit {
			break
		}
	}
	if len(word) > 0 && string(word) != wordMark || len(all) == 1 {
		all = t.cut(all, word)
	}
	return append(all[:min(len(all), limit-1)], t.finish)
}

// maxUnigramWord is the number of bytes without a space that are cut at once. It keeps a long run of them from costing more than
// other text.
const maxUnigramWord = 1024

// cut appends the pieces of one word.
func (t *unigram) cut(all []int32, word []byte) []int32 {
	type step struct {
		score float32
		from  int
		piece int32
	}
	steps := make([]step, len(word)+1)
	for i := range steps {
		steps[i].score = float32(math.Inf(-1))
	}
	steps[0].score = 0
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRune(word[i:])
		for end := i + size; end <= len(word) && end-i <= t.longest; {
			if piece, ok := t.pieces[string(word[i:end])]; ok {
				if score := steps[i].score + t.scores[piece]; score > steps[end].score {
					steps[end] = step{score, i, piece}
				}
			}
			if end == len(word) {
				break
			}
			_, next := utf8.DecodeRune(word[end:])
			end += next
		}
		if score := steps[i].score + t.unknownScore; score > steps[i+size].score {
			steps[i+size] = step{score, i, t.unknown}
		}
		i += size
	}
	start := len(all)
	for i := len(word); i > 0; i = steps[i].from {
		if piece := steps[i].piece; piece != t.unknown || len(all) == start || all[len(all)-1] != t.unknown {
			all = append(all, piece) // adjacent unknown characters form one token
		}
	}
	for i, j := start, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}
