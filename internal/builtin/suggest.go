package builtin

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/text"
)

const (
	maxSuggestions = 3
	maxCandidates  = 12 // candidates tried, each with a search or two
)

// Suggest returns up to three questions that the corpus answers and that were not asked yet.
// They are made of the headings near the passages of the answer and of what the text around it
// defines; each is searched for, alone and as the next question of the conversation, and kept only
// if the answerer would answer both.
func Suggest(ctx context.Context, in chat.SuggestInput) ([]string, error) {
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
		ok, err := answers(ctx, in, nil, q)
		if ok && err == nil {
			ok, err = answers(ctx, in, history, q)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		asked = append(asked, terms)
		questions = append(questions, q)
	}
	return questions, nil
}

// historyOf returns the conversation up to the answer, as far as it is known.
func historyOf(in chat.SuggestInput) []chat.Message {
	var history []chat.Message
	for _, q := range in.Previous {
		history = append(history, chat.TextMessage(llm.User, q))
	}
	return append(history, chat.TextMessage(llm.User, in.Question), chat.TextMessage(llm.Assistant, in.Answer))
}

// answers reports whether the answerer would answer a question behind a history.
func answers(ctx context.Context, in chat.SuggestInput, history []chat.Message, question string) (bool, error) {
	q := Rewrite(ctx, history, question)
	res, err := in.Search(ctx, q.Query, q.Context)
	if err != nil {
		return false, err
	}
	return len(choose(evidence(q, res), brief)) > 0, nil
}

// topicTerms returns the distinct terms of a question, sorted.
func topicTerms(q string) []string {
	terms := text.Terms(q)
	slices.Sort(terms)
	return slices.Compact(terms)
}

// sameTopic reports whether one question asks for nothing that the other does not.
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

// questionsFrom returns candidates: first from headings, innermost first, then from definitions.
func questionsFrom(passages []retrieval.Passage) []string {
	var questions []string
	add := func(q string) {
		if q != "" && !slices.Contains(questions, q) {
			questions = append(questions, q)
		}
	}
	for _, p := range passages {
		for i, h := range slices.Backward(p.Chunk.Headings) {
			if strings.EqualFold(h, p.Document.Title) {
				continue
			}
			above := p.Document.Title
			if i > 0 {
				above = p.Chunk.Headings[i-1]
			}
			add(fromHeading(h, above))
		}
	}
	for _, p := range passages {
		for _, sp := range text.Sentences(p.Chunk.Text) {
			add(fromDefinition(p.Chunk.Text[sp.Start:sp.End]))
		}
	}
	return questions
}

var leadingNumber = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}:?\s+|^[0-9]+([.)][0-9]*)*[.)]?\s+|^[•▪‣-]\s+`)

// dangling finds headings that say of whom they speak elsewhere.
var dangling = regexp.MustCompile(`\b(?:it|its|they|them|their|he|she|him|his|her)\b`)

// fromHeading returns the question that a heading answers, "" when it makes none. A heading of one
// word, such as "Exceptions", says too little without the one above it.
func fromHeading(h, above string) string {
	h = strings.TrimRight(strings.TrimSpace(leadingNumber.ReplaceAllString(h, "")), ":.")
	words := strings.Fields(h)
	switch {
	case len(words) == 0 || len(words) > 9 || utf8.RuneCountInString(h) < 4 || len(text.Terms(h)) == 0:
		return ""
	case strings.HasSuffix(h, "?"):
		return h
	case !isMostlyLetters(h) || dangling.MatchString(h):
		return ""
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(h), "how to "); ok {
		return "How do I " + keepNames(rest, h) + "?"
	}
	first := strings.ToLower(words[0])
	switch {
	case asking[first]:
		return "Can you explain " + first + h[len(words[0]):] + "?"
	case imperative[first] && len(words) > 1:
		return "How do I " + inSentence(h) + "?"
	}
	if len(text.Terms(h)) == 1 && len(text.Terms(above)) > 0 {
		return "What does " + strings.TrimRight(above, ":.?") + " say about " + inSentence(h) + "?"
	}
	return "What should I know about " + inSentence(h) + "?"
}

// Words with which headings begin that ask, or that tell to do something.
var (
	asking     = set("what why when where who which how whether")
	imperative = set(`add allow apply ask build change check choose configure connect contact convert create
		delete deploy disable download edit enable export file find get give import install keep let
		load make manage migrate move open pay print publish read remove replace report request
		reset restore return review run save search send set sign start stop submit test turn
		uninstall update upgrade upload use verify write`)
)

// keepNames returns the end of h, which lower is in small letters, as h has it.
func keepNames(lower, h string) string {
	if len(lower) <= len(h) && strings.EqualFold(h[len(h)-len(lower):], lower) {
		return inSentence(h[len(h)-len(lower):])
	}
	return lower
}

// inSentence returns a heading as it stands within a sentence: in small letters when it is all
// capitals, and without the capital of its first word unless that is a name or an acronym.
func inSentence(h string) string {
	if !strings.ContainsFunc(h, unicode.IsLower) && len(strings.Fields(h)) > 1 {
		return strings.ToLower(h)
	}
	words := strings.Fields(h)
	if slices.ContainsFunc(words[1:], startsUpper) || startsUpper(words[0]) && !isCapitalised(words[0]) {
		return h // a title in capitals, a name, or an acronym
	}
	r, size := utf8.DecodeRuneInString(h)
	return string(unicode.ToLower(r)) + h[size:]
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

// defined finds "Coinsurance is a …", "An Out-of-Network Provider is a …", "Deductibles are the …".
var defined = regexp.MustCompile(`^(The |An? )?(\pL[\pL-]*(?: [\pL-]+){0,3}) (is|are|refers to) (?:an?|the|any|when|what) `)

func fromDefinition(s string) string {
	m := defined.FindStringSubmatch(s)
	if m == nil || len(text.Terms(m[2])) == 0 || !startsUpper(m[2]) && !strings.HasPrefix(m[1], "A") {
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
	return "What " + verb + " " + strings.ToLower(m[1]) + inSentence(m[2]) + "?"
}

// evidence returns what a search found as the answerer takes it. Citations do not matter here.
func evidence(q chat.QueryRewritten, res retrieval.Result) *llm.Evidence {
	ev := &llm.Evidence{Question: q.Original, Query: q.Query}
	for _, t := range res.Terms {
		ev.Terms = append(ev.Terms, llm.Term(t))
	}
	for _, p := range res.Passages {
		ev.Passages = append(ev.Passages, llm.Passage{
			Text: p.Chunk.Text, Score: p.Score, Title: p.Document.Title, Headings: p.Chunk.Headings,
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
