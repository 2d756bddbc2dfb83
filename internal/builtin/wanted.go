package builtin

import (
	"maps"
	"slices"
	"strings"

	"parley/internal/lazyregexp"
)

// wanted is what an answer must contain.
type wanted struct {
	quantity   *lazyregexp.Regexp // the text of an answer must match it; nil for none
	said       *lazyregexp.Regexp // what an answer may say instead; nil for none
	asking     map[string]bool    // terms of the words with which it asks how long something is
	list       bool               // several things, or steps in their order
	definition bool               // what something is
	negation   bool               // something that is not so, or not allowed
	decision   bool               // yes or no
	time       bool               // when something is
	person     bool               // who somebody is
	who        bool               // only who somebody is
	did        map[string]bool    // terms of the deed, if the question is who did it; none for verbs without a term
	contact    *lazyregexp.Regexp // the text of an answer must match it, a way to reach somebody; nil for none
	counted    map[string]bool    // terms of the things that a question counts ("how many doors"); nil if it counts nothing
	words      map[string]bool    // terms of the question as it is put
	which      map[string]bool    // terms of the things of which it wants to know which one ("which database"); nil for none
}

// A kind of quantity, with how questions ask for it and how answers look, in several languages.
type quantity struct {
	asks, looks *lazyregexp.Regexp
	says        *lazyregexp.Regexp // what an answer may say instead; nil for none
}

// numberWords are numbers that are written in letters, and words for none and for all. Numerals of
// other scripts are digits (\p{Nd}) or letters of Han.
const numberWords = `one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|once|twice|double|quarter|dozen|none|nothing|unlimited|no` +
	`|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\pL*zehn|\pL*(?:zwan|drei|vier|fünf|sech|sieb|acht|neun)[sz]ig|hundert|tausend|einmal|zweimal|dreimal|doppelt\pL*|halb\pL*|ein|eine|einen|einem|einer|keine?n?|nichts|unbegrenzt` +
	`|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt|trente|quarante|cinquante|soixante|cent|mille|une?|fois|aucune?|rien|moitié|demi\pL*` +
	`|dos|tres|cuatro|siete|ocho|nueve|diez|doce|quince|veinte|treinta|cuarenta|cincuenta|sesenta|cien\pL*|una?|uno|ningun[oa]?|nada|doble|mitad|medi[oa]` +
	`|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|dodici|quindici|venti|ventisei|trenta|quaranta|cinquanta|sessanta|cento|nessun[oa]?|niente|doppio|metà|mezz[oa]` +
	`|dois|duas|três|quatro|oito|dez|quinze|vinte|trinta|quarenta|cinquenta|sessenta|cem|nenhuma?|nada|dobro|metade|mei[oa]|um`

// money matches an amount of money, or words for one; bareNumber matches an amount without a currency, as in tables. Numbers of
// versions, dates and names with a number do not count.
var (
	money = lazyregexp.New(`(?i)\p{Sc}(?: ?\p{Nd}|\))|\b(?:eur|usd|gbp|chf)\b|\b(?:rs\.?|` + currencyCodes + `) ?\p{Nd}|\p{Nd}(?:p|ct)\b|\p{Nd} ?(?:kr|zł|kč)(?:[^\pL]|$)` +
		`|[\p{Nd}一二三四五六七八九十百千万两半십백천만] ?(?:[\p{Sc}元円원%]|(?:eur|usd|gbp|chf|` + currencyCodes + `|[ck]|m)\b)|\p{Nd}[.,]-|\b(?:free|nothing|double|half|euros?|dollars?|pounds?|rupees?|yen|yuan|kron(?:er|or|en)|zloty|pesos?|gratis|kostenlos|gratuit\pL*|gratuito|grátis)\b|免费|倍|无料|\b(?:cents?|pence|francs?|franken|kostenfrei|beitragsfrei)\b` +
		`|\b(?:no|without|keine?|ohne|aucuns?|sans|sin|senza|sem|nessun[oa]?) (?:\pL+ )?(?:costs?|charges?|fees?|kosten|gebühr(?:en)?|frais|costes?|costi?|custos?|taxas?)\b`)
	bareNumber = lazyregexp.New(`(?i)(?:^|[^\p{Latin}\p{Nd}.,/-])[\p{Nd}]+(?:[.,'’ ][\p{Nd}]+)?(?:[^\p{Latin}\p{Nd}.,/-]|[.,]?-?(?:\s|$))|[一二三四五六七八九十百千万两半零]|(?:^|[^\pL])(?:` + onlyNumbers + `)(?:[^\pL]|$)`)
)

