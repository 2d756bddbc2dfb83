package builtin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/text"
)

// operation is what a question wants done with a column of a table.
type operation struct {
	asks  *lazyregexp.Regexp
	price bool // the column is that of the price, whatever the question calls it
	name  string
}

// The operations; the first that a question asks for counts.
var operations = []operation{
	{lazyregexp.New(`(?i)\b(?:most expensive|dearest|costliest)\b|\bteuerste[nrsm]?\b|\bplus (?:cher|chère)s?\b|\bm[áa]s car[oa]s?\b|\bpiù car[oaie]\b|\bmais car[oa]s?\b|最贵`), true, "max"},
	{lazyregexp.New(`(?i)\b(?:cheapest|least expensive)\b|\b(?:billigste|günstigste)[nrsm]?\b|\bmoins (?:cher|chère)s?\b|\bm[áa]s barat[oa]s?\b|\b(?:meno car[oaie]|più economic[oaie])\b|\bmais barat[oa]s?\b|最便宜`), true, "min"},
	{lazyregexp.New(`(?i)\b(?:total|altogether|together|in all|sum of)\b|\b(?:insgesamt|zusammen|summe)\b|\b(?:au total|en tout|somme)\b|\b(?:en total|suma)\b|\b(?:in totale|somma)\b|\b(?:no total|soma)\b|总共|一共|合计|总和`), false, "sum"},
	{lazyregexp.New(`(?i)\b(?:average|on average)\b|\bdurchschnitt\pL*|\bmoyenne\b|\bpromedio\b|\bin media\b|\bem média\b|平均`), false, "average"},
	{lazyregexp.New(`(?i)\b(?:most|highest|largest|biggest|greatest|longest)\b|\b(?:meist|höchst|größt|längst)e[nrsm]?\b|\bplus (?:grande?|haute?|élevée?|longu?e?|de|d['’])|\b(?:mayor|m[áa]s (?:alt[oa]|grande|larg[oa]))\b|\b(?:maggiore|più (?:alt[oa]|grande|lung[oa]))\b|\b(?:maior|mais (?:alt[oa]|grande|long[oa]))\b|最[多高大长]`), false, "max"},
	{lazyregexp.New(`(?i)\b(?:least|lowest|smallest|fewest|shortest)\b|\b(?:wenigst|niedrigst|kleinst|kürzest|geringst)e[nrsm]?\b|\b(?:plus (?:petite?|basse?|bas|courte?)|moins (?:de|d['’]))|\b(?:menor|m[áa]s (?:baj[oa]|pequeñ[oa]|cort[oa]))\b|\b(?:minore|più (?:bass[oa]|piccol[oa]|cort[oa]))\b|\bmais (?:baix[oa]|pequen[oa]|curt[oa])\b|最[少低小短]`), false, "min"},
	{lazyregexp.New(`(?i)\bhow many\b|\bwie ?viele\b|\bcombien d(?:e |['’])|\bcuánt[oa]s\b|\bquant[ie]\b|\bquant[oa]s\b`), false, "count"},
}

// bounded matches words that look like an operation but set a limit: "at most".
var bounded = lazyregexp.New(`(?i)\bat (?:most|least)\b|\bzumindest\b`)

var (
	priceColumn = lazyregexp.New(`(?i)\b(?:unit )?(?:price|cost|fee)s?\b|preis|kosten|gebühr|\b(?:prix|tarif|coût)\b|\b(?:precio|tarifa|prezzo|tariffa|costo|preço)\b|价`)
	totalRow    = lazyregexp.New(`(?i)^\W*(?:(?:grand |sub)?total|sum|all|gesamt|insgesamt|summe|somme|suma|totale|somma|soma)\b|^(?:合计|总计|小计)`)
	fromTo      = lazyregexp.New(`(?i)\b(?:from|between|von|zwischen|de|entre|desde|dal|tra|fra)\b\D{0,12}(\d{1,6})\D{1,12}?(\d{1,6})\b`)
)

