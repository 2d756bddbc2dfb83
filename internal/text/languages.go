package text

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// language describes a language of questions. All its words are folded.
type language struct {
	code     string          // ISO 639-1
	function map[string]bool // articles, pronouns, prepositions, conjunctions, auxiliaries, and question words
	endings  []string        // inflectional endings of nouns, adjectives and verbs, longest first; the empty ending is last
}

// languages returns the known languages except English, which has its own list (stopList).
var languages = sync.OnceValue(func() []*language {
	var all []*language
	for i, list := range functionLists {
		l := &language{code: codes[i], function: make(map[string]bool), endings: append(strings.Fields(endingLists[i]), "")}
		for w := range strings.FieldsSeq(list) {
			l.function[fold(w)] = true
		}
		for i, e := range l.endings {
			l.endings[i] = fold(e)
		}
		slices.SortStableFunc(l.endings, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
		all = append(all, l)
	}
	return all
})

// codes are in the order of functionLists; "sv" stands for all Scandinavian languages.
var codes = []string{"de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ru"}

// endingLists are in the order of functionLists.
var endingLists = []string{
	`e en er em es n s ern`,                                    // German
	`e s es x ee ees er ent ez`,                                // French
	`o a s os as es e en an ar er ir`,                          // Spanish
	`o a i e are ere ire ano ono`,                              // Italian
	`o a s os as es e em am ar er ir`,                          // Portuguese
	`e en n s t`,                                               // Dutch
	`a e en et er ar or n r s na ne erna arna orna erne ene t`, // Swedish, Danish and Norwegian
	`a i y u e o ę ą om ów owi em ami ach ie ej ego emu ych ym ymi ć ją`, // Polish
	`а я ы и у ю е о ой ей ом ем ам ям ах ях ами ями ов ев ый ий ая яя ое ее ые ие ого его ому ему ым им ых их ую юю
	ть ет ит ют ят ут ат`, // Russian
}

var functionLists = []string{
	// German
	`der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner
	ich mich mir du dich dir er ihn ihm sie ihr ihnen es wir uns euch man sich mein meine meinen meinem meiner
	dein deine sein seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere unseren unserem unserer
	dieser diese dieses diesen diesem jeder jede jedes jeden jedem welche welcher welches welchen welchem
	wer wen wem wessen was wie wo wann warum wieso weshalb woher wohin wofür womit wodurch wozu worin wobei wovon
	viel viele vielen wieviel wieviele hoch lange lang oft weit
	und oder aber denn weil wenn ob dass als damit sondern doch auch nur noch schon nicht
	in im ins an am ans auf aus bei beim mit nach von vom vor zu zum zur für über unter um durch gegen ohne bis seit
	pro während wegen zwischen hinter neben
	ist sind war waren bin bist wird werden wurde wurden worden hat haben habe hatte hatten gibt gab geben
	kann können könnte darf dürfen muss müssen soll sollen sollte will wollen möchte mag
	tun tut mache machen macht bitte sage sagen erkläre erklären nenne nennen steht gilt gelten bedeutet heißt`,
	// French
	`le la les l un une des du de d au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos
	leur leurs je j tu il elle on nous vous ils elles me m te t se s y en lui eux
	qui que qu quoi quel quelle quels quelles lequel laquelle comment combien où quand pourquoi
	et ou mais donc or ni car si comme ne n pas plus aussi très tout toute tous toutes
	à dans par pour sur sous avec sans entre vers chez depuis pendant avant après jusque lors
	est sont était étaient être suis es sommes êtes sera seront a ont ai as avons avez avait avoir fait faire font
	peut peuvent puis peux doit doivent dois faut va vont veut
	c cela ça ceci il y s'il qu'est qu'est-ce est-ce c'est`,
	// Spanish
	`el la los las lo un una unos unas de del al a ante con contra desde durante en entre hacia hasta para por según
	sin sobre tras yo tú él ella ellos ellas nosotros usted ustedes me te se nos le les mi mis tu tus su sus nuestro
	nuestra nuestros nuestras este esta estos estas ese esa eso esos esas aquel
	que qué quién quiénes cuál cuáles cómo cuánto cuánta cuántos cuántas dónde cuándo quien cual como cuando donde
	y e o u pero sino porque si no ni más muy también ya
	es son era eran ser soy está están estar fue fueron hay ha han he haber había tiene tienen tener
	puede pueden puedo poder debe deben hace hacen hacer`,
	// Italian
	`il lo la i gli le l un uno una di a da in con su per tra fra del dello della dei degli delle al allo alla ai agli
	alle dal dallo dalla dai dagli dalle nel nello nella nei negli nelle sul sullo sulla sui sugli sulle
	io tu lui lei noi voi loro mi ti si ci vi ne mio mia miei mie tuo tua suo sua suoi sue nostro nostra nostri nostre
	questo questa questi queste quello quella quelli quelle
	che chi cosa quale quali come quanto quanta quanti quante dove quando perché cos'è qual dov'è
	e ed o ma se non più anche già
	è sono era erano essere sia ha hanno ho avere aveva può possono posso deve devono devo fa fanno viene vengono c'è`,
	// Portuguese
	`o a os as um uma uns umas de do da dos das em no na nos nas ao aos à às por pelo pela pelos pelas para com sem
	sob sobre entre até desde após
	eu tu ele ela nós vós eles elas você vocês me te se lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso
	nossa este esta estes estas esse essa esses essas isso isto aquele aquela
	que quem qual quais como quanto quanta quantos quantas onde quando quê
	e ou mas porque se não mais também já muito tenho
	é são era eram ser sou está estão estar foi foram há tem têm ter tinha pode podem posso deve devem faz fazem`,
	// Dutch
	`de het een der den des ik mij me jij je jou u hij hem zij ze haar wij we ons jullie hun hen zich men
	mijn jouw uw zijn onze deze dit die dat welke welk elke elk
	wie wat waar wanneer waarom hoe hoeveel waarvoor waarmee hoelang
	en of maar want omdat als dan toch ook nog niet geen al er
	in op aan bij met na naar van voor te tot uit over onder om door tegen zonder sinds tijdens tussen
	is was waren ben bent wordt worden werd werden heeft hebben heb had hadden kan kunnen mag mogen moet moeten zal
	zullen wil willen gaat doet krijgt`,
	// Swedish, Danish and Norwegian
	`en ett et den det de dem jag du han hon vi ni jeg hun dere mig dig sig mitt min mina ditt din sitt sin sina vår
	vårt våra vor vort vore denna detta dette denne dessa disse
	vem vad var när varför hur hvem hva hvad hvor når hvorfor hvordan hvilken hvilket hvilke vilken vilket vilka
	många mycket mange meget mye
	och eller men om att som og at for därför inte ikke också også
	i på av till från med vid under över för efter före mellan utan genom til fra ved over etter mellem uten gennem
	är var vara har hade kan kunde ska skall skulle måste får blir er være havde må skal blev finns gäller`,
	// Polish
	`ja ty on ona ono my wy oni one mnie ciebie go jego jej nas was ich mi ci mu im się mój moja moje twój swój nasz
	ten ta to te ci tego tej tych tym tymi który która które którzy których jaki jaka jakie jakich
	kto kogo komu co czego czemu gdzie kiedy dlaczego jak ile skąd dokąd czy
	i a oraz lub albo ale że żeby jeśli gdy bo nie tak też także już jeszcze
	w we z ze na do od po o u za przez przy dla pod nad przed między bez podczas
	jest są był była było były być będzie będą ma mają mam mieć może mogą można trzeba należy`,
	// Russian
	`я ты он она оно мы вы они меня тебя его её их нас вас мне тебе ему ей им нам вам себя мой моя моё мои свой наш
	ваш этот эта это эти этого тот та те который которая которое которые каждый
	кто кого кому что чего чему какой какая какое какие где когда почему зачем как сколько куда откуда чей ли
	и а но или что чтобы если потому не ни да же бы тоже также уже ещё
	в во на с со к ко от до по о об у за из через при для под над перед между без после
	есть был была было были быть будет будут можно нужно надо должен должна должны может могут`,
}

// unspacedWords returns function words and question words of scripts written without spaces.
var unspacedWords = sync.OnceValue(func() []string {
	return strings.Fields(`的 了 吗 呢 吧 啊 是 在 有 和 与 或 及 就 都 也 很 我 你 您 他 她 它 们 这 那 哪 谁 几 把 被 对 从 向 到
	什么 什麼 怎么 怎麼 怎样 怎樣 如何 多少 多久 多大 多长 多長 为什么 為什麼 为何 是否 能否 可以 需要 请问 請問 请 請 应该 應該
	嗎 們 這 個 个 會 会 能 要 算 說 说 何 誰 幾 얼마 무엇 뭐 어떻게 어떤 언제 어디 누가 누구 왜 몇 입니까 습니까 니까 인가요 나요
	까요 하나요 되나요 있나요 합니다 됩니다 입니다 있습니까`)
})

// koreanParticles are the particles that end a Korean word.
const koreanParticles = "은는이가을를에의로와과도만"
