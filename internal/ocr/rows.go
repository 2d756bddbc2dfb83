package ocr

import (
	"cmp"
	"image"
	"slices"
	"unicode/utf8"
)

// If the columns of a table are far apart, Tesseract takes them for columns of text, and reads one after the other. A table
// is recognised by a column of short lines with short text beside each of them.
const (
	leastRows     = 3
	cellChars     = 20   // of the lines of such a column, on average
	besideChars   = 45   // of the text beside them, on average
	inStep        = 80   // per cent of the lines that must have one beside them, on either side
	mostSegmented = 5000 // lines of a page that is looked at
)

// segment is a line as Tesseract found it.
type segment struct {
	words []Word
	box   image.Rectangle
	chars int
	table int // index of the first segment of its table; its own if it is in none
}

func (s segment) middle() int { return (s.box.Min.Y + s.box.Max.Y) / 2 }

// beside reports whether two segments are beside each other at one height.
func (s segment) beside(o segment) bool {
	apart := s.box.Max.X <= o.box.Min.X || o.box.Max.X <= s.box.Min.X
	return apart && max(s.middle()-o.middle(), o.middle()-s.middle())*2 < min(s.box.Dy(), o.box.Dy())
}

// joinRows puts the words of tables into rows, whose words are then in one paragraph.
func joinRows(words []Word) []Word {
	segments := segmentsOf(words)
	if len(segments) > mostSegmented {
		return words
	}
	for from := 0; from < len(segments); {
		to := from + 1
		for to < len(segments) && segments[to].words[0].Block == segments[from].words[0].Block {
			to++
		}
		joinColumn(segments, from, to)
		from = to
	}
	out := make([]Word, 0, len(words))
	inTable, done := map[int]bool{}, map[int]bool{}
	for i, s := range segments {
		if s.table != i {
			inTable[tableOf(segments, i)] = true
		}
	}
	for i := range segments {
		switch table := tableOf(segments, i); {
		case done[table]:
		case !inTable[table]:
			out = append(out, segments[i].words...)
		default:
			done[table] = true
			out = append(out, rowsOf(segments, table)...)
		}
	}
	return out
}

func segmentsOf(words []Word) (all []segment) {
	for i := 0; i < len(words); {
		s := segment{table: len(all)}
		for ; i < len(words) && (len(s.words) == 0 || sameLine(s.words[0], words[i])); i++ {
			s.words = append(s.words, words[i])
			s.box = s.box.Union(words[i].Box)
			s.chars += utf8.RuneCountInString(words[i].Text)
		}
		all = append(all, s)
	}
	return all
}

// tableOf follows the joins of tables to the first segment.
func tableOf(segments []segment, i int) int {
	for segments[i].table != i {
		i = segments[i].table
	}
	return i
}

// joinColumn joins the lines of a block with the segments beside them, if they are a column of a table.
func joinColumn(segments []segment, from, to int) {
	var column image.Rectangle
	chars := 0
	for _, s := range segments[from:to] {
		column = column.Union(s.box)
		chars += s.chars
	}
	if to-from < leastRows || chars > cellChars*(to-from) {
		return
	}
	var around []int
	otherChars, paired := 0, map[int]bool{}
	for i, s := range segments {
		if i >= from && i < to || s.middle() < column.Min.Y || s.middle() > column.Max.Y {
			continue
		}
		around = append(around, i)
		otherChars += s.chars
		for j := from; j < to; j++ {
			if segments[j].beside(s) {
				paired[i], paired[j] = true, true
			}
		}
	}
	lines, others := 0, 0
	for i := range paired {
		if i >= from && i < to {
			lines++
		} else {
			others++
		}
	}
	if lines < leastRows || lines*100 < inStep*(to-from) || others*100 < inStep*len(around) || otherChars > besideChars*len(around) {
		return
	}
	for _, i := range append(around, from) {
		for j := from; j < to; j++ {
			join(segments, i, j)
		}
	}
}

// join makes two segments parts of one table.
func join(segments []segment, i, j int) {
	i, j = tableOf(segments, i), tableOf(segments, j)
	segments[max(i, j)].table = min(i, j)
}

// rowsOf returns the words of a table, row by row.
func rowsOf(segments []segment, table int) (out []Word) {
	var parts []segment
	for i := range segments {
		if tableOf(segments, i) == table {
			parts = append(parts, segments[i])
		}
	}
	slices.SortStableFunc(parts, func(a, b segment) int { return cmp.Compare(a.middle(), b.middle()) })
	const joined = 1 << 20 // no paragraph or line of Tesseract has such a number
	for row := 0; len(parts) > 0; row++ {
		n := 1
		for n < len(parts) && (parts[n].middle()-parts[0].middle())*2 < min(parts[0].box.Dy(), parts[n].box.Dy()) {
			n++
		}
		slices.SortStableFunc(parts[:n], func(a, b segment) int { return cmp.Compare(a.box.Min.X, b.box.Min.X) })
		for _, s := range parts[:n] {
			for _, w := range s.words {
				w.Block, w.Paragraph, w.Line = segments[table].words[0].Block, joined, joined+row
				out = append(out, w)
			}
		}
		parts = parts[n:]
	}
	return out
}
