// Package builtin holds the parts of Parley that work without a model: it rewrites follow-up questions, answers by quoting, and
// suggests further questions. All of it is deterministic.
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

// The weight of a word of an earlier turn in the search, relative to a word of the question, and
// how much of it is left for each turn further back. Full weight (which is what putting the
// history before the question amounts to) is worse than no history; see docs/decisions.md.
const (
	userWeight   = 0.45
	answerWeight = 0.15
	turnDecay    = 0.7
)

// minConfidence is the confidence from which a rewritten question takes the place of the original
// in the search.
const minConfidence = 0.65

// Rewrite turns the last question of a conversation into a standalone one by rules: it puts the topic of the previous question
// in the place of a pronoun, or after a question that is too short to stand alone. In any case the words of the history are
// returned as context, with weights that fall with distance. Confidence is 0.9 if a name was put in, 0.7 for any other topic,
// and 0.5 for a topic added to an elliptic question. That is not enough: the question then stays, and only the context is used.
func Rewrite(_ context.Context, history []chat.Message, question string) chat.QueryRewritten {
	q := chat.QueryRewritten{Original: question, Query: question, Reason: "no history"}
	if len(history) == 0 {
		return q
	}
	q.Context = contextTerms(history)
	topic, named := "", false
	for _, m := range history {
		if m.Role != llm.User {
			continue
		}
		// The topic of a question that continues the one before is that of its rewritten form.
		standalone, _, _ := resolve(beginning(m.Text()), topic, named)
		if t, n := topicOf(standalone); t != "" {
			topic, named = t, n
		}
	}
	candidate, confidence, reason := resolve(question, topic, named)
	q.Confidence, q.Reason = confidence, reason
	switch {
	case candidate == question:
	case confidence >= minConfidence:
		q.Query, q.Rewritten = candidate, true
	default:
		q.Candidate = candidate
	}
	return q
}

// contextTerms returns the words of the history with their weights.
func contextTerms(history []chat.Message) []retrieval.WeightedTerm {
	weight := map[llm.Role]float64{llm.User: userWeight, llm.Assistant: answerWeight}
	at := make(map[string]int)
	var terms []retrieval.WeightedTerm
	for i := len(history) - 1; i >= 0 && len(terms) < maxContextWords; i-- {
		m := history[i]
		w, ok := weight[m.Role]
		if !ok {
			continue
		}
		weight[m.Role] *= turnDecay
		s := uncite(beginning(m.Text()))
		if m.Role == llm.Assistant && text.IsRefusal(s) {
			continue // its words are not the subject of the conversation
		}
		for _, tok := range text.Analyze(s) {
			if tok.Stop {
				continue
			}
			if j, ok := at[tok.Term]; ok {
				terms[j].Weight = max(terms[j].Weight, w)
				continue
			}
			at[tok.Term] = len(terms)
			terms = append(terms, retrieval.WeightedTerm{Word: s[tok.Start:tok.End], Weight: w})
		}
	}
	return terms
}

// maxHistory is the number of bytes of a message of the history that are read for its subject. Longer messages were pasted, and
// name their subject at the beginning.
const maxHistory = 4 << 10

