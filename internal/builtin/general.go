package builtin

import (
	"sync"

	"parley/internal/text"
)

// generalShare is what a general word counts for whether there is an answer, relative to others.
const generalShare = 0.5

// general returns the terms of words in which questions are put about anything.
var general = sync.OnceValue(func() map[string]bool {
	terms := make(map[string]bool)
	for _, t := range text.Terms(generalWords) {
		terms[t] = true
	}
	return terms
})

const generalWords = `
time times day days week month year hour minute moment date period while long short big small large huge
tiny high tall low old new young fast quick quickly slow slowly heavy wide broad deep far close easy easily
hard difficult simple cheap expensive good bad great nice best better worse worst right wrong main major
important common popular different similar special normal typical usual regular frequent frequently possible
impossible available necessary required sure certain true real actual actually exact exactly correct current
currently recent recently early late later ago long-term whole full complete total entire extra first second
third last next previous final people person persons man men woman women somebody folk human everyone guy
number amount quantity count degree level rate size length height width depth weight distance age speed
color colour shape price cost costs money value place location position spot area side part piece reason
purpose cause effect result difference example case fact idea problem matter aspect role name title word
term story life world work works live lives stay start begin end stop finish run move turn set put bring
send buy sell pay spend order receive accept allow allowed permit permitted let help show call called
contact reach talk speak write hear learn meet wait leave arrive visit carry hold stand sit lie fall rise
grow become remain exist belong lose lost rid do happen occur like love prefer recommend suggest consider
believe feel hope expect decide understand remember plan try attempt manage able enable cover involve
concern relate open back away together apart own
`
