package text

import "strings"

// isStop reports whether a folded word is an English function word or a word that phrases a
// question.
func isStop(folded string) bool {
	_, ok := stopWords[folded]
	return ok
}

var stopWords = func() map[string]struct{} {
	m := make(map[string]struct{})
	for w := range strings.FieldsSeq(stopList) {
		m[w] = struct{}{}
		m[strings.ReplaceAll(w, "'", "")] = struct{}{}
	}
	for _, w := range []string{"ill", "shell", "well", "were", "wed", "hell", "shed", "id", "cant", "wont"} {
		delete(m, w) // other words without the apostrophe
	}
	for _, w := range []string{"were", "cant", "wont"} {
		m[w] = struct{}{}
	}
	return m
}()

// StopWords ranges over the function words, in no particular order.
func StopWords(yield func(string) bool) {
	for w := range stopWords {
		if !yield(w) {
			return
		}
	}
}

const stopList = `
a an the this that these those such same other another each every either neither both all any some
no none nor not only own few more most much many several enough less least
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves one ones oneself
someone somebody something anyone anybody anything everyone everybody everything nobody nothing noone
who whom whose which what whatever whichever whoever when whenever where wherever why how however
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought cannot
don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't couldn't won't wouldn't
shouldn't mustn't mightn't needn't shan't ain't
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've
we'd we'll they're they've they'd they'll that's that'd that'll there's there'd there'll here's
who's who'd who'll what's what're what'll where's where'd when's why's how's how'd let's y'all
about above across after against along among amongst around as at before behind below beneath beside
besides between beyond by despite down during except for from in inside into like near of off on onto
out outside over past per since than through throughout till to toward towards under underneath
until unto up upon via versus vs with within without
and but or so yet if then else because although though unless while whereas whether
also again already almost alone always ever never often once perhaps maybe quite rather really
seldom sometimes somewhat soon still thus too very well yes ok okay just even indeed instead
therefore hence moreover furthermore otherwise meanwhile nevertheless nonetheless
here there everywhere anywhere somewhere nowhere now today
please thanks thank hello hi hey sorry
tell know want wants wanted need needs let go goes going gone get gets getting got gotten
make makes made making take takes taken took taking come comes came coming give gives given gave giving
say says said saying see sees seen saw seem seems seemed seeming look looks looking
use used using uses keep keeps kept try tries tried trying ask asks asked asking
find found think thinks thought mean means meant happen happens happened
thing things kind kinds sort sorts lot lots way ways bit
explain describe list detail details detailed elaborate discuss mention mentioned mentions
information info question questions answer answers
able include includes included including
various certain particular especially specifically generally usually typically
etc ie eg e.g i.e viz
s t d ll m re ve
`