// currencyCodes are other currencies that are traded much (ISO 4217). Some of them are also names, so they count only beside a
// number.
const currencyCodes = `jpy|cny|rmb|aud|cad|hkd|sgd|sek|krw|nok|nzd|inr|mxn|twd|zar|brl|dkk|pln|thb|ils|idr|czk|huf|ron|aed`

// timeWords say how often, how long or how soon without a number.
const timeWords = `always|never|daily|weekly|monthly|quarterly|yearly|annual(?:ly)?|hourly|nightly|every|each|immediately|at once|until|indefinitely|permanently|overnight` +
	`|immer|nie|täglich\pL*|wöchentlich\pL*|monatlich\pL*|vierteljährlich\pL*|jährlich\pL*|stündlich\pL*|jede[nrsm]?|sofort|unverzüglich|bis|solange|unbefristet\pL*|dauerhaft` +
	`|toujours|jamais|quotidien\pL*|hebdomadaire\pL*|mensuel\pL*|trimestriel\pL*|annuel\pL*|chaque|tous les|toutes les|immédiatement|jusqu\pL*` +
	`|siempre|nunca|diari[oa]\pL*|semanal\pL*|mensual\pL*|anual\pL*|cada|hasta|inmediatamente|sempre|mai|giornalier\pL*|settimanal\pL*|mensil\pL*|annual[ei]|ogni|fino|subito|diariamente|semanalmente|mensalmente|até`

// anyNumber matches a number, in digits or in words, or words for how often or how long. Articles do not count: "ein Jahr" does,
// "eine Bank" and "um zu" do not.
var anyNumber = lazyregexp.New(`(?i)[每]|(?:^|[^\pL])(?:` + timeWords + `|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?:[^\pL]|$)|` + aNumber)

// aCount matches a number of things, or words for "any number".
var aCount = lazyregexp.New(`(?i)(?:^|[^\pL])(?:as many|so viele|autant|tant[oa]s)(?:[^\pL]|$)|` + aNumber)

// clock matches opening hours.
var clock = lazyregexp.New(`(?i)\d{1,2}(?:[:.h]\d\d|\s?[ap]\.?m\b|\s?(?:uhr|h|heures|horas)\b)|\b(?:24/7|round the clock|midnight|noon|all day|rund um die uhr|mitternacht)\b|[\p{Nd}一二三四五六七八九十]+[时点]|\d{1,2} ?(?:[-–]|to|till|until|bis|à|a|às|alle) ?\d{1,2}` +
	`|\b(?:` + onlyNumbers + `)(?: o['’]clock| uhr)?(?: (?:[ap]\.?m\.?|(?:in the )?\pL+ing))? (?:to|till|until|bis|à|a|às|alle) (?:` + onlyNumbers + `)\b`)

// aNumber matches a number, in digits or in words.
var aNumber = `[\p{Nd}\p{Nl}\p{No}]|[一二三四五六七八九十百千万两半零无일이삼사오육칠팔구십백천만]` +
	`|(?:^|[^\pL])(?:\pL*(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-\pL+|` + onlyNumbers + `)(?:[^\pL]|$)` +
	`|(?:^|[^\pL])(?:an?|no|eine?[nrm]?|une?|una?|uma?) (?:\pL+ )?(?:second|minute|hour|day|night|week|month|quarter|year|half|limit|sekunde|stunde|tag|nacht|woche|monat|quartal|jahr|drittel|zwölftel` +
	`|seconde|heure|jour|nuit|semaine|mois|trimestre|an|année|tiers|segundo|minuto|hora|día|noche|semana|mes|año|tercio|secondo|ora|giorno|notte|settimana|mese|anno|terzo|dia|noite|mês|ano|terço)`

