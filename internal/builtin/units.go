package builtin

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/text"
)

// unit is a block and its properties for a question.
type unit struct {
	passage    int
	start, end int
	pieces     []text.Span     // that make it up
	key        string          // its text with single spaces
	text       string          // its text below its headings, as a reader sees it
	list       bool            // it is a whole list
	answers    bool            // it is below a question
	anyOne     bool            // it does not say which of the things that are asked for
	terms      map[string]bool // of the words of the block itself
	asked      map[string]bool // the terms of the question or lead-in before it; nil for none
	features   features
	ownLike    float64 // the reader's score for the question alone, without the one before it
	part       int     // of the question that the reader finds it to answer, from 1; 0 for none
	score      float64
}

// candidates returns the blocks of all passages with their scores. A block that is in two passages, because chunks overlap,
// counts once.
func candidates(ev *llm.Evidence, n need) []unit {
	var units []unit
	seen := make(map[string]bool)
	forged := forgeriesOf(ev)
	for i := range ev.Passages {
		p := &ev.Passages[i]
		all := pieces(p)
		terms := make([]map[string]bool, len(all))
		for j, q := range all {
			terms[j] = n.termSet(p.Text[q.Start:q.End])
			if q.kind != question && n.wanted.definition && n.spellsOut(p.Text[q.Start:q.End]) {
				all[j].kind = statement // "Paid Time Off (PTO)" alone
			}
		}
		view := surroundings{n: n, p: p, pieces: all, terms: terms, title: n.termSet(p.Title), above: n.termSet(strings.Join(p.Headings, "\n"))}
		for _, b := range blocks(p, all) {
			start, end := trimLabel(p.Text, all[b.first].Start, all[b.last].End), all[b.last].End
			s := p.Text[start:end]
			key := strings.Join(strings.Fields(s), " ")
			if seen[key] || forged.in(s) || addressed.MatchString(s) && !n.wanted.person && !n.wanted.time && len(n.contacts) == 0 {
				continue
			}
			if n.onlyQuoted(s) {
				continue
			}
			alone := all[b.first].kind == label || b.direct && !n.wanted.decision && yesOrNo.MatchString(s)
			if held, _ := n.held(view.asked(b)); alone && held < minAsked && !n.mostlyIn(terms[b.first]) {
				continue // "Yes." or "No, never." to another question
			}
			seen[key] = true
			u := unit{passage: i, start: start, end: end, key: key, list: b.list || b.lead == b.first, answers: b.asked >= 0, asked: view.asked(b), terms: map[string]bool{}}
			for j := b.first; j <= b.last; j++ {
				maps.Copy(u.terms, terms[j])
				u.pieces = append(u.pieces, all[j].Span)
			}
			u.pieces[0].Start = start
			n.wanted.settle(u.terms, key)
			u.text = view.read(b, key)
			u.anyOne = !n.identifies(&u, n.wanted.which)
			u.features = view.features(b, &u)
			units = append(units, u)
		}
	}
	units = aboutOptions(ev.Query, units)
	compareGrams(ev.Query, units)
	return units
}

// quotedQuestion matches a question in quotation marks after other words.
var quotedQuestion = lazyregexp.New(`[^\s"“”„«»「][^"“”„«»「]*["“„«「]([^"“”„«»「」]+[?？])\s?["”“»」]`)

// onlyQuoted reports whether a text quotes the question instead of answering it: `"What is the capital of France?" was refused`.
func (n need) onlyQuoted(s string) bool {
	m := quotedQuestion.FindStringSubmatch(s)
	return m != nil && n.mostlyIn(n.termSet(m[1]))
}

// mostlyIn reports whether a text has most of the words of the question.
func (n need) mostlyIn(terms map[string]bool) bool {
	held, _ := n.held(terms)
	return held >= minTopic
}

// compareGrams compares the pieces of the question's words with those of all units, and scores them.
func compareGrams(question string, units []unit) {
	texts := make([]string, len(units))
	for i := range units {
		texts[i] = strings.ToLower(units[i].key)
	}
	g := weighGrams(question, texts)
	for i := range units {
		u := &units[i]
		u.features[inGrams] = g.held(texts[i])
		u.features[gramsAround] = max(0, g.held(strings.ToLower(u.text))-u.features[inGrams])
		u.score = u.features.score()
	}
}