// minRows is the least number of rows that can be compared.
const minRows = 2

// maxTied is the number of rows sharing the first place that are quoted.
const maxTied = 3

// computed is an answer that was computed from a whole table.
type computed struct {
	quotes   []quote
	passages []int // on which the table is
}

// computedFrom answers a question for the highest or lowest value, the sum, the average or the number of rows from a table that
// is complete in the evidence. It does so only if each word of the question belongs to the operation, to the table or to the
// rows that count.
func computedFrom(ev *llm.Evidence) (c computed, ok bool) {
	if ev == nil || bounded.MatchString(ev.Query) {
		return c, false
	}
	at := slices.IndexFunc(operations, func(o operation) bool { return o.asks.MatchString(ev.Query) })
	n := needOf(ev.Terms)
	if at < 0 || n.total == 0 {
		return c, false
	}
	forged := forgeriesOf(ev)
	for _, t := range wholeTables(ev) {
		quotes := n.computeOver(ev, t, operations[at])
		if len(quotes) > 0 && !slices.ContainsFunc(quotes, func(q quote) bool { return forged.in(q.text) }) {
			return computed{quotes, t.passages}, true
		}
	}
	return c, false
}

// computeOver carries out an operation over the rows of a table that the question wants; it returns none if the question asks
// for something else.
func (n need) computeOver(ev *llm.Evidence, t table, op operation) []quote {
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return totalRow.MatchString(r.cells[0]) })
	left, ok := n.filter(ev.Query, &t, op)
	if !ok || len(t.rows) < minRows {
		return nil
	}
	language := text.LanguageOf(ev.Question)
	if op.name == "count" {
		if !n.countsRows(ev.Query, &t, op) {
			return nil
		}
		return []quote{t.said(ev, cmp.Or(sums[language], sums["en"])[2], t.columns[0], strconv.Itoa(len(t.rows)))}
	}
	column, ok := n.column(&t, op, left)
	if !ok {
		return nil
	}
	values, ok := t.numbers(column)
	if !ok {
		return nil
	}
	switch op.name {
	case "max":
		return t.tied(ev, values, slices.Max(values))
	case "min":
		return t.tied(ev, values, slices.Min(values))
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	form := 0
	if op.name == "average" {
		total, form = total/float64(len(values)), 1
	}
	return []quote{t.said(ev, cmp.Or(sums[language], sums["en"])[form], t.columns[column], t.counted(column)+rounded(total))}
}

// sums are how the results of operations are said: the sum and the average of a column over rows, and their number.
var sums = map[string]*[3]string{
	"en": {"Sum of %s over %d rows: %s.", "Average of %s over %d rows: %s.", "Number of rows (%s): %[3]s."},
	"de": {"Summe von %s über %d Zeilen: %s.", "Durchschnitt von %s über %d Zeilen: %s.", "Anzahl der Zeilen (%s): %[3]s."},
	"fr": {"Somme de %s sur %d lignes : %s.", "Moyenne de %s sur %d lignes : %s.", "Nombre de lignes (%s) : %[3]s."},
	"es": {"Suma de %s en %d filas: %s.", "Promedio de %s en %d filas: %s.", "Número de filas (%s): %[3]s."},
	"it": {"Somma di %s su %d righe: %s.", "Media di %s su %d righe: %s.", "Numero di righe (%s): %[3]s."},
	"pt": {"Soma de %s em %d linhas: %s.", "Média de %s em %d linhas: %s.", "Número de linhas (%s): %[3]s."},
	"zh": {"%s 共 %d 行之和：%s。", "%s 共 %d 行的平均值：%s。", "行数（%s）：%[3]s。"},
}

// maxCounted is the largest number of counted cells that an answer names.
const maxCounted = 8

// counted names the rows with their cells in a column, as they stand before a result; "" for many rows.
func (t *table) counted(column int) string {
	if len(t.rows) > maxCounted || column == 0 {
		return ""
	}
	var cells []string
	for _, r := range t.rows {
		cells = append(cells, r.cells[0]+" "+r.cells[column])
	}
	return strings.Join(cells, ", ") + " → "
}