// duration matches a number with a unit of time or length. It does not match "twice a day" or "in version 2".
var duration = lazyregexp.New(`(?i)(?:[\p{Nd}\p{No}][^\n;:]{0,24}?|(?:^|[^\pL])(?:` + numberWords + `|an?|few|several|mehrere\pL*|einige\pL*|quelques|plusieurs|varios|alcun[ie]|algun[sa]s?)(?:[^\pL\n;:][^\n;:]{0,23}?)?)` +
	`(?:second|minut|hour|day|night|week|month|quarter|year|decade|centur|sekunde|stunde|tag(?:en?|s|es)?\b|tägig|nacht|nächte|woche|wöchig|monat|quartal|jahr|jährig` +
	`|heure|jour|nuit|semaine|mois|trimestre|\bans?\b|année|siècle|segundo|hora|día|noche|semana|mes(?:es)?\b|año|secondo|\bor[ae]\b|giorn|notte|settiman|ann[oi]\b|\bdias?\b|noite|mês|\banos?\b` +
	`|charact|chars?\b|zeichen|caract|caratter|byte|page|seite|página|pagin|words?|wörter|\bmots|\bmins?\b|\d ?[smhdwy]\b|\d ?[mck]?m\b|met(?:re|er|ro)|mètre|feet|foot|inch|miles?|meile)` +
	`|[\p{Nd}一二三四五六七八九十百千万两半数几][^\n。；]{0,6}?[秒分时天日周週月年]`)

// asksDuration matches questions that ask how long something is.
var asksDuration = lazyregexp.New(`(?i)\bhow long\b|\bwie ?lange\b|combien de temps|cuánto tiempo|quanto tempo|多长时间|多久[^一]*$`)

// untilWhen matches durations without a number: "until", "permanently".
var untilWhen = lazyregexp.New(`(?i)(?:^|[^\pL])(?:always|immediately|at once|until|till|indefinitely|permanently|overnight|forever|unlimited|as long as|no limit|immer|sofort|unverzüglich\pL*|bis|solange|unbefristet\pL*|dauerhaft\pL*|unbegrenzt\pL*` +
	`|toujours|immédiatement|jusqu\pL*|indéfiniment|siempre|hasta|inmediatamente|indefinidamente|sempre|fino|subito|até|ilimitad[oa]|imediatamente)(?:[^\pL]|$)|永久|立即|随时|长期`)

// onlyNumbers is numberWords without the words that are also articles.
var onlyNumbers = func() string {
	articles := set("no ein eine einen einem einer une? una? um")
	return strings.Join(slices.DeleteFunc(strings.Split(numberWords, "|"), func(w string) bool { return articles[w] }), "|")
}()

// measure matches a number with a unit. A year does not count.
var measure = lazyregexp.New(`(?i)(?:[\p{Nd}\p{No}]|(?:^|[^\pL])(?:` + numberWords + `))(?:[,.][-–—]{1,2})? ?-?(?:[%€$£¥°"′″]|(?:[mckµ]?m|ft|feet|foot|in|inch(?:es)?|yards?|mi|miles?|meilen?|millas?|miglia|milhas?|[mck]?g|lbs?|oz` +
	`|(?:[a-zé]+)?met(?:re|er|ro|ri)s?|mètres?|(?:kilo|milli)?gramm?[eoi]?s?|kilos?|tonn?[eas]*|pounds?|pfund|percent|prozent|pour ?cent|per ?cento|por ?ciento|degrees?|grad|degrés?|grad[oi]s?|celsius|fahrenheit|kelvin` +
	`|euros?|dollars?|stories|storeys|floors|minutes?|minuten|hours?|stunden|days?|tage)(?:[^\pL]|$)|[米公里尺厘度斤克吨层元])`)

// aVersion matches the number of a version.
var aVersion = lazyregexp.New(`[\p{Nd}]`)

