package builtin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
)

// asksWhich matches the kind of thing that a question asks to identify: "which database", "quelle base".
var asksWhich = lazyregexp.New(`(?i)^\W*(?:(?:and|but|so|in|on|at|from|by|with|und|mit|in|auf|et|avec|dans|y|con|en|e|com|em) )?` +
	`(?:which|what|welche[nrsm]?|quel(?:le)?|qu[eé]|cuál|quale?|che)\s(?:(?:kind|type|sort) of )?(\pL[\pL-]*(?: \pL[\pL-]*)?)`)

// verbs end the name of the things that a question asks for.
var verbs = set(`is are was were do does did can could may must should will would has have had needs uses gets runs for of to in on at
	ist sind war waren hat haben kann können muss müssen soll darf wird werden braucht nutzt gilt gibt
	est sont était a ont peut doit faut utilise es son era tiene puede debe usa hay è sono ha può deve são tem pode`)

// several matches plurals, since there are many ways to say what several things are.
var several = lazyregexp.New(`[^s]s$|(?:tt|ng|ft|kt|el)e$|en$`)

// whichOf returns the terms of the kind of thing that a question asks to identify, nil for none.
func whichOf(question string) map[string]bool {
	m := asksWhich.FindStringSubmatch(question)
	if m == nil {
		return nil
	}
	first, second, _ := strings.Cut(strings.ToLower(m[1]), " ")
	if verbs[first] {
		return nil // "what is …"
	}
	things := first
	if second != "" && !verbs[second] && strings.HasPrefix(strings.ToLower(strings.TrimLeft(question, " ")), "w") {
		things = second // "which Python version": in English and German the last word is the kind of thing
	}
	if several.MatchString(things) {
		return nil
	}
	terms := termSet(things)
	for t := range terms {
		if general()[t] {
			return nil
		}
	}
	return terms
}

// nearby is the number of words that may be between a thing and its name: "PostgreSQL as its database".
const nearby = 3

// identifies reports whether a block says which of the things it means: by a name or a number beside them, by saying what they
// are, by a heading that has words for them, or by naming something without them. "The backup holds each database" does not say
// which one.
func (n need) identifies(u *unit, things map[string]bool) bool {
	if len(things) == 0 {
		return true
	}
	if u.isRow() { // its cells are names
		return holdsAny(n.termSet(u.text), things)
	}
	words := strings.Fields(u.key)
	speaks := false
	for i, w := range words {
		if !n.isOneOf(w, things) {
			continue
		}
		speaks = true
		if strings.ContainsAny(strings.Trim(w, `-"“”»«`), "-:=") || i+1 < len(words) && (predicates[strings.ToLower(words[i+1])] || strings.HasPrefix(words[i+1], "(")) {
			return true
		}
		if n.isPredicate(words[:i]) {
			return true
		}
		for j := max(0, i-nearby); j < min(len(words), i+nearby+1); j++ {
			if j != i && n.isName(words[j], j == 0 || endsSentence(words[j-1])) {
				return true
			}
		}
	}
	above, _ := strings.CutSuffix(u.text, u.key)
	if speaks || slices.ContainsFunc(strings.Fields(above), func(w string) bool { return n.isOneOf(w, things) }) {
		return !speaks
	}
	for i, w := range words {
		if !strings.Contains(w, "/") && n.isName(w, i == 0 || endsSentence(words[i-1])) { // a command has paths
			return true
		}
	}
	return false
}

var predicates = set("is are was were = : ist sind war heißt lautet est sont es son è sono é são")

// asWhat are words before the role of something.
var asWhat = set("as als comme como come")

// isPredicate reports whether the words before a thing make it the predicate of something else: "SQLite is the default".
func (n need) isPredicate(before []string) bool {
	for i := len(before) - 1; i > 0 && i >= len(before)-nearby; i-- {
		w := strings.ToLower(before[i])
		if predicates[w] || asWhat[w] {
			return true
		}
		if prepositions[w] || !general()[w] && len(termSet(w)) > 0 && !n.isOneOf(w, n.wanted.which) && !n.asks(w) {
			return false
		}
	}
	return false
}

// asks reports whether a word is one of the question's.
func (n need) asks(w string) bool {
	own := n.termSet(w)
	return slices.ContainsFunc(n.terms, func(t weighted) bool { return own[t.text] || own[likeMark+t.text] })
}

// isOneOf reports whether a word is one of those for things. A path or an address that contains one is not.
func (n need) isOneOf(w string, things map[string]bool) bool {
	if strings.ContainsAny(strings.Trim(w, ".,;:()"), "./_@") {
		return false
	}
	return holdsAny(n.termSet(w), things)
}

// holdsAny reports whether a set of terms has one of those for things, or a word of like meaning.
func holdsAny(terms, things map[string]bool) bool {
	for t := range things {
		if terms[t] || terms[likeMark+t] {
			return true
		}
	}
	return false
}

// isName reports whether a word is a name, a number or code, and not a word of the question.
func (n need) isName(w string, begins bool) bool {
	bare := strings.TrimFunc(w, unicode.IsPunct)
	if bare == "" || n.asks(bare) {
		return false
	}
	_, size := utf8.DecodeRuneInString(bare)
	return strings.ContainsFunc(bare, unicode.IsDigit) || strings.ContainsFunc(bare[size:], unicode.IsUpper) ||
		strings.ContainsAny(bare, "._/=@") || strings.HasPrefix(w, "--") || strings.ContainsAny(w, "`\"“”«»„'‘") || !begins && startsUpper(bare)
}

// endsSentence reports whether a sentence, or an item of a list, may begin after a word.
func endsSentence(w string) bool {
	return strings.Trim(w, bullets) == "" || strings.HasSuffix(w, ".") || strings.HasSuffix(w, ":") || strings.HasSuffix(w, "!") || strings.HasSuffix(w, "?")
}
