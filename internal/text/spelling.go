package text

import (
	"regexp"
	"strings"
	"sync"
)

// spellingRules are pairs of rules: from a British to an American spelling, and back.
var spellingRules = []struct{ british, american rule }{
	{rule{`([a-z]{3,})our(s|ed|ing|able|ably|al|ful|ite|ites|less|hood|er|ers|ly)?`, "${1}or${2}"}, rule{`([a-z]{3,})or(s|ed|ing|able|ably|al|ful|ite|ites|less|hood|er|ers|ly)?`, "${1}our${2}"}},
	{rule{`([a-z]{3,})is(es?|ed|ing|ers?|ations?|ational)`, "${1}iz${2}"}, rule{`([a-z]{3,})iz(es?|ed|ing|ers?|ations?|ational)`, "${1}is${2}"}},
	{rule{`([a-z]{2,})ys(es?|ed|ing|ers?)`, "${1}yz${2}"}, rule{`([a-z]{2,})yz(es?|ed|ing|ers?)`, "${1}ys${2}"}},
	{rule{`(lic|def|off|pret)enc(es?|ed|ing|eless)`, "${1}ens${2}"}, rule{`(lic|def|off|pret)ens(es?|ed|ing|eless)`, "${1}enc${2}"}},
	{rule{`practis(es?|ed|ing)`, "practic${1}"}, rule{`practic(es?|ed|ing)`, "practis${1}"}},
	{rule{`(cent|theat|fib|calib|lust|meag|somb|spect|[a-z]*met|[a-z]*lit)re(s|d)?`, "${1}er${2}"}, rule{`(cent|theat|fib|calib|lust|meag|somb|spect|[a-z]+met|[a-z]*lit)er(s)?`, "${1}re${2}"}}, // a "meter" is a device, too
	{rule{`(catal|dial|anal|monol|prol|epil)ogu(e|es|ed)`, "${1}og"}, rule{`(catal|dial|anal|monol|prol|epil)og(s|ed)?`, "${1}ogue"}},
	// Only words of two or more syllables: "filling" and "filing" are different words.
	{rule{`([a-z]*[aeiou][a-z]*[b-df-hj-np-tv-z][aeiou])ll(ed|ing|ers?|ors?)`, "${1}l${2}"}, rule{`([a-z]*[aeiou][a-z]*[b-df-hj-np-tv-z][aeiou])l(ed|ing|ers?|ors?)`, "${1}ll${2}"}},
	{rule{`(enrol|fulfil|instal)(s|ments?)?`, "${1}l${2}"}, rule{`(enrol|fulfil|instal)l(s|ments?)?`, "${1}${2}"}},
	{rule{`([a-z]*)paed([a-z]+)`, "${1}ped${2}"}, rule{`([a-z]*)ped([a-z]+)`, "${1}paed${2}"}},
	{rule{`anaesth([a-z]+)`, "anesth${1}"}, rule{`anesth([a-z]+)`, "anaesth${1}"}},
	{rule{`(gyn|leuk|h|an)ae([a-z]+)`, "${1}e${2}"}, rule{`(gyn|leuk|h|an)e(c[a-z]+|m[a-z]+)`, "${1}ae${2}"}},
	{rule{`archae([a-z]+)`, "arche${1}"}, rule{`arche([a-z]+)`, "archae${1}"}},
	{rule{`o(estrogen[a-z]*|esophag[a-z]*)`, "${1}"}, rule{`(estrogen[a-z]*|esophag[a-z]*)`, "o${1}"}},
	{rule{`foet(us|uses|al)`, "fet${1}"}, rule{`fet(us|uses|al)`, "foet${1}"}},
}

// rule has an expression that matches a whole word, and a template for the other spelling.
type rule struct{ match, other string }

// spelledWords are words with two spellings that follow no rule. "cheque" is not one of them: a "check" is rarely a cheque.
const spelledWords = `grey gray|programme program|tyre tire|kerb curb|plough plow|mould mold|sceptic skeptic|sceptical skeptical|cosy cozy|pyjamas pajamas|
	aluminium aluminum|ageing aging|judgement judgment|acknowledgement acknowledgment|jewellery jewelry|whisky whiskey|moustache mustache|artefact artifact|
	enquiry inquiry|enquire inquire|aeroplane airplane|maths math|sulphur sulfur|cypher cipher|adviser advisor|skilful skillful|wilful willful|
	manoeuvre maneuver|diarrhoea diarrhea|licencee licensee|marvellous marvelous|woollen woolen`

type spelling struct {
	match *regexp.Regexp
	other string
}

// otherSpellings holds the rules in both directions, and the words.
var otherSpellings = sync.OnceValue(func() (all struct {
	rules []spelling
	words map[string]string
}) {
	for _, pair := range spellingRules {
		for _, r := range []rule{pair.british, pair.american} {
			all.rules = append(all.rules, spelling{regexp.MustCompile(`^` + r.match + `$`), r.other})
		}
	}
	all.words = make(map[string]string)
	for pair := range strings.FieldsFuncSeq(spelledWords, func(r rune) bool { return r == '|' }) {
		words := strings.Fields(pair)
		all.words[words[0]], all.words[words[1]] = words[1], words[0]
	}
	return all
})

// maxSpelled is the length in bytes of the longest word that may have another spelling.
const maxSpelled = 32

// Spellings returns the other spellings that a folded English word may have in British or American texts. Some are not words.
func Spellings(word string) (others []string) {
	if len(word) > maxSpelled {
		return nil
	}
	known := otherSpellings()
	single := strings.TrimSuffix(word, "s")
	switch {
	case known.words[word] != "":
		others = append(others, known.words[word])
	case known.words[single] != "":
		others = append(others, known.words[single]+"s")
	}
	for _, s := range known.rules {
		if s.match.MatchString(word) {
			others = append(others, s.match.ReplaceAllString(word, s.other))
		}
	}
	return others
}