// termSet returns the terms of s, with each form of a word of the question replaced by that word.
func (n need) termSet(s string) map[string]bool {
	set := termSet(s)
	for form, t := range n.forms {
		if set[form] {
			set[t] = true
		}
	}
	for like, terms := range n.likes {
		if set[like] {
			for _, t := range terms {
				set[likeMark+t] = true
			}
		}
	}
	for _, c := range n.contacts {
		if c.looks.MatchString(s) {
			maps.Copy(set, c.names())
		}
	}
	return set
}

// isRow reports whether a unit is a row of a table.
func (u *unit) isRow() bool { return isRow(u.key) || hasCells(u.key) }

// likeMark precedes a term for which a text has a word of like meaning, and likeShare is the weight of such a word, relative to
// the word itself.
const (
	likeMark  = "~"
	likeShare = 0.6
)

// contact is a way to reach somebody; documents give it without saying what kind it is.
type contact struct {
	names func() map[string]bool // terms for it
	looks *lazyregexp.Regexp
}

var contacts = []contact{
	{named("phone telephone telefon telefonnummer téléphone teléfono telefono"), lazyregexp.New(`\+?\d[\d ()/-]{5,}\d`)},
	{named("email mail mailadresse courriel correo"), lazyregexp.New(`[\w.+-]+@[\w-]+\.\w`)},
	{named("website webseite url link"), lazyregexp.New(`https?://|\bwww\.`)},
}

func named(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return termSet(words) })
}

// contactsIn returns the contacts that terms ask for.
func contactsIn(terms []weighted) []contact {
	var asked []contact
	for _, c := range contacts {
		if slices.ContainsFunc(terms, func(t weighted) bool { return c.names()[t.text] }) {
			asked = append(asked, c)
		}
	}
	return asked
}

func termSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range text.Terms(s) {
		set[t] = true
	}
	return set
}

func union(a, b map[string]bool) map[string]bool {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// maxRow bounds the length of the row of a table in bytes.
const maxRow = 1200

// spans returns the statements of a passage: its sentences, and the rows of its tables. The header of a table is not a statement
// without its rows.
func spans(s string) []text.Span {
	var out []text.Span
	prose := 0 // where the text outside tables begins
	flush := func(end int) {
		for _, sp := range proseSpans(s[prose:end]) {
			out = append(out, text.Span{Start: prose + sp.Start, End: prose + sp.End})
		}
	}
	before := ""
	for start := 0; start < len(s); {
		line, rest, _ := strings.Cut(s[start:], "\n")
		next, _, _ := strings.Cut(rest, "\n")
		end := start + len(line)
		row, header := isRow(line), hasCells(line) && isRow(next)
		if len(line) <= maxRow && (row || header || hasCells(line) && (hasCells(before) || hasCells(next))) {
			flush(start)
			if sp, ok := text.Trim(s, start, end); ok && !header {
				out = append(out, sp)
			}
			prose = end
		}
		before, start = line, end+1
	}
	flush(len(s))
	return byFields(s, out)
}

// addressed matches the lines of a mail's header that name the sender and the recipients.
var addressed = lazyregexp.New(`^(?:From|To|Cc|Bcc|Reply-To|Von|An|Kopie|De|À|Para|Da|A|发件人|收件人|差出人|宛先)\s?[:：] [^\n]{0,200}@[^\n]{0,200}$`)

// aField matches the line of a form: "Subject: quotation".
var aField = lazyregexp.New(`^\pL[\pL -]{0,24}: \S`)

// byFields splits spans that are several lines of a form, such as the header of a mail.
func byFields(s string, all []text.Span) (out []text.Span) {
	for _, sp := range all {
		start, field := sp.Start, aField.MatchString(s[sp.Start:sp.End])
		for field {
			line := strings.IndexByte(s[start:sp.End], '\n')
			if line < 0 || !aField.MatchString(s[start+line+1:sp.End]) {
				break
			}
			if part, ok := text.Trim(s, start, start+line); ok {
				out = append(out, part)
			}
			start += line + 1
		}
		out = append(out, text.Span{Start: start, End: sp.End})
	}
	return out
}

// hasCells reports whether a line is a row without names for its cells: "Standard | $2,000".
func hasCells(line string) bool { return strings.Contains(line, " | ") }

// isRow reports whether a line is a row with named cells: "Plan: Standard; Deductible: $2,000".
func isRow(line string) bool { return strings.Contains(line, "; ") && namedRow.MatchString(line) }

var namedRow = lazyregexp.New(`^[^:;\s][^:;]{0,60}: [^;]*[^;\s]; [^:;\s][^:;]{0,60}: \S`)

// proseSpans returns the sentences of a text without the marks of list items.
func proseSpans(s string) []text.Span {
	all := text.Sentences(s)
	for i, sp := range all {
		r, size := utf8.DecodeRuneInString(s[sp.Start:sp.End])
		t, ok := text.Trim(s, sp.Start+size, sp.End)
		if ok && strings.ContainsRune(bullets, r) && t.Start > sp.Start+size { // not "-5" or "--flag"
			all[i] = t
		}
	}
	return all
}

const bullets = "•◦▪‣·–-*"

// isItem reports whether the sentence at start is a list item: it follows a mark, or begins with a number.
func isItem(s string, start int) bool {
	if r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:start], " \t")); strings.ContainsRune(bullets, r) {
		return true
	}
	digits := strings.TrimLeft(s[start:], "0123456789")
	return len(digits) < len(s)-start && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// kind says how a sentence can be used in an answer.
