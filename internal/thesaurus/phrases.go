package thesaurus

import (
	"strings"
	"sync"

	"parley/internal/text"
)

// phrases are the phrases of each language, by its ISO 639-1 code.
var phrases = map[string]func() phraseTable{
	"en": sync.OnceValue(func() phraseTable { return readPhrases("en") }),
}

// phraseTable maps a phrase, as its terms joined by spaces, to the phrases of like meaning.
type phraseTable map[string][]string

// maxPhrase is the maximum number of terms in a phrase.
const maxPhrase = 6

func readPhrases(language string) phraseTable {
	data, err := files.ReadFile("phrases/" + language + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	t := phraseTable{}
	for line := range strings.Lines(string(data)) {
		all := strings.Split(strings.TrimSpace(line), " = ")
		for i, phrase := range all {
			key := strings.Join(text.Terms(phrase), " ")
			t[key] = append(append(t[key], all[:i]...), all[i+1:]...)
		}
	}
	return t
}

// Phrases returns phrases that mean the same as phrases in the question, such as "capital expenditure" for "capex".
func Phrases(language, question string) (found []string) {
	open := phrases[language]
	if open == nil {
		return nil
	}
	t, terms := open(), text.Terms(question)
	for i := 0; i < len(terms); i++ {
		for n := min(maxPhrase, len(terms)-i); n > 0; n-- {
			if others := t[strings.Join(terms[i:i+n], " ")]; others != nil {
				found = append(found, others...)
				i += n - 1
				break
			}
		}
	}
	return found
}
