package eval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// Verdict is the judgement of an answer.
type Verdict string

// The verdicts. Good answers are Right or RightlyRefused.
const (
	Right          Verdict = "right"           // all facts and no trap
	Partly         Verdict = "partly"          // some facts, or all of them beside a trap
	Wrong          Verdict = "wrong"           // no fact
	WronglyRefused Verdict = "wrongly-refused" // the documents hold an answer
	RightlyRefused Verdict = "rightly-refused" // they hold none
	Invented       Verdict = "invented"        // answered although they hold none
)

var verdicts = []Verdict{Right, Partly, Wrong, WronglyRefused, RightlyRefused, Invented}

func (v Verdict) good() bool { return v == Right || v == RightlyRefused }

// Judgement is one answer with its verdict.
type Judgement struct {
	*FactQuestion
	Corpus      string
	Answer      string
	Verdict     Verdict
	Misleading  bool   // it matches a trap, or was invented
	Superfluous int    // sentences without a fact, in answers with at least one
	Cites       string // "page" when a gold page is cited, else "document" or "other"; "-" without citations
}

func judge(corpus string, q *FactQuestion, answer string, labels []string) Judgement {
	j := Judgement{FactQuestion: q, Corpus: corpus, Answer: answer, Cites: cites(q.Gold, labels)}
	pieces := quoted(answer, labels)
	said := flat(strings.Join(pieces, " "))
	found := 0
	for _, f := range q.Facts {
		if f.in(said) {
			found++
		}
	}
	trapped := slices.ContainsFunc(q.Not, func(p pattern) bool { return p.in(said) })
	switch refused := len(labels) == 0 || text.IsRefusal(said); {
	case refused && q.answerable():
		j.Verdict = WronglyRefused
	case refused:
		j.Verdict = RightlyRefused
	case !q.answerable():
		j.Verdict, j.Misleading = Invented, true
	case found == 0:
		j.Verdict, j.Misleading = Wrong, trapped
	case found < len(q.Facts) || trapped:
		j.Verdict, j.Misleading = Partly, trapped
	default:
		j.Verdict = Right
	}
	if j.Verdict == Right || j.Verdict == Partly {
		j.Superfluous = superfluous(pieces, q.Facts)
	}
	return j
}

// cites says how near to the gold pages the citations are.
func cites(gold, labels []string) string {
	same := func(g, label string) bool { return documentOf(g) == documentOf(label) }
	switch {
	case len(labels) == 0:
		return "-"
	case share(gold, labels, 0) > 0:
		return "page"
	}
	for _, g := range gold {
		if slices.ContainsFunc(labels, func(l string) bool { return same(g, l) }) {
			// A gold document without pages is cited wherever it is cited.
			if g == documentOf(g) {
				return "page"
			}
			return "document"
		}
	}
	return "other"
}

// flat returns s on one line, with single spaces.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// quoted returns the pieces of an answer between its citations, in one spelling of quotes and dashes.
func quoted(answer string, labels []string) (pieces []string) {
	for _, l := range labels {
		answer = strings.ReplaceAll(answer, "["+l+"]", "\x00")
	}
	for piece := range strings.SplitSeq(spellings.Replace(norm.NFKC.String(answer)), "\x00") {
		if strings.TrimSpace(strings.Trim(piece, ".")) != "" {
			pieces = append(pieces, piece)
		}
	}
	return pieces
}

var spellings = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "–", "-", "—", "-",
	"‐", "-", "‑", "-", "−", "-", "\u00ad", "", "**", "", "`", "")

// superfluous counts the sentences of an answer that match no fact. A list counts as one sentence,
// together with what introduces it.
func superfluous(pieces []string, facts []pattern) (n int) {
	var all []string
	item := false // whether the last sentence is an item of a list
	for _, piece := range pieces {
		for i, sp := range text.Sentences(piece) {
			sentence := flat(piece[sp.Start:sp.End])
			was := item
			item = listItem.MatchString(sentence)
			if last := len(all) - 1; item && last >= 0 && (was || i > 0 || strings.HasSuffix(all[last], ":")) {
				all[last] += " " + sentence
				continue
			}
			all = append(all, sentence)
		}
	}
	for _, sentence := range all {
		if !slices.ContainsFunc(facts, func(f pattern) bool { return f.in(sentence) }) {
			n++
		}
	}
	return n
}

var listItem = lazyregexp.New(`^([-*•·|]|\(?\d{1,2}[.)]|\(?[a-z]\))\s`)

// pattern is a regular expression that ignores case. Where a match begins or ends with a letter or a
// digit it must not stand within a longer word or number: "25" is neither in "125" nor in "25.5".
type pattern struct{ *regexp.Regexp }

// UnmarshalJSON compiles a pattern.
func (p *pattern) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	re, err := regexp.Compile("(?i)" + s)
	if err != nil {
		return fmt.Errorf("compile a fact: %w", err)
	}
	*p = pattern{re}
	return nil
}

// in reports whether the pattern matches somewhere in s.
func (p pattern) in(s string) bool {
	for from := 0; from <= len(s); {
		at := p.FindStringIndex(s[from:])
		if at == nil {
			return false
		}
		start, end := from+at[0], from+at[1]
		if end > start && !joined(s[:start], s[start:]) && !joined(s[:end], s[end:]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		from = start + max(size, 1)
	}
	return false
}

var (
	decimalBefore = lazyregexp.New(`\d[.,]$`)
	decimalBehind = lazyregexp.New(`^[.,]\d`)
)

// joined reports whether a word or a number continues across the border between two pieces.
func joined(before, behind string) bool {
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(behind)
	switch {
	case spaced(a) && spaced(b), unicode.IsDigit(a) && unicode.IsDigit(b):
		return true
	case unicode.IsDigit(b):
		return decimalBefore.MatchString(before)
	}
	return unicode.IsDigit(a) && decimalBehind.MatchString(behind)
}

// spaced reports whether r belongs to the words of a script that puts spaces between them.
func spaced(r rune) bool {
	return r == '_' || unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
