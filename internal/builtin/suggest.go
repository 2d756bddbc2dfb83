package builtin

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/text"
)

const (
	maxSuggestions = 3
	maxCandidates  = 12 // candidates tried, each with a search or two
)

// Suggest returns up to three questions that the corpus answers and that were not asked yet. They are made from the headings
// near the passages of the answer, and from definitions in the text around it. Each is searched for, alone and as the next
// question of the conversation, and kept only if the answerer would answer both, and with something that the answer did not say.
func (a Answerer) Suggest(ctx context.Context, in chat.SuggestInput) ([]string, error) {
	in, a.hasty = shortened(in), true
	near, err := in.Search(ctx, in.Query, nil)
	if err != nil {
		return nil, err
	}
	asked := [][]string{topicTerms(in.Question), topicTerms(in.Query)}
	for _, q := range in.Previous {
		asked = append(asked, topicTerms(q))
	}
	history := historyOf(in)
	var questions []string
	tried := 0
	for _, q := range questionsFrom(append(slices.Clone(in.Passages), near.Passages...)) {
		terms := topicTerms(q)
		if len(terms) == 0 || slices.ContainsFunc(asked, func(a []string) bool { return sameTopic(a, terms) }) {
			continue
		}
		if tried++; tried > maxCandidates || len(questions) == maxSuggestions {
			break
		}
		quotes, err := a.answers(ctx, in, nil, q)
		ok := slices.ContainsFunc(quotes, func(s quote) bool { return !strings.Contains(in.Answer, s.said()) })
		if ok && err == nil {
			quotes, err = a.answers(ctx, in, history, q)
		}
		if err != nil {
			return nil, err
		}
		if !ok || len(quotes) == 0 {
			continue
		}
		asked = append(asked, terms)
		questions = append(questions, q)
	}
	return questions, nil
}

// shortened returns the input with only the beginnings of long questions: reading a text of 30,000 bytes again for each use here
// would cost more than the answer did.
func shortened(in chat.SuggestInput) chat.SuggestInput {
	in.Question, in.Query = beginning(in.Question), beginning(in.Query)
	in.Previous = slices.Clone(in.Previous)
	for i, q := range in.Previous {
		in.Previous[i] = beginning(q)
	}
	return in
}

// historyOf returns the conversation up to the answer, as far as it is known.
func historyOf(in chat.SuggestInput) []chat.Message {
	var history []chat.Message
	for _, q := range in.Previous {
		history = append(history, chat.TextMessage(llm.User, q))
	}
	return append(history, chat.TextMessage(llm.User, in.Question), chat.TextMessage(llm.Assistant, in.Answer))
}

// answers returns the answer to a question that follows a history. The reader is used only for a question whose words give an
// answer.
func (a Answerer) answers(ctx context.Context, in chat.SuggestInput, history []chat.Message, question string) ([]quote, error) {
	q := Rewrite(ctx, history, question)
	res, err := in.Search(ctx, q.Query, q.Context)
	if err != nil {
		return nil, err
	}
	ev := evidence(q, res)
	if history != nil {
		ev.Previous = append(slices.Clone(in.Previous), in.Question)
	}
	if quotes := choose(ev, brief); len(quotes) == 0 || !a.Reader.ReadsInEnglish(ev.Query) {
		return quotes, nil
	}
	return a.quotes(ctx, ev, brief), nil
}

// topicTerms returns the distinct terms of a question, sorted.
func topicTerms(q string) []string {
	terms := text.Terms(q)
	slices.Sort(terms)
	return slices.Compact(terms)
}

// sameTopic reports whether one of two questions asks for nothing beyond the other.
func sameTopic(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for _, t := range a {
		if _, ok := slices.BinarySearch(b, t); !ok {
			return false
		}
	}
	return len(a) > 0
}

// questionsFrom returns candidates: first those that headings answer, innermost first, then definitions, and last those that ask
// what is said about a heading.
func questionsFrom(passages []retrieval.Passage) []string {
	names, languages := namesIn(passages), languagesOf(passages)
	var questions, plainly []string
	add := func(q string, plain bool) {
		switch {
		case q == "" || slices.Contains(questions, q) || slices.Contains(plainly, q):
		case plain:
			plainly = append(plainly, q)
		default:
			questions = append(questions, q)
		}
	}
	for _, p := range passages {
		for i, h := range slices.Backward(p.Chunk.Headings) {
			if strings.EqualFold(h, p.Document.Title) {
				continue
			}
			if t, ok := tongues[languages[p.Document.Name]]; ok {
				add(t.fromHeading(h, p.Document.Title))
				continue
			}
			above := p.Document.Title
			if i > 0 && !isVague(bare(p.Chunk.Headings[i-1])) {
				above = p.Chunk.Headings[i-1]
			}
			add(fromHeading(h, above, names))
		}
	}
	for _, p := range passages {
		t, ok := tongues[languages[p.Document.Name]]
		for _, sp := range text.Sentences(p.Chunk.Text) {
			if s := p.Chunk.Text[sp.Start:sp.End]; ok {
				add(t.fromDefinition(s), false)
			} else {
				add(fromDefinition(s, names), false)
			}
		}
	}
	return append(questions, plainly...)
}