// size matches an amount of data.
var size = lazyregexp.New(`(?i)\p{Nd} ?(?:[kmgtp]i?b?|bytes?|(?:kilo|mega|giga|tera)(?:byte|bit)s?|octets?|[kmgt]o)(?:[^\pL\p{Nd}]|$)|\b(?:unlimited|no limit|unbegrenzt|illimité|ilimitado|illimitato)|无限`)

// references match numbers that are not quantities: those of sections, paragraphs, items and pages, "one" in "one of", and the English "due", which is
// two in Italian.
var references = lazyregexp.New(`(?i)\b(?:(?:sub)?sections?|chapters?|appendix|figures?|fig\.|tables?|pages?|steps?|notes?|footnotes?|abschnitte?|kapitel|anhang|abbildung|tabelle|seiten?|schritt|chapitres?|annexe|tableau|secci[oó]n|cap[ií]tulo|tabla|p[aá]gina|sezione|capitolo|tabella|pagina|seção|tabela) \(?[A-Z]?[\d.]*\d\)?` +
	`|\b(?:one of|no one|any one|every one|each one|this one|that one|one another|at once)\b|\b[a-z_]\w*=\d+` +
	`|\bdue (?:dates?|to|on|by|in|at|for)\b|\b(?:the|is|are|be|was|were|amounts?|falls?|when|past) due\b` +
	`|^\(?\d{1,3}[a-z]?[.)] |^\(\d{1,3}[a-z]?\)|§{1,2} ?\d+[a-z]?|\b(?:abs|art|nr)(?:\.|atz|ikel|icle|ículo|icolo|igo) ?\d+[a-z]?\b`)

// versionNumbers match numbers that are not a quantity without a unit.
var versionNumbers = lazyregexp.New(`(?i)\bversi[oó]ns?(?:e|en)? \d[\d.]*`)