type kind uint8

const (
	statement kind = iota // can be quoted
	question              // the text after it answers it
	heading               // the text after it is about it
	label                 // too short to mean anything without the text before it
	lends                 // leads to the text after it: "The kit holds:"
	fragment              // none of these: code, contents, the rest of a sentence
)

const (
	minTokens   = 4  // shorter sentences are labels
	maxHeading  = 12 // words
	maxLineMean = 40 // bytes of a line of code, on average
)

// kindOf determines the kind of a sentence. headings are those that the document marks as such; other headings are lines without
// a full stop that are short, or in capitals. small says that a small letter at the beginning is not significant: in an item of
// a list, and in a text that is written so.
func kindOf(s string, headings []string, small bool) kind {
	words := strings.Fields(s)
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	lines := 1 + strings.Count(s, "\n")
	switch {
	case last == '?' || last == '？' || last == '؟' || questionLabel.MatchString(s):
		return question
	case strings.HasSuffix(strings.TrimRight(s, "\"'”’»)"), "?"):
		return fragment // a quoted question
	case slices.ContainsFunc(headings, func(h string) bool { return strings.EqualFold(h, s) }):
		return heading
	case last == ':' || last == '：':
		return lends
	case strings.Contains(s, "{{") || strings.Contains(s, "{%"): // of a template
		return fragment
	case strings.Contains(s, ". . .") || strings.Contains(s, "...."):
		return fragment
	case lines >= 3 && len(s) < lines*maxLineMean && !strings.Contains(s, ":\n"):
		return fragment
	case hasCells(s) && lines == 1, lines == 1 && entry.MatchString(s):
		return statement // a row: "tar | The archiver"; "git-tag - Create, list or delete a tag"
	case lines == 1 && len(words) <= maxHeading && numbered.MatchString(s) && last != '.' && last != '!':
		return heading
	case !small && unicode.IsLower(first) && len(words) > 1 && !strings.ContainsAny(words[0], "_.()=/"):
		return fragment
	case !unicode.IsPunct(last) && len(words) <= maxHeading && lines == 1 && dated.MatchString(s),
		!unicode.IsPunct(last) && unicode.IsUpper(first) && len(words) <= maxHeading && !strings.ContainsAny(s, ":;|0123456789"):
		return heading
	case len(text.Analyze(s)) < minTokens && !strings.Contains(s, ": "), // "Absent: Ruth Klein."
		len(words) == 1 && strings.Contains(s, "://"):
		return label
	}
	return statement
}