var leadingNumber = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}:?\s+|^(?:[0-9]+|[A-Z][.][0-9]+)([.)][0-9]*)*[.)]?\s+|^[•▪‣-]\s+`)

// bare returns a heading without its number and its final colon or full stop.
func bare(h string) string {
	return strings.TrimRight(strings.TrimSpace(leadingNumber.ReplaceAllString(strings.TrimSpace(h), "")), ":.")
}

// dangling matches headings whose subject is named elsewhere.
var dangling = lazyregexp.New(`\b(?:it|its|they|them|their|he|she|him|his|her)\b`)

// maxTitle is the number of words that a heading with a full stop may have; with more it is a sentence.
const maxTitle = 4

// fromHeading returns the question that a heading answers, "" for none, and whether it only asks what is said about the heading.
func fromHeading(h, above string, names map[string]bool) (question string, plain bool) {
	sentence := strings.HasSuffix(h, ".")
	h, above = bare(h), bare(above)
	words := strings.Fields(h)
	switch {
	case isVague(h) || sentence && len(words) > maxTitle:
		return "", false
	case len(words) == 0 || len(words) > 9 || utf8.RuneCountInString(h) < 4 || len(text.Terms(h)) == 0:
		return "", false
	case strings.HasSuffix(h, "?"):
		return h, false
	case !isMostlyLetters(h) || dangling.MatchString(h):
		return "", false
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(h), "how to "); ok {
		return "How do I " + keepNames(rest, h, names) + "?", false
	}
	first := strings.ToLower(words[0])
	switch {
	case asking[first]:
		h = first + h[len(words[0]):]
	case len(words) > 1 && (imperative[first] || imperativeOrNoun[first] && leadsOn[strings.ToLower(words[1])]):
		return "How do I " + inSentence(h, names) + "?", false
	default:
		h = inSentence(h, names)
	}
	rest, all := strings.CutPrefix(h, "all ")
	switch {
	case all && isPlural(rest):
		return "What are all the " + rest + "?", false
	case asking[first] && len(text.Terms(h)) > 1:
		return "Can you explain " + h + "?", false
	case !asking[first] && isProcess(h):
		return "How does " + h + " work?", false
	case len(text.Terms(h)) > 1 && isPlural(h):
		return "What are the " + strings.TrimPrefix(strings.TrimPrefix(h, "the "), "The ") + "?", false
	case !asking[first] && isValue(h):
		return "What is the " + strings.TrimPrefix(h, "the ") + "?", false
	case isTitle(above) && !strings.EqualFold(above, h):
		return "What does " + strings.TrimRight(above, "?") + " say about " + h + "?", true
	}
	return "What do the documents say about " + h + "?", true
}

// isProcess reports whether a heading in small letters names something that is done: "renewing a card", "authentication".
func isProcess(h string) bool {
	words := strings.Fields(h)
	gerund := strings.HasSuffix(words[0], "ing") && len(words[0]) > 5 && !adjectives[words[0]] && !strings.HasPrefix(words[0], "work")
	done := len(words) <= 2 && (strings.HasSuffix(h, "ation") || strings.HasSuffix(h, "ption"))
	return (gerund || done) && !slices.Contains(words, "and") && !strings.HasPrefix(h, "the ") && !slices.ContainsFunc(words, startsUpper)
}

// values are words for things with a single value, which a question can ask for: "notice period".
var values = set(`period price limit size date deadline address number amount fee cost rate age time name default password version
	capacity duration frequency threshold port licence license budget salary allowance minimum maximum`)

// isValue reports whether a heading of several words in small letters names a value.
func isValue(h string) bool {
	words := strings.Fields(h)
	return len(words) > 1 && values[words[len(words)-1]] && !slices.Contains(words, "and") && !slices.ContainsFunc(words, startsUpper)
}

// prepositions end the part of a heading that names its subject: "exit codes for scripts".
var prepositions = set("of in on at by for from with to under before after during without when if and or as between")

// adjectives end like gerunds, and precede plural nouns.
var adjectives = set("opening closing working training parking meeting building operating accounting")

// isPlural reports whether a heading in small letters names several things.
func isPlural(h string) bool {
	words := strings.Fields(h)
	end := slices.IndexFunc(words, func(w string) bool { return prepositions[strings.ToLower(w)] })
	if end < 0 {
		end = len(words)
	}
	if end == 0 || slices.Contains(words, "and") || strings.HasSuffix(words[0], "ing") && !adjectives[words[0]] || slices.ContainsFunc(words, startsUpper) {
		return false
	}
	noun := words[end-1]
	return len(noun) > 3 && strings.HasSuffix(noun, "s") && !strings.HasSuffix(noun, "ss") && !strings.HasSuffix(noun, "us") && !strings.HasSuffix(noun, "is") &&
		!strings.HasSuffix(noun, "ics")
}

// Words that begin headings which ask something, or tell the reader to do something.
var (
	asking     = set("what why when where who which how whether")
	imperative = set(`add allow apply ask choose configure connect convert create delete deploy disable edit
		enable find get give install keep let make manage migrate publish read remove replace save send
		submit uninstall verify write`)
	// Those that may as well be nouns, "Pay day" or "File formats", and words that follow the others.
	imperativeOrNoun = set(`build change check contact download export file import load move open pay print report
		request reset restore return review run search set sign start stop test turn update upgrade upload use`)
	leadsOn = set(`a an the this that these those your my our its their each every all any it them
		to with for from in into on off up out over by yourself`)
)

// keepNames returns the end of h whose small-letter form is lower.
func keepNames(lower, h string, names map[string]bool) string {
	if len(lower) <= len(h) && strings.EqualFold(h[len(h)-len(lower):], lower) {
		return inSentence(h[len(h)-len(lower):], names)
	}
	return lower
}

// inSentence returns a heading as it is written within a sentence: in small letters if it is all capitals, and without the
// capital of its first word unless that is a name or an acronym.
func inSentence(h string, names map[string]bool) string {
	if !strings.ContainsFunc(h, unicode.IsLower) && len(strings.Fields(h)) > 1 {
		return strings.ToLower(h)
	}
	words := strings.Fields(h)
	if slices.ContainsFunc(words[1:], startsUpper) || startsUpper(words[0]) && !isCapitalised(words[0]) || names[words[0]] {
		return h // a title in capitals, a name, or an acronym
	}
	r, size := utf8.DecodeRuneInString(h)
	return string(unicode.ToLower(r)) + h[size:]
}

// capitalised matches words with a capital that do not begin a sentence, and anyWord matches all words.
var (
	capitalised = lazyregexp.New(`[\pL\pN,] (\p{Lu}\p{Ll}+)`)
	anyWord     = lazyregexp.New(`\pL+`)
)

// namesIn returns the words that passages write with a capital within sentences, and nowhere without one.
func namesIn(passages []retrieval.Passage) map[string]bool {
	names := make(map[string]bool)
	for _, p := range passages {
		for _, m := range capitalised.FindAllStringSubmatch(p.Chunk.Text, -1) {
			names[m[1]] = true
		}
	}
	for _, p := range passages {
		for _, w := range anyWord.FindAllString(p.Chunk.Text, -1) {
			if r, size := utf8.DecodeRuneInString(w); unicode.IsLower(r) {
				delete(names, string(unicode.ToUpper(r))+w[size:])
			}
		}
	}
	return names
}

func isMostlyLetters(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	return letters*5 >= utf8.RuneCountInString(s)*4
}

// defined matches "Coinsurance is a …", "An Out-of-Network Provider is a …", "Deductibles are the …".
var defined = lazyregexp.New(`^(The |An? )?(\pL[\pL-]*(?: [\pL-]+){0,3}) (is|are|refers to) ((?:an?|the|any|when|what) )`)

// placed matches predicates that say how something is or where it is, not what it is: "Second class is the rule."
var placed = lazyregexp.New(`^(?:the|an?) (?:rule|exception|same|only|main|reason|case|problem|question` +
	`|best|better|worst|most|good|bad|great|must|little|lot|few)\b`)

func fromDefinition(s string, names map[string]bool) string {
	m := defined.FindStringSubmatch(s)
	if m == nil || placed.MatchString(m[4]+s[len(m[0]):]) || len(text.Terms(m[2])) == 0 || !startsUpper(m[2]) && !strings.HasPrefix(m[1], "A") {
		return "" // "The following are the …"
	}
	first, _, _ := strings.Cut(m[2], " ")
	if len(text.Terms(first)) == 0 { // "This plan is", "It is"
		return ""
	}
	verb := "is"
	if m[3] == "are" {
		verb = "are"
	}
	return "What " + verb + " " + strings.ToLower(m[1]) + inSentence(m[2], names) + "?"
}

// evidence converts the result of a search for the answerer. Citations do not matter here.
func evidence(q chat.QueryRewritten, res retrieval.Result) *llm.Evidence {
	ev := &llm.Evidence{Question: q.Original, Query: q.Query}
	for _, t := range res.Terms {
		ev.Terms = append(ev.Terms, llm.Term(t))
	}
	for _, p := range res.Passages {
		ev.Passages = append(ev.Passages, llm.Passage{
			Text: p.Chunk.Text, Score: p.Rank, Title: p.Document.Title, Headings: p.Chunk.Headings,
			Marks: []llm.Mark{{Citation: p.Document.Name}},
		})
	}
	return ev
}

func startsUpper(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// isCapitalised reports whether only the first letter of w is a capital.
func isCapitalised(w string) bool {
	_, size := utf8.DecodeRuneInString(w)
	return startsUpper(w) && !strings.ContainsFunc(w[size:], unicode.IsUpper)
}