// quantities are tried in their order; the first that a question asks for counts. They include questions for a date and for past
// times; other questions for a time may be answered by a condition ("when the lamp is green").
var quantities = []quantity{
	{
		lazyregexp.New(`(?i)\b(?:how (?:much|many|large|big)|what (?:is|are) the (?:minimum|maximum|least|recommended|required)|minimum|maximum)\b.*\b(?:memory|ram|disk|storage|swap|bandwidth|(?:file|upload|message) size|[kmgt]i?b|(?:mega|giga|kilo|tera)?bytes)\b` +
			`|wie ?viel\b.*(?:speicher|festplatte|plattenplatz|gigabyte|megabyte)|combien de (?:mémoire|ram|stockage|gigaoctets)|cuánt[oa] (?:memoria|ram|almacenamiento|disco)|quant[oa] (?:memoria|memória|ram|disco|armazenamento)|多[少大](?:的)?(?:内存|磁盘|硬盘|存储|空间)`),
		size, nil,
	},
	{
		lazyregexp.New(`(?i)\bhow (?:much|expensive)\b|\b(?:price|cost|fee|charge|salary|rate)\b of|what (?:does|do|did|will|would|is|are) .*\b(?:costs?|price|fees?|rate|charge)\b` +
			`|what (?:is|are|was|were) the (?:\pL+ ){0,2}(?:fines?|fares?|tolls?|deposit)(?:\W*$| (?:for|of|to|if|when)\b)` +
			`|was kostet|wie ?teuer|wie ?viel (?:kostet|geld|euro)|\bcombien (?:coûte|cela|ça)|cuánto (?:cuesta|vale|cobra)|quanto (?:costa|custa)|多少钱|いくら|얼마`),
		money, bareNumber,
	},
	{
		lazyregexp.New(`(?i)\bhow (?:tall|high|deep|wide|thick|far|heavy|hot|cold)\b|\bwie heiß(?:[^\pL]|$)|\bwie (?:hoch|tief|breit|dick|weit|schwer|kalt)\b|多[高深宽厚远重]`),
		measure, nil,
	},
	{
		lazyregexp.New(`(?i)\b(?:which|what)\b.{0,30}\bversions?\b|\bwelche[rsn]?\b.{0,30}\bversion|\bquelles?\b.{0,30}\bversion|\bqu[eé] versi[oó]n|\bqu[ea]l[ei]? vers[iã]|(?:哪个|什么|几)版本`),
		aVersion, nil,
	},
	{
		asksDuration,
		duration, untilWhen,
	},
	{
		lazyregexp.New(`(?i)\bhow many times\b|\bcombien de fois\b|\bcuántas veces\b|\bquante volte\b|\bquantas vezes\b`),
		anyNumber, nil,
	},
	{
		lazyregexp.New(`(?i)\bhow many\b|\bwie ?viele[nr]?\b|\bcombien (?:de |d['’])|\bcuánt[oa]s\b|\bquant[ie]\b|\bquant[oa]s\b`),
		aCount, nil,
	},
	{
		lazyregexp.New(`(?i)\b(?:opening|business|office) (?:hours|times)\b|(?:^|[^\pL])öffnungszeit|\bgeschäftszeit|\bheures? d['’]ouverture|\bhoraires d['’]ouverture|\bhorarios? de (?:apertura|atención)|\bhorario de abertura|\borari(?:o)? di apertura|营业时间|开放时间`),
		clock, nil,
	},
	{
		lazyregexp.New(`(?i)\bhow (?:many|long|old|often|far|tall|big|large|fast|high|deep|heavy|hot|cold|wide|quickly|soon|late|early)\b|\bwhat (?:percentage|year|share|number|age)\b|^\W*(?:within|for|until|by|from|in|since) (?:what|which|how)\b|\b(?:minimum|maximum|most)\b.*\b(?:age|length|number|amount|it can|I can)\b` +
			`|wie ?groß(?:[^\pL]|$)|wie ?(?:viele?[nrm]?|hoch|lange?|oft|weit|alt|schwer|schnell|breit|tief)\b|\bcombien\b|cuánt[oa]s?\b|quant[oiae]s?\b|hoeveel|hoe (?:lang|hoog|vaak)\b` +
			`|сколько|多少|多久|多长|多大|几[个天年月日次小]|いくつ|何[時日人年月回]|몇`),
		anyNumber, nil,
	},
	{
		lazyregexp.New(`(?i)\bwhen (?:was|were|did)\b|\bsince when\b|\bseit wann\b|\bdepuis quand\b|\bdesde cuándo\b|\bda quando\b|\bdesde quando\b|\b(?:what|which) (?:date|year)\b|\bwann (?:wurden?|war(?:en)?)\b|\bin welchem jahr\b` +
			`|\bquand (?:a|ont|fut|furent)\b|\bquelle (?:date|année)|\bcuándo (?:fue|fueron)\b|\bqué (?:fecha|año)|\bquando (?:fu|furono|foi|foram)\b|\bche (?:data|anno)|\bque (?:data|ano)\b|哪[一]?年|什么日期`),
		aDate, nil,
	},
}

// asksList matches questions for several things or for steps.
var asksList = lazyregexp.New(`(?i)\b(?:steps?|list|order|procedure|which|what|who|whom|where)\b.*\b(?:steps?|all|every|things|documents|items|kinds|types|order|countries|conditions|requirements|teams|people|products|exceptions)\b` +
	`|\bhow (?:do|can|should|must|to)\b|\bwhat (?:all|should|must|do|does|can|are|may|need)\b|\bwhat .*\b(?:have to|need to|not allowed|include|includes|cover|covers|contain|contains|hold|consist)\b|\bwho (?:is|are|was|were|has|have|can|may)\b|^\W*(?:which|what) \pL+s\b|\bname (?:the|all)\b` +
	`|\bwelche[nrs]?\b|\bwas (?:muss|müssen|soll|sollte|darf|dürfen|gehört|umfasst|zählt|sind|brauch)|\bwie (?:kann|geht?|muss|\pL+e|\pL+st|\pL+t|\pL+en) (?:ich|man|du|wir|sie)\b|\bwie (?:kann|muss|geht)\b|\bwer (?:darf|ist|hat|sind|muss)\b|schritte` +
	`|\b(?:quels|quelles)\b|\bque (?:faut|dois|doit|faire|comprend)|\bcomment\b|étapes|\b(?:cuáles|qué (?:debo|hay|documentos|incluye|pasos)|cómo|pasos|quiénes)\b|\b(?:quali|che cosa (?:devo|include|comprende)|cosa devo|come (?:si|posso|devo)|passi)\b|\b(?:quais|o que (?:devo|inclui)|como (?:posso|devo|faço)|passos)\b` +
	`|哪些|什么(?:材料|情况|条件|步骤)|怎么|怎样|如何|步骤`)