// said returns a result as a quote, cited where the table begins.
func (t *table) said(ev *llm.Evidence, form, column, result string) quote {
	first := t.rows[0]
	return quote{text: fmt.Sprintf(form, column, len(t.rows), result), citation: ev.Passages[first.passage].CitationAt(first.start)}
}

// rounded writes a number with its significant decimals.
func rounded(v float64) string {
	s := strconv.FormatFloat(v, 'f', 4, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// tied returns the rows that have a value; none if too many have it.
func (t *table) tied(ev *llm.Evidence, values []float64, value float64) (quotes []quote) {
	for i, r := range t.rows {
		if values[i] == value {
			p := &ev.Passages[r.passage]
			quotes = append(quotes, quote{text: p.Text[r.start:r.end], citation: p.CitationAt(r.start), row: true})
		}
	}
	if len(quotes) > maxTied || len(quotes) == len(t.rows) {
		return nil
	}
	return quotes
}

// filter keeps the rows that the question wants: those of a range of the first column, and those that hold the words of the
// question that are not about the table as a whole. It returns the terms that choose a column. It returns false if a word
// belongs neither to the table nor to a row.
func (n need) filter(query string, t *table, op operation) (left map[string]bool, ok bool) {
	ignored := n.termSet(strings.Join(op.asks.FindAllString(query, -1), " "))
	if m := fromTo.FindStringSubmatch(query); m != nil {
		if rows := t.between(m[1], m[2]); len(rows) > 0 {
			t.rows = rows
			maps.Copy(ignored, n.termSet(m[1]+" "+m[2]))
		}
	}
	about := n.termSet(t.about)
	left = make(map[string]bool)
	spaced := !slices.ContainsFunc([]rune(query), isUnspaced)
	held := 0
	for _, term := range n.terms {
		switch {
		case ignored[term.text]:
		case about[term.text]:
			left[term.text] = true
			held++
		case general()[term.text]:
		default:
			rows := slices.DeleteFunc(slices.Clone(t.rows), func(r row) bool { return !n.termSet(strings.Join(r.cells, "\n"))[term.text] })
			if len(rows) == 0 && spaced {
				return nil, false
			}
			if len(rows) > 0 {
				t.rows = rows
				held++
			}
		}
	}
	return left, held > 0
}

// between returns the rows from one number in the first column to another one, none if these are not there.
func (t *table) between(from, to string) (rows []row) {
	low, _ := strconv.Atoi(from)
	high, _ := strconv.Atoi(to)
	ends := 0
	for _, r := range t.rows {
		v, err := strconv.Atoi(r.cells[0])
		if err != nil {
			return nil
		}
		if v == low || v == high {
			ends++
		}
		if v >= low && v <= high {
			rows = append(rows, r)
		}
	}
	if ends != 2 {
		return nil
	}
	return rows
}

// column returns the column that the question asks about: the column of numbers that shares most words with it.
func (n need) column(t *table, op operation, left map[string]bool) (column int, ok bool) {
	best, second := 0.0, 0.0
	for i, name := range t.columns {
		share := 0.0
		if op.price {
			if priceColumn.MatchString(name) {
				share = 1
			}
		} else if i > 0 {
			own := n.termSet(name)
			for _, term := range n.terms {
				if left[term.text] && own[term.text] {
					share += term.weight
				}
			}
		}
		if share > best {
			best, second, column = share, best, i
		} else {
			second = max(second, share)
		}
	}
	return column, best > second
}

// countsRows reports whether the question counts the things that the first column names, one per row.
func (n need) countsRows(query string, t *table, op operation) bool {
	at := op.asks.FindStringIndex(query)
	words := strings.Fields(query[at[1]:])
	if len(words) == 0 {
		return false
	}
	counted, key := n.termSet(words[0]), n.termSet(t.columns[0])
	for term := range counted {
		if key[term] {
			return len(key) == 1
		}
	}
	return false
}
