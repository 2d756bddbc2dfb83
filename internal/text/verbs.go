package text

import (
	"slices"
	"strings"
	"sync"
)

// irregularVerbs are English verbs with a past tense and participle that stemming does not relate to them: base, past,
// participle, or base and past if past and participle are alike. Verbs whose forms are one word, such as "put", are left out.
const irregularVerbs = `arise arose arisen|awake awoke awoken|bear bore borne|beat beaten|become became|begin began begun|bend bent|bind bound
bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought
catch caught|choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk
drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forbid forbade forbidden
forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hang hung
hear heard|hide hid hidden|hold held|keep kept|know knew known|lay laid|lead led|learn learnt|leave left|lend lent|lose lost|make made
mean meant|meet met|mistake mistook mistaken|overcome overcame|pay paid|override overrode overridden|ride rode ridden|ring rang rung|rise rose risen
run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung
sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn
sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|undergo underwent undergone
understand understood|undertake undertook undertaken|wake woke woken|wear wore worn|weave wove woven|win won|withdraw withdrew withdrawn|withhold withheld|write wrote written`

// otherWords are forms of those verbs that are more often words of their own: "who founded it", "on the left", "parental leave".
var otherWords = wordSet(`bound bit found felt left lay lead saw rose shot thought bore lost mean bear ring leave feed drink fall hang ride rise run
	show sink sleep stand stick strike sweep swing tear wear win break breed dream fight fly draw spin swim`)

// formsOfVerbs are the terms of the other forms of irregular verbs, by the term of each form.
var formsOfVerbs = sync.OnceValue(func() map[string][]string {
	forms := make(map[string][]string)
	for verb := range strings.FieldsFuncSeq(irregularVerbs, func(r rune) bool { return r == '|' || r == '\n' }) {
		var terms []string
		for word := range strings.FieldsSeq(verb) {
			terms = append(terms, Stem(word))
		}
		for i, word := range strings.Fields(verb) {
			if otherWords[word] {
				continue
			}
			for _, other := range terms {
				if other != terms[i] && !slices.Contains(forms[terms[i]], other) {
					forms[terms[i]] = append(forms[terms[i]], other)
				}
			}
		}
	}
	return forms
})
