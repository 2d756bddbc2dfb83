package builtin

import (
	"slices"
	"strings"
	"unicode"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// A cell answers a question if the name of its row and the question agree well enough.
const (
	minAsking  = 0.6  // share of the question's words that row and column hold
	minNamed   = 0.5  // share of the words of the row's name that the question has
	minAgree   = 0.62 // harmonic mean of the two
	minAhead   = 0.04 // by which a row must agree better than every other row
	maxCell    = 60   // bytes of a cell
	maxCaption = 120  // bytes of a line above a table that is about it; longer lines are prose
	maxAbove   = 400  // bytes of all such lines; the first ones are about something else
)

var (
	// asksValue matches questions for the value of something.
	asksValue = lazyregexp.New(`(?i)\b(?:what(?:['’]s| is| was| are| were| does| did)|how (?:much|many|high|large|big|long|old|tall|heavy|far|fast)|wie ?(?:viele?|hoch|groß|lange?|schwer|alt|weit)|was (?:ist|sind|war|waren|kostet|kosten)|wie lautete?|combien|quel(?:le)?s? (?:est|sont|était|étaient|a été)|cuánt[oa]s?|cuál(?:es)? (?:es|son|fue|fueron|era)|qual[ei]? (?:è|é|sono|era|erano|foi|foram|são)|quant[oiae]s?)(?:[^\pL]|$)|多少|几|是什么|是几`)
	// inUnits matches the words above a table that give the unit of its numbers: "amounts in thousands".
	inUnits = lazyregexp.New(`(?i)(?:\b(?:amounts?|dollars|euros?|usd|eur|gbp|chf|shares|beträge|angaben|montants?|importi|valores) |[$€£¥] )?\b(?:in|en|em) (?:(?:us)?[$€£¥] ?|(?:usd|eur|gbp|chf) ?)?(?:thousands|millions|billions|tausend|mio\.?|mrd\.?|millionen|milliarden|milliers|milliards|miles|millones|migliaia|milioni|milhares|milhões|t€)(?: (?:(?:of|de|di) )?(?:u\.?s\.? )?(?:dollars|euros?|[$€£¥]|usd|eur|gbp|chf))?`)
	// filler matches words that say only that a value is asked for, or that it is for the end of a period.
	filler   = lazyregexp.New(`(?i)\b(?:total )?(?:amount|value|number) of\b|\b(?:at|by|as of) (?:the )?end of\b|\byear[- ]end\b|\bend of (?:the )?(?:fiscal )?year\b|\b(?:gesamt)?(?:betrag|wert|summe) (?:de[rs]|von)\b|\b(?:am|zum) ende\b|\bmontant (?:total )?d|\b(?:fin|final) de\b|\b(?:importe|valor|montante|importo) (?:total[e]? )?d`)
	asides   = lazyregexp.New(`^ *\([^()]*\)`) // an aside before the name of the first column: "(in millions) 2021"
	someYear = lazyregexp.New(`(?:^|[^\pL\d]|(?i:fy))((?:19|20)\d\d)(?:[^\pL\d]|$)`)
)

// lookedUp answers a question for one value with a cell of a table: the one in the row whose name the question uses, and in the
// column that it names. Each word of the question must belong to the row, to the column or to the table.
func lookedUp(ev *llm.Evidence) (c computed, ok bool) {
	if ev == nil || decides.MatchString(ev.Query) || asksTime.MatchString(ev.Query) || !asksValue.MatchString(ev.Query) {
		return c, false
	}
	n := needOf(ev.Terms)
	years := yearsIn(ev.Query)
	if n.total == 0 || len(years) > 1 {
		return c, false
	}
	l := lookup{need: n.essence(), year: strings.Join(years, ""), filler: termSet(strings.Join(slices.Concat(filler.FindAllString(ev.Query, -1), asksValue.FindAllString(ev.Query, -1)), " "))}
	forged := forgeriesOf(ev)
	best := 0.0
	for i := range ev.Passages {
		p := &ev.Passages[i]
		if agree, q := l.in(p); agree >= max(minAgree, best+minAhead) && !forged.in(p.Text) {
			best, c, ok = agree, computed{[]quote{q}, []int{i}}, true
		}
	}
	return c, ok
}

// yearsIn returns the years that a text names, each once.
func yearsIn(s string) (years []string) {
	for _, m := range someYear.FindAllStringSubmatch(s, -1) {
		if !slices.Contains(years, m[1]) {
			years = append(years, m[1])
		}
	}
	return years
}

// lookup is a question for a value.
type lookup struct {
	need
	year   string          // "" for none
	filler map[string]bool // terms that a row need not have
}

// lined is a table of a passage, with a header above its rows, as far as it has been read.
type lined struct {
	document map[string]bool // terms of its name and title
	headings map[string]bool // terms of the headings above the passage
	above    string          // the lines above the first row
	header   []string        // names of the columns
	rows     int             // below the header
	group    string          // the line without cells above a row: "Cost of revenue:"
	about    map[string]bool // terms of the headings and of the lines above
}

// in returns how well the best row of a passage matches the question, and a quote of its cell; 0 if no row answers.
func (l *lookup) in(p *llm.Passage) (best float64, q quote) {
	t := lined{document: l.termSet(documentAt(p) + "\n" + p.Title), headings: l.termSet(strings.Join(p.Headings, "\n"))}
	t.end()
	second, apart := 0.0, true // apart: the line before has no cells
	for start := 0; start < len(p.Text); {
		line, _, _ := strings.Cut(p.Text[start:], "\n")
		cells := strings.Split(line, " | ")
		names, years := isHeader(cells)
		switch {
		case len(cells) == 1 && len(line) > maxCaption:
			t.end()
		case len(cells) == 1:
			if t.group = strings.TrimSpace(line); t.rows == 0 {
				t.say(line)
			}
		case names && (apart || t.header == nil || t.rows == 0 && years && len(yearsIn(strings.Join(t.header, " "))) == 0):
			if t.rows > 0 { // another table begins, below its title
				t.above = "\n" + t.group
			}
			t.header, t.group, t.rows = cells, "", 0
			t.say(line)
		case t.header != nil && strings.ContainsFunc(cells[0], unicode.IsLetter):
			if t.rows++; t.rows == 1 {
				t.about = union(t.headings, l.termSet(t.above))
			}
			agree, column := l.agrees(&t, cells)
			if agree > best {
				best, second = agree, best
				q = quote{text: t.told(cells, column), citation: p.CitationAt(start)}
			} else {
				second = max(second, agree)
			}
		}
		apart = len(cells) == 1
		start += len(line) + 1
	}
	if best < second+minAhead {
		return 0, q
	}
	return best, q
}

// end drops the table, since prose has begun.
func (t *lined) end() {
	t.header, t.rows, t.above, t.group = nil, 0, "", ""
}

// say adds a line to those above the rows.
func (t *lined) say(line string) {
	t.above += "\n" + line
	for len(t.above) > maxAbove {
		_, t.above, _ = strings.Cut(t.above[1:], "\n")
		t.above = "\n" + t.above
	}
}

// isHeader reports whether the cells of a line name columns, by years or dates, or by words without any other number.
func isHeader(cells []string) (names, years bool) {
	words := 0
	for _, c := range cells {
		switch {
		case len(yearsIn(c)) == 1:
			years = true
			words++
		case strings.ContainsFunc(c, unicode.IsDigit):
			return false, false
		case strings.ContainsFunc(c, unicode.IsLetter):
			words++
		}
	}
	return words >= 2 && (years || words == len(cells)), years
}

// agrees returns how well a row matches the question, and the column that the question wants, -1 for all of them; 0 if the row
// does not answer.
func (l *lookup) agrees(t *lined, cells []string) (agree float64, column int) {
	values := cells[1:]
	header := t.header[max(0, len(t.header)-len(values)):] // its first cell may name the rows
	if len(header) != len(values) || slices.ContainsFunc(values, func(v string) bool { return len(v) > maxCell }) {
		return 0, 0
	}
	name := l.termSet(cells[0])
	column, ok := l.column(t, header, name)
	if !ok || column >= 0 && !strings.ContainsFunc(values[column], func(r rune) bool { return unicode.IsDigit(r) || unicode.IsLetter(r) }) {
		return 0, 0
	}
	of := map[string]bool{}
	if column >= 0 {
		of = l.termSet(header[column])
	}
	group := l.termSet(t.group)
	held, aside, named := 0.0, 0.0, 0
	for _, term := range l.terms {
		switch w := term.text; {
		case l.year != "" && strings.HasSuffix(w, l.year):
		case name[w]:
			named++
			held += term.weight
		case group[w], of[w]:
			held += term.weight
		case l.filler[w], t.document[w]:
		case t.about[w]:
			aside += term.weight
		default:
			return 0, 0
		}
	}
	words := 0
	for w := range name {
		if !strings.HasPrefix(w, likeMark) {
			words++
		}
	}
	if named == 0 {
		return 0, 0
	}
	share, precise := 1.0, min(1, float64(named)/float64(words))
	if precise < 1 { // the name may be that of another thing, even below a heading that has the other words: "Net sales"
		share = held / (held + aside)
	}
	if share < minAsking || precise < minNamed {
		return 0, 0
	}
	return 2 * share * precise / (share + precise), column
}

// column returns the column that the question names by a year or by words that the name of the row lacks, -1 for all if each is
// a year or a date.
func (l *lookup) column(t *lined, header []string, name map[string]bool) (column int, ok bool) {
	if l.year != "" {
		column = slices.IndexFunc(header, func(h string) bool { return strings.Contains(h, l.year) })
		for i := column + 1; i < len(header) && column >= 0; i++ {
			if strings.Contains(header[i], l.year) {
				return 0, false
			}
		}
		if column >= 0 {
			return column, true
		}
		if slices.ContainsFunc(header, func(h string) bool { return len(yearsIn(h)) > 0 }) || !t.document[l.year] && !t.about[l.year] {
			return 0, false
		}
	}
	best, second := 0.0, 0.0
	dated := true
	for i, h := range header {
		own, share := l.termSet(h), 0.0
		for _, term := range l.terms {
			if own[term.text] && !name[term.text] {
				share += term.weight
			}
		}
		if share > best {
			best, second, column = share, best, i
		} else {
			second = max(second, share)
		}
		dated = dated && len(yearsIn(h)) == 1
	}
	switch {
	case best > second:
		return column, true
	case len(header) == 1:
		return 0, true
	}
	return -1, dated && best == 0
}

// told returns a row in words: its name, the columns and their values, and the unit of the numbers.
func (t *lined) told(cells []string, column int) string {
	values := cells[1:]
	header := t.header[len(t.header)-len(values):]
	var said []string
	for i, v := range values {
		if column < 0 || i == column {
			said = append(said, strings.TrimSpace(asides.ReplaceAllString(header[i], ""))+": "+strings.TrimSpace(v))
		}
	}
	name := strings.TrimRight(strings.TrimSpace(cells[0]), ":")
	if t.group != "" && strings.HasSuffix(t.group, ":") {
		name = t.group + " " + name
	}
	s := name + " — " + strings.Join(said, "; ")
	if unit := inUnits.FindString(t.above); unit != "" {
		s += " (" + unit + ")"
	}
	return s
}