// negated matches questions for what is not so, and texts that say it.
var negated = lazyregexp.New(`(?i)\b(?:not|never|no|none|nobody|nothing|cannot|can't|cant|don't|doesn't|isn't|aren't|won't|mustn't|may not|forbidden|prohibited|banned|excluded|except|without|unless|ineligible|not ok` +
	`|nicht|nie|niemals|keine?[nrms]?|verboten|untersagt|ausgeschlossen|außer|ohne|unzulässig|interdite?s?|ne|pas|jamais|aucune?|sauf|exclue?s?|prohibid[oa]s?|nunca|jamás|no|ningun[oa]?|salvo|excepto|vietat[oaie]|non|mai|nessun[oa]?|tranne|escluso|proibid[oa]s?|não|nunca|nenhuma?|exceto)\b|不|禁止|没有|未|除外|不得|勿`)

// asksNegation matches questions for what is not so or not allowed, but not those that merely contain the word "no".
var asksNegation = lazyregexp.New(`(?i)\b(?:not|never|cannot|can't|cant|mustn't|may not|forbidden|prohibited|banned|excluded|exempt|nicht|verboten|untersagt|ausgeschlossen|interdits?|interdites?|prohibid[oa]s?|vietat[oaie]|proibid[oa]s?|exclue?s?)\b|不能|不得|禁止|不可`)

// decides matches questions that are answered by yes or no.
var decides = lazyregexp.New(`(?i)^\W*(?:and |but |so )?(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|am|might)\b|^\W*(?:ist|sind|war|darf|dürfen|kann|können|muss|müssen|gibt es|hat|haben|wird|werden|bekomme|soll)\b|^\W*(?:est-ce|peut-on|puis-je|y a-t-il|dois-je|faut-il|est-il)|^\W*¿?(?:es|puedo|se puede|hay|tengo|debo|tiene)\b|^\W*(?:posso|si può|devo|c['’]è|ci sono|pode|devo|tenho)(?:[^\pL]|$)|^[^\pL]*(?:está|è|é|há)(?:[^\pL]|$)|[吗嗎]|是否|能否|可以.*吗`)

// wantedBy returns what an answer to a question must contain.
func wantedBy(question string) wanted {
	w := wanted{
		words:      termSet(question),
		list:       asksList.MatchString(question),
		definition: asksDefinition.MatchString(question),
		negation:   asksNegation.MatchString(question),
		decision:   decides.MatchString(question),
	}
	w.time, w.person = asksTime.MatchString(question), asksPerson.MatchString(question)
	w.counted, w.which = countedBy(question), whichOf(question)
	if m := asksWho.FindStringSubmatch(question); m != nil {
		w.who, w.did = true, termSet(m[1])
	}
	switch {
	case asksPhone.MatchString(question) && asksContact.MatchString(question):
		w.contact = aPhone
	case asksContact.MatchString(question):
		w.contact = anAddress
	case asksPlace.MatchString(question):
		w.contact = aPlace
	}
	if w.contact != nil {
		w.which = nil // the address itself says which one
	}
	for _, q := range quantities {
		if q.asks.MatchString(question) {
			w.quantity, w.said = q.looks, q.says
			break
		}
	}
	if w.said != nil {
		w.asking = termSet(asksDuration.FindString(question))
	}
	if w.quantity == money {
		if of := howMuchOf.FindStringSubmatch(question); of != nil && !paid[strings.ToLower(of[1])] {
			w.quantity, w.said = anyNumber, nil // "how much leave"
		}
	}
	return w
}

