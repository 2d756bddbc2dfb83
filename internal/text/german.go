package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// prefixes are the separable prefixes of German verbs; a question puts them at its end: "Wie melde ich mein Kind an?"
var prefixes = wordSet(`ab an auf aus bei ein fest fort frei hin hinzu her heraus herunter hinauf hinein hoch los mit nach
	teil statt um unter vor vorbei weg weiter wieder zu zurück zusammen`)

// verbEndings are the endings of German verbs in questions, longest first.
var verbEndings = []string{"est", "en", "et", "st", "te", "e", "t"}

// addJoined joins the verb of a question with the prefix at its end: for "melde … an" it adds the forms "anmelden" and "Anmeldung".
// The prefix no longer counts as a word.
func addJoined(forms map[string][]string, toks []Token, words []string, s string) {
	last := len(words) - 1
	if last < 2 || !prefixes[words[last]] {
		return
	}
	verb := slices.IndexFunc(toks[:last], func(t Token) bool {
		first, _ := utf8.DecodeRuneInString(s[t.Start:])
		return !t.Stop && (unicode.IsLower(first) || t.Start == toks[0].Start)
	})
	if verb < 0 {
		return
	}
	stem := words[verb]
	for _, e := range verbEndings {
		if rest, ok := strings.CutSuffix(stem, e); ok && len(rest) >= 3 {
			stem = rest
			break
		}
	}
	prefix := words[last]
	for _, end := range []string{"en", "e", "t", "et", "st", "ung", "ungen"} {
		forms[toks[verb].Term] = append(forms[toks[verb].Term], Stem(prefix+stem+end))
	}
	for _, infix := range []string{"ge", "zu"} {
		for _, end := range []string{"en", "t", "et"} {
			forms[toks[verb].Term] = append(forms[toks[verb].Term], Stem(prefix+infix+stem+end))
		}
	}
	toks[last].Stop = true
}