// beginning returns the first maxHistory bytes of a message.
func beginning(s string) string {
	if len(s) <= maxHistory {
		return s
	}
	cut := maxHistory
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// maxContextWords bounds the words taken from a history; the search keeps the strongest of them.
const maxContextWords = 400

var citation = lazyregexp.New(`\[[^\[\]\n]{1,300}\]`)

// uncite removes citations: the names of files are not what a conversation is about.
func uncite(s string) string { return citation.ReplaceAllString(s, " ") }

// Pronouns that stand for the topic of the conversation, and the words before which they do not.
var (
	possessive = set("its their his her")
	personal   = set("it they them he she him her this that these those")
	openers    = []string{"what about", "how about", "and ", "but ", "or ", "also", "what else", "anything else", "why", "how so", "for example", "such as", "tell me more", "more "}
)

// resolve returns the standalone form of a question given the topic of those before it.
func resolve(question, topic string, named bool) (query string, confidence float64, reason string) {
	if topic == "" {
		return question, 0, "the history names no topic"
	}
	own := termSet(question)
	for _, w := range text.Terms(topic) {
		if !own[w] {
			return substitute(question, topic, named)
		}
	}
	return question, 0, "the question names its topic"
}

func substitute(question, topic string, named bool) (string, float64, string) {
	confidence := 0.7
	if named {
		confidence = 0.9
	}
	words := wordSpans(question)
	shouting := strings.ToUpper(question) == question
	own := 0 // words before the pronoun that it may stand for instead
	for i, w := range words {
		word := strings.ToLower(question[w.Start:w.End])
		switch {
		case own > 1 || !shouting && !isPronoun(question, words, i):
		case possessive[word] && (word != "her" || !standsLast(question, words, i)):
			return question[:w.Start] + topic + "'s" + question[w.End:], confidence, "the topic stands for " + quoted(word)
		case personal[word] && standsAlone(question, words, i):
			return question[:w.Start] + topic + question[w.End:], confidence, "the topic stands for " + quoted(word)
		}
		own += len(text.Terms(word))
	}
	if isElliptic(question) {
		return strings.TrimRight(question, " ?!.") + " (" + topic + ")?", 0.5, "the question is too short to stand alone"
	}
	return question, 0, "the question stands alone"
}

func quoted(w string) string { return "“" + w + "”" }

// isPronoun reports whether the word at words[i], which may look like a pronoun, can be one. It cannot if it is written as a
// name or an acronym ("the IT department", "die These"), or begins a question without any other English word ("¿He pagado la
// factura?").
func isPronoun(s string, words []text.Span, i int) bool {
	if i > 0 {
		return !startsUpper(s[words[i].Start:words[i].End])
	}
	return len(words) == 1 || slices.ContainsFunc(text.Analyze(s[words[i].End:]), func(t text.Token) bool { return t.Stop })
}

// standsLast reports whether the word at words[i] has no noun after it that it could belong to.
func standsLast(s string, words []text.Span, i int) bool {
	next := wordAt(s, words, i+1)
	return next == "" || auxiliary[next] || preposition[next]
}

// wordAt returns a word in small letters, "" outside of words.
func wordAt(s string, words []text.Span, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return strings.ToLower(s[words[i].Start:words[i].End])
}

// standsAlone reports whether the pronoun at words[i] is a noun phrase of its own: "this" in
// "what does this mean", but not in "this plan", nor "that" in "plans that cover", nor the empty
// "it" of "is it possible to".
func standsAlone(s string, words []text.Span, i int) bool {
	prev, next := wordAt(s, words, i-1), wordAt(s, words, i+1)
	switch wordAt(s, words, i) {
	case "it":
		if next == "is" || next == "was" || next == "be" {
			next = wordAt(s, words, i+2)
		}
		return !empty[next]
	case "her", "this", "these", "those":
		return standsLast(s, words, i)
	case "that":
		if prev != "" && !auxiliary[prev] && !preposition[prev] {
			return false // a conjunction or a relative pronoun
		}
		return standsLast(s, words, i)
	}
	return true
}

func set(s string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var (
	auxiliary   = set("is are was were be do does did has have had can could will would should may might must mean means work works cost costs cover covers include includes apply applies happen affect")
	empty       = set("possible true necessary important better ok okay worth take takes seems rains matter that s") // words before which "it" stands for nothing
	preposition = set("of in on at by for with from to about into as and or if when")
)

// isElliptic reports whether a question depends on the one before it: it opens like a continuation, or has hardly any words of
// its own and does not ask for the meaning of a word.
func isElliptic(q string) bool {
	lower := strings.ToLower(strings.TrimSpace(q))
	content := len(text.Terms(q))
	for _, o := range openers {
		if strings.HasPrefix(lower, o) && content <= 3 {
			return true
		}
	}
	return content == 0 || content == 1 && !definition.MatchString(lower)
}

var definition = lazyregexp.New(`^(what|who)('s| is| are| was| were) (an? )?[^ ]+ *[?.!]*$`)

// wordSpans returns the words of s as written.
func wordSpans(s string) []text.Span {
	var spans []text.Span
	start := -1
	for i, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			if start < 0 {
				start = i
			}
		} else if start >= 0 && !strings.ContainsRune("-'’", r) {
			spans = append(spans, text.Span{Start: start, End: i})
			start = -1
		}
	}
	if start >= 0 {
		spans = append(spans, text.Span{Start: start, End: len(s)})
	}
	return spans
}

// topicOf returns the topic of a question: its longest name, that is, a run of capitalised words within the sentence; else its
// longest run of words that carry meaning. Of equally long ones it returns the last, since English puts new information last.
func topicOf(question string) (topic string, named bool) {
	q := uncite(question)
	words := wordSpans(q)
	if t := longestRun(q, words, isName); t != "" {
		return t, true
	}
	return longestRun(q, words, func(w string, _ int) bool { return len(text.Terms(w)) > 0 }), false
}

// isName reports whether the i-th word of a question is part of a name. A capital does not show that for the first word.
func isName(w string, i int) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return i > 0 && unicode.IsUpper(r) && len(text.Terms(w)) > 0
}

// maxTopic bounds a topic in words: a longer one is not a name but a text.
const maxTopic = 12

// longestRun returns the longest run of words, up to maxTopic, for which in returns true and which only spaces separate, with
// the article before it. Of equally long ones it returns the last.
func longestRun(s string, words []text.Span, in func(w string, i int) bool) string {
	best, bestWords := text.Span{}, 0
	for i := 0; i < len(words); i++ {
		j := i
		for j < min(len(words), i+maxTopic) && in(s[words[j].Start:words[j].End], j) &&
			(j == i || strings.TrimSpace(s[words[j-1].End:words[j].Start]) == "") {
			j++
		}
		if j > i && j-i >= bestWords {
			bestWords = j - i
			best = text.Span{Start: words[i].Start, End: words[j-1].End}
			if i > 0 && strings.EqualFold(s[words[i-1].Start:words[i-1].End], "the") {
				best.Start = words[i-1].Start
			}
		}
		i = max(i, j-1)
	}
	return s[best.Start:best.End]
}