// howMuchOf matches the word after "how much", and paid are the words that make it a question for an amount of money.
var (
	howMuchOf = lazyregexp.New(`(?i)\bhow much (\pL+)`)
	paid      = set(`do does did is are was were will would can could may might must should shall has have had to if when am i it they we you
		money cash tax rent pay salary interest compensation deposit`)
)

// asksDefinition matches questions for what something is.
var asksDefinition = lazyregexp.New(`(?i)^\W*(?:what|who)(?:'s|’s| is| are| was| were) |^\W*what (?:does|do) .* (?:mean|stand for|do)\W*$|^\W*define ` +
	`|^\W*was (?:ist|sind|bedeutet|heißt|versteht)\b|^\W*wer ist\b|^\W*qu['’]est-ce qu|^\W*que signifie|^\W*¿?qué (?:es|son|significa)\b|^\W*(?:che )?cos['’]è|^\W*o que (?:é|são|significa)|是什么|什么是|とは`)

// certain reports whether a text says yes or no to something.
func certain(s string) bool { return permits.MatchString(s) || negated.MatchString(s) }

var permits = lazyregexp.New(`(?i)\b(?:yes|may|can|must|only|always|allowed|permitted|possible|required|free|ja|darf|dürfen|kann|können|muss|müssen|nur|erlaubt|möglich|oui|peut|peuvent|doit|doivent|seulement|permis|puede|pueden|debe|deben|solo|permitid[oa]|possono|deve|devono|solo|consentit[oa]|sim|pode|podem|devem|apenas|permitid[oa])\b|(?:^|[^\pL])(?:sí|sì|può|autorisé)(?:[^\pL]|$)|可以|必须|应当|允许`)

// lastHeading returns the heading right above a passage without its number, "" for none.
func lastHeading(headings []string) string {
	if len(headings) == 0 {
		return ""
	}
	return strings.TrimSpace(bare(headings[len(headings)-1]))
}

// Questions for a time, and texts that name one.
var (
	asksTime = lazyregexp.New(`(?i)\b(?:when|what (?:time|date|day|year)|by when|until when|wann|um wie ?viel uhr|welche[rsnm]? (?:tag|datum|jahr)|quand|quelle date|cuándo|a qué hora|quando|a che ora|a que horas)\b|^\W*à quelle heure|什么时候|何时|几点|哪天|いつ|언제`)
	aTime    = lazyregexp.New(`(?i)\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon|midnight|januar|februar|märz|mai|juni|juli|oktober|dezember|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|uhr|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|lunes|martes|miércoles|jueves|viernes|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|segunda|terça|quarta|quinta|sexta)\b|(?:^|[^\pL])(?:luned|marted|mercoled|gioved|venerd)ì(?:[^\pL]|$)|\d{1,2}(?::\d\d|\s?[ap]\.?m\b|\s?(?:st|nd|rd|th)\b|\.\s|\s?h\b)|\b(?:19|20)\d\d\b|[年月日时点]`)

	// aDate matches the time of an event, which may be given by what was before or after it.
	aDate = lazyregexp.New(aTime.String() + `|\b1\d{3}\b|(?i)(?:^|[^\pL])(?:ago|yesterday|today|since|before|after|during|century|vor|nach|seit|während|jahrhundert|avant|après|depuis|pendant|siècle|antes|después|desde|durante|siglo|prima|dopo|secolo|depois|século)(?:[^\pL]|$)|[前后後]`)
)