// entry matches a name with its description, as in a manual page.
var entry = lazyregexp.New(`^[\pL\p{Nd}][\pL\p{Nd}_.+()-]{1,40} [-–—] \pL.{12,}`)

// isWhole reports whether a text that begins with a small letter may still be a sentence, such as one that begins with the name
// of a program: it must end like a sentence.
func isWhole(s string) bool {
	return strings.HasSuffix(s, ".") && len(text.Analyze(s)) >= minTokens && !strings.Contains(s, "\n") && !strings.Contains(s, "...")
}

// unfinished reports whether a text ends within a sentence.
func unfinished(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(s, unicode.IsSpace))
	return unicode.IsLower(last) || last == ','
}

// numbered matches headings by the number of their section, which cannot be a decimal: "2.1.3 Fees", "2.1. Fees".
var numbered = lazyregexp.New(`^\d+(?:\.\d+){2,}\.? |^\d+\.\d+\. `)

// dated matches headings of logs: "2026-11-21: what was decided".
var dated = lazyregexp.New(`^\d{4}-\d{2}-\d{2}\b`)

// asks reports whether a piece asks a question that the text after it answers. A heading can do so without a question mark.
func asks(k kind, s string) bool {
	return k == question || k == heading && askingHeading.MatchString(bare(s))
}

var askingHeading = lazyregexp.New(`(?i)^(?:what|when|where|who|which|why|how|can|may|do|does|is|are|should|must|was|wer|wann|wo|wie|warum|welche|comment|quand|qui|que|quel\pL*|pourquoi|cómo|cuándo|quién|cuál\pL*|come|quando|chi|che|quale|quali|como|quem|qual|quais)\b|^(?i:où|qué)(?:[^\pL]|$)`)

// answerLabel matches the label of an answer: "A:", "Answer:".
var answerLabel = lazyregexp.New(`^(?i:A|R|Answer|Antwort|Réponse|Respuesta|Risposta|Resposta|答|回答)\s?[:.：]\s+`)

// questionLabel matches the label of a question, which need not have the form of one: "Q: I lost the receipt."
var questionLabel = lazyregexp.New(`^(?i:Q|Question|Frage|Pregunta|Pergunta|Domanda|问|質問)\s?[:：]\s*\S`)

// subject matches the subject of a sentence.
var subject = lazyregexp.New(`^(?:(?:The|An?|D(?:er|ie|as)|Eine?|L[ea]s?|Une?|El|L[oa]s?|Una?|Il|Gli|[OA]s?|Uma?) |L['’])?([^,;:]{1,80}?)` +
	`(?: (?:is|are|was|were|means?|refers? to|provides?|allows?|lets?|enables?|denotes?|describes?|represents?|stands? for|consists? of|ist|sind|bedeutet|bezeichnet|est|sont|désigne|consiste|signifie|es|son|significa|è|sono|é|são) |: | [-–—] |是指?|指)`)

// placing matches sentences whose first words are not what they describe: "For a Mac it is …", "This new plan is …".
var placing = lazyregexp.New(`(?i)^(?:for|in|on|at|by|with|without|from|to|of|if|when|while|as|after|before|during|until|using|like|unlike|because|since|this|that|these|those|such|another|other|some|any|each` +
	`|für|bei|mit|ohne|von|vor|nach|zu|wenn|falls|während|wegen|durch|diese[rsmn]?|pour|dans|avec|sans|chez|si|quand|pendant|cette?|ces|para|con|sin|por|cuando|per|senza|quando|questo|questa|com|sem|este|esta)\s`)

// denies matches text that begins with a denial of what something is.
var denies = lazyregexp.New(`(?i)^(?:not|never|no|nicht|keine?|pas|non)\b`)

// defines reports whether a sentence defines what is asked for: its subject consists of the question's words and hardly any
// other.
func (n need) defines(s string) bool {
	if m := subject.FindStringSubmatchIndex(s); m != nil && n.names(s[m[2]:m[3]]) && !denies.MatchString(s[m[1]:]) && !placing.MatchString(s) {
		return true
	}
	return n.spellsOut(s)
}

