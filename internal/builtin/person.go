package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
)

// Questions for a person, and texts that name one by a title, by initials or by an occupation.
var (
	asksPerson = lazyregexp.New(`(?i)\b(?:who|whom|whose|wer|wen|wem|wessen|wie (?:heißt|heißen)|(?:avec|pour|par|chez|de) qui|quién(?:es)?|chi|quem)\b|^\W*(?:et |à )?qui\b|谁|哪位|誰|누구`)

	titled = lazyregexp.New(`(?:^|[^\pL])(?:(?:Mr|Mrs|Ms|Dr|Prof|Mme|Mlle|Sr|Sra|Sig|Dott|Herrn?|Frau|Madame|Monsieur|Señora?|Signora?|Senhora?)\.? |\p{Lu}\. ?)\p{Lu}`)
	aRole  = lazyregexp.New(`(?i)(?:^|[^\pL\d._/-])(?:director|manager|team|officer|department|head|board|committee|chair|staff|employees?|members?|leitung|leiter|abteilung|vorstand|directeur|responsable|service|director|equipo|direttore|responsabile|diretor)\b|部|经理|主任|人员`)

	// asksWho matches questions for the name of a person who did something once. Texts say in many ways who may do or get
	// something.
	asksWho = lazyregexp.New(`(?i)^\W*(?:and )?who (\pL{2,}ed|wrote|built|made|drew|won|said|sent|led|gave|sold|bought)\b`)

	// initials matches persons who are named by initials, as in minutes. Names of other things can look the same.
	initials = lazyregexp.New(`\b\p{Lu}\. ?\p{Lu}|\b\p{Lu}{2,3}\b`)
)

// namesPerson reports whether a text names somebody: by a title, initials or an office, by two names in a row, or by one name
// followed by the verb of the question or after "by". Words of the question do not count as names.
func (n need) namesPerson(s string) bool {
	if titled.MatchString(s) || aRole.MatchString(s) {
		return true
	}
	words := strings.Fields(s)
	for i, w := range words {
		if !n.mayName(w) {
			continue
		}
		if i > 0 && byWhom[strings.ToLower(words[i-1])] || n.asksWith(words, i+1) {
			return true
		}
		if w == strings.TrimRight(w, ".,;:!?)") && i+1 < len(words) && n.mayName(words[i+1]) {
			return true
		}
	}
	return false
}

// namesDoer reports whether a text names somebody who may have done what the question asks for: initials need the verb beside them.
func (n need) namesDoer(s string) bool {
	if n.namesPerson(s) {
		return true
	}
	own := n.termSet(s)
	return initials.MatchString(s) && (len(n.wanted.did) == 0 || holdsAny(own, n.wanted.did))
}

// byWhom are the words before the person who did something.
var byWhom = set("by von par por da")

// beforeNouns are words that begin sentences before a noun, in languages without a list of stop words.
var beforeNouns = set(`der die das den dem des ein eine einen einem einer im am in an auf bei mit nach vom zum zur für jede jeder jedes
	le la les un une du de dans pour avec el los las una en il lo gli i nel o os as um uma no na`)

// mayName reports whether a word may be the name of a person: it has a capital and small letters, and is neither a stop word nor
// a word of the question.
func (n need) mayName(w string) bool {
	w = strings.Trim(w, "\"'“”‘’().,;:!?")
	first, size := utf8.DecodeRuneInString(w)
	if !unicode.IsUpper(first) || size == len(w) || strings.ToLower(w[size:]) != w[size:] || beforeNouns[strings.ToLower(w)] {
		return false
	}
	own := n.termSet(w)
	return len(own) > 0 && !n.holdsAny(own)
}

// asksWith reports whether the word at an index is a word of the question.
func (n need) asksWith(words []string, at int) bool {
	return at < len(words) && n.holdsAny(n.termSet(words[at]))
}

func (n need) holdsAny(terms map[string]bool) bool {
	_, matched := n.held(terms)
	return matched > 0
}