// asksContact matches questions for a phone number or an e-mail address, asksPhone those for a phone number, and asksPlace those
// for any address.
var (
	asksContact = lazyregexp.New(`(?i)^\W*(?:what|which|wie lautet|wie ist|welche|quel(?:le)?|cuál|qual[ei]?|che)\b.{0,40}` +
		`(?:` + phoneNumber + `|e-?mail[ -]?address|e-?mail-?adresse|adresse (?:e-?mail|mail|électronique)|correo electrónico|indirizzo e-?mail|endereço de e-?mail)`)
	asksPlace = lazyregexp.New(`(?i)^\W*(?:(?:to|at) )?(?:what|which) (?:postal |mailing )?address\b|^\W*an welche adresse|^\W*à quelle adresse|^\W*¿?a qué dirección|^\W*a quale indirizzo`)
	asksPhone = lazyregexp.New(`(?i)` + phoneNumber)
	aPhone    = lazyregexp.New(`\p{Nd}{3}|\p{Nd}\p{Nd}[ /-]\p{Nd}\p{Nd}`)
	anAddress = lazyregexp.New(`@|https?://|\bwww\.`)
	aPlace    = lazyregexp.New(anAddress.String() + `|\p{Nd}`)
)

const phoneNumber = `(?:phone|fax|mobile) number|telefonnummer|handynummer|numéro de (?:téléphone|portable)|(?:número|numero) d[ei] tel[eé]fon[eo]|número de telefone`

// asksCount matches questions for how many things there are. German is not included, because there the things are often part of
// a longer word.
var asksCount = lazyregexp.New(`(?i)\b(?:how many|number of|combien d[e'’]|nombre d[e'’]|cuánt[oa]s|número de|quant[ie]|quantos|quantas)\s?(\pL{3,})`)

// countedBy returns the terms of the things that a question wants counted; none if it names them only in general words.
func countedBy(question string) map[string]bool {
	m := asksCount.FindStringSubmatch(question)
	if m == nil {
		return nil
	}
	terms := termSet(m[1])
	maps.DeleteFunc(terms, func(t string, _ bool) bool { return general()[t] })
	return terms
}

// settle adds the words of "how long" to the terms of a text that gives a duration, and removes them from any other text, since
// "as long as you are online" does not answer.
func (w *wanted) settle(terms map[string]bool, s string) {
	says := len(w.asking) > 0 && w.given(s) == 1
	for t := range w.asking {
		if delete(terms, t); says {
			terms[t] = true
		}
	}
}

// amount reports whether the question is for an amount, an address or a number to call: a text that has it needs nothing beside
// it.
func (w *wanted) amount() bool { return w.quantity != nil || w.contact != nil }

// isOpen reports whether the type of the answer is unknown.
func (w *wanted) isOpen() bool {
	return w.quantity == nil && w.contact == nil && w.which == nil && !w.list && !w.definition && !w.decision && !w.time && !w.person
}

// given returns 1 if a text has the wanted quantity, .5 if it has words that replace it, else 0.
func (w *wanted) given(s string) float64 {
	if w.quantity == nil {
		return 0
	}
	s = references.ReplaceAllString(s, " ")
	switch {
	case w.quantity.MatchString(s):
		return 1
	case w.said != nil && w.said.MatchString(versionNumbers.ReplaceAllString(s, " ")):
		return .5
	}
	return 0
}

// lacks reports whether a block lacks what the question wants of any answer: an amount, a name, a number to call.
func (n need) lacks(u *unit) bool {
	w := &n.wanted
	return w.quantity != nil && u.features[untyped] > 0 || w.contact != nil && !w.contact.MatchString(u.key) ||
		w.who && !n.namesDoer(u.key)
}

// countsOthers reports whether a block says nothing about the things that the question wants counted.
func (n need) countsOthers(u *unit) bool {
	own := n.termSet(u.text)
	for t := range n.wanted.counted {
		if own[t] || own[likeMark+t] || !slices.ContainsFunc(n.terms, func(x weighted) bool { return x.text == t }) {
			return false
		}
	}
	return len(n.wanted.counted) > 0
}

// leavesUndefined reports whether the question asks what one thing is, "What is Parley?", and a block only mentions it.
func (n need) leavesUndefined(u *unit, f *features) bool {
	w := &n.wanted
	return w.definition && !w.person && w.quantity == nil && len(n.terms) == 1 &&
		f[defining]+f[onTopic]+f[answering] == 0 && !u.isRow()
}
