package team

import (
	"fmt"
	"regexp"
	"strings"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// Limits of what is said to be wrong with an answer.
const (
	maxProblems = 10
	maxQuoted   = 120 // characters of a claim
)

// Where a claim shares less than minShared of its terms with the passages that it cites, and has
// at least minTerms of them, it is not theirs. An answer in another language than the sources
// shares nothing anywhere, and is not judged by its words.
const (
	minShared = 0.2
	minTerms  = 5
)

var (
	bracketed = regexp.MustCompile(`\[([^\[\]\n]{1,250})\]`)
	listMark  = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s+`)
	number    = regexp.MustCompile(`\d+(?:[.,'’\x{a0}\x{202f}]\d+)*`)
)

// claim is a statement of an answer with the passages that it cites.
type claim struct {
	text   string
	labels []string
	held   string // the passages' texts
}

// check returns what is wrong with the citations of an answer, in sentences; nothing where all is
// well. It is a rule of thumb: a label must be a source's, the numbers of a statement must stand
// in what it cites, and some of its words too.
func check(question string, s said) (problems []string) {
	for _, label := range s.message.Unsupported {
		problems = append(problems, fmt.Sprintf("[%s] is not among the sources.", label))
	}
	claims := claimsOf(s)
	shares := make([]float64, len(claims))
	best := 0.0
	for i, c := range claims {
		shares[i] = shared(c)
		best = max(best, shares[i])
	}
	for i, c := range claims {
		missing := strange(c, question)
		switch {
		case len(missing) > 0:
			problems = append(problems, fmt.Sprintf("[%s] does not say %s: %q.",
				strings.Join(c.labels, "], ["), strings.Join(missing, ", "), clip(c.text)))
		case shares[i] < minShared && best >= minShared:
			problems = append(problems, fmt.Sprintf("[%s] does not say this: %q.",
				strings.Join(c.labels, "], ["), clip(c.text)))
		}
	}
	if len(problems) > maxProblems {
		problems = problems[:maxProblems]
	}
	return problems
}

// claimsOf takes an answer apart: the claim of a mark is the sentence before it, and marks that
// stand side by side share theirs.
func claimsOf(s said) []claim {
	cited := make(map[string]*chat.Citation, len(s.message.Citations))
	for i := range s.message.Citations {
		cited[s.message.Citations[i].Label] = &s.message.Citations[i]
	}
	var claims []claim
	for line := range strings.Lines(s.message.Text) {
		claims = append(claims, claimsOfLine(line, cited, s.passages)...)
	}
	return claims
}

func claimsOfLine(line string, cited map[string]*chat.Citation, passages []retrieval.Passage) (claims []claim) {
	from := 0
	for _, m := range bracketed.FindAllStringSubmatchIndex(line, -1) {
		var labels []string
		var held strings.Builder
		for label := range strings.FieldsFuncSeq(line[m[2]:m[3]], func(r rune) bool { return r == ',' || r == ';' }) {
			label = strings.TrimSpace(label)
			if c, ok := cited[label]; ok && c.Passage < len(passages) {
				p := &passages[c.Passage]
				labels = append(labels, label)
				held.WriteString(p.Document.Title + "\n" + p.Document.Name + "\n" +
					strings.Join(p.Chunk.Headings, "\n") + "\n" + p.Chunk.Text + "\n")
			}
		}
		if len(labels) == 0 {
			continue
		}
		said := lastSentence(line[from:m[0]])
		from = m[1]
		if last := len(claims) - 1; said == "" && last >= 0 {
			claims[last].labels = append(claims[last].labels, labels...)
			claims[last].held += held.String()
		} else if said != "" {
			claims = append(claims, claim{text: said, labels: labels, held: held.String()})
		}
	}
	return claims
}

// lastSentence returns the last sentence of a text that has words, without the mark of a list.
func lastSentence(s string) string {
	s = strings.TrimLeft(listMark.ReplaceAllString(s, ""), ".,;:!?) ")
	last := ""
	for _, sp := range text.Sentences(s) {
		if sentence := s[sp.Start:sp.End]; len(text.Terms(sentence)) > 0 {
			last = sentence
		}
	}
	return last
}

// strange returns the numbers of a claim that stand neither in what it cites nor in the question.
func strange(c claim, question string) (missing []string) {
	known := map[string]bool{}
	for _, n := range number.FindAllString(c.held+"\n"+question, -1) {
		known[digits(n)] = true
		for part := range strings.FieldsFuncSeq(n, func(r rune) bool { return r < '0' || r > '9' }) {
			known[part] = true
		}
	}
	for _, n := range number.FindAllString(c.text, -1) {
		if !known[digits(n)] {
			missing = append(missing, n)
		}
	}
	return missing
}

// digits strips what separates the digits of a number, which differs between languages.
func digits(n string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, n)
}

// shared returns the share of a claim's terms that what it cites holds, 1 where it has few.
func shared(c claim) float64 {
	terms := map[string]bool{}
	for _, t := range text.Terms(c.text) {
		terms[t] = true
	}
	if len(terms) < minTerms {
		return 1
	}
	held := map[string]bool{}
	for _, t := range text.Terms(c.held) {
		held[t] = true
	}
	n := 0
	for t := range terms {
		if held[t] {
			n++
		}
	}
	return float64(n) / float64(len(terms))
}

func clip(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		return string(r[:maxQuoted-1]) + "…"
	}
	return s
}