// names reports whether a text is made of the question's words and hardly any other.
func (n need) names(s string) bool {
	own := n.termSet(s)
	share, matched := n.held(own)
	return share >= minDefined && len(own) <= matched+1 && !n.namesAnother(s)
}

// namesAnother reports whether a name is the words of the question followed by a noun that makes it another thing: a
// "depreciation scheme" is not depreciation.
func (n need) namesAnother(s string) bool {
	words := strings.Fields(s)
	last := words[len(words)-1]
	first, _ := utf8.DecodeRuneInString(last)
	return len(words) > 1 && unicode.IsLower(first) && len(termSet(last)) > 0 && !holdsAny(n.termSet(last), n.wanted.words) && n.asks(words[len(words)-2])
}

// yesOrNo matches text that begins with yes or no.
var yesOrNo = lazyregexp.New(`(?i)^(?:yes|no|ja|nein|oui|non|sí|sì|sim|não|是的|不是|不)[,.!:;，。！]`)

// leans reports whether a sentence opens with words that refer to the one before it.
func leans(s string) bool {
	if openings.MatchString(s) || pointing.MatchString(s) || refersBack.MatchString(s) {
		return true
	}
	first, rest, _ := strings.Cut(s, " ")
	switch strings.ToLower(first) {
	case "in", "for":
		return strings.HasPrefix(rest, "th") && !strings.HasPrefix(rest, "the ") || strings.HasPrefix(rest, "addition") || strings.HasPrefix(rest, "example")
	}
	return false
}

// refersBack matches sentences that refer to the one before them after an adverb, or in a set phrase: "Currently these are …".
var refersBack = lazyregexp.New(`(?i)^(?:\pL+,? )?(?:these|those|this) (?:are|is|were|was)\b|^\pL+ (?:sind|ist|waren|war) (?:dies|das)\b|^(?:\pL+,? )?(?:il s['’]agit d|se trata de|si tratta d|trata-se d)|^es handelt sich (?:dabei |hierbei )?um\b`)

// pointing matches sentences whose object was named before: "You can find them in the folder."
var pointing = lazyregexp.New(`(?i)^(?:(?:you|we|one|users|please|then|to|and)\s)?(?:(?:can|may|must|should|will|could)\s)?(?:(?:also|then|always|never)\s)?\pL{2,}\s(?:them|these|those)\s(?:in|at|on|from|by|to|with|for|as|below|here|there)\b`)

// openings matches, in several languages, openings of sentences that depend on the sentence before them. "Il", "es" and "sie"
// are not included: they begin many sentences that stand alone.
var openings = lazyregexp.New(`(?i)^(?:(?:this|these|those|they|it|he|she|however|additionally|also|therefore|otherwise|instead` +
	`|dies|diese|dieser|dieses|dabei|dazu|damit|dafür|hierzu|hierbei|außerdem|zudem|jedoch|andernfalls|sonst|stattdessen|zum beispiel|beispielsweise` +
	`|cela|ceci|ces|ceux-ci|celui-ci|celle-ci|celles-ci|ils|elles|toutefois|cependant|sinon|en outre|de plus|par ex\pL+` +
	`|esto|estos|estas|este|esta|además|sin embargo|por ejemplo|de lo contrario|en cambio` +
	`|questo|questa|questi|queste|inoltre|tuttavia|altrimenti|per esempio|ad esempio` +
	`|isto|isso|estes|esses|essas|além disso|no entanto|caso contrário|por exemplo)(?:[\s,:]|$)` +
	`|例如|比如|此外|另外|否则|其中|这些|例えば|ただし|これ|この)`)

// mostLikely returns the units with the highest scores, at most the given number, in their order.
func mostLikely(units []unit, most int) []unit {
	if len(units) <= most {
		return units
	}
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(units[j].score, units[i].score) })
	order = order[:most]
	slices.Sort(order)
	best := make([]unit, most)
	for i, at := range order {
		best[i] = units[at]
	}
	return best
}
