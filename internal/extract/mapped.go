package extract

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// mapped is text that knows from which characters of the original it came.
type mapped struct {
	text []byte
	runs []Run // ascending by Offset; the first has offset 0 unless text is empty
	next int   // the character that continues the last run
}

const inserted = -1

// rune appends r, which came from character char of the original. Several runes may come from
// one character, as for a ligature.
func (m *mapped) rune(r rune, char int) {
	m.mark(char)
	m.text = utf8.AppendRune(m.text, r)
	m.next = char + 1
}

// put appends text that is not in the original.
func (m *mapped) put(s string) {
	if s == "" {
		return
	}
	if n := len(m.runs); n == 0 || m.runs[n-1].Char != inserted {
		m.runs = append(m.runs, Run{len(m.text), inserted})
	}
	m.text = append(m.text, s...)
	m.next = inserted
}

// mark starts a run for char where the last one does not lead to it.
func (m *mapped) mark(char int) {
	if len(m.runs) == 0 || m.next != char {
		m.runs = append(m.runs, Run{len(m.text), char})
	}
}

// append appends all of o.
func (m *mapped) append(o mapped) {
	for i, run := range o.runs {
		end := len(o.text)
		if i+1 < len(o.runs) {
			end = o.runs[i+1].Offset
		}
		part := o.text[run.Offset:end]
		if run.Char == inserted {
			m.put(string(part))
			continue
		}
		m.mark(run.Char)
		m.text = append(m.text, part...)
		m.next = run.Char + utf8.RuneCount(part)
	}
}

// slice returns the part from byte offset from to byte offset to, which must fall between runes.
func (m mapped) slice(from, to int) mapped {
	if from >= to {
		return mapped{}
	}
	out := mapped{text: slices.Clip(m.text[from:to]), next: m.next}
	i, exact := slices.BinarySearchFunc(m.runs, from, func(r Run, off int) int { return r.Offset - off })
	if !exact {
		i--
	}
	for ; i < len(m.runs) && m.runs[i].Offset < to; i++ {
		run := m.runs[i]
		if run.Offset < from {
			if run.Char != inserted {
				run.Char += utf8.RuneCount(m.text[run.Offset:from])
			}
			run.Offset = from
		}
		out.runs = append(out.runs, Run{run.Offset - from, run.Char})
	}
	last := out.runs[len(out.runs)-1]
	out.next = inserted
	if last.Char != inserted {
		out.next = last.Char + utf8.RuneCount(out.text[last.Offset:])
	}
	return out
}

// offset is the byte offset of the first text that came from character char or one behind it, the
// length of the text if there is none. The characters of m must ascend.
func (m mapped) offset(char int) int {
	for i, run := range m.runs {
		end := len(m.text)
		if i+1 < len(m.runs) {
			end = m.runs[i+1].Offset
		}
		if run.Char == inserted {
			continue
		}
		at := run.Char
		for off := range string(m.text[run.Offset:end]) {
			if at >= char {
				return run.Offset + off
			}
			at++
		}
	}
	return len(m.text)
}

// trim returns m without the space around it.
func (m mapped) trim() mapped {
	s := string(m.text)
	from := len(s) - len(strings.TrimLeft(s, " \n\t"))
	return m.slice(from, len(strings.TrimRight(s, " \n\t")))
}

// CharIndexes returns which characters of the original gave the page's text from byte start to
// byte end, ascending and each once. It is empty where the format has no such map.
func (p Page) CharIndexes(start, end int) []int {
	var chars []int
	for i, run := range p.Chars {
		if run.Offset >= end {
			break
		}
		stop := len(p.Text)
		if i+1 < len(p.Chars) {
			stop = p.Chars[i+1].Offset
		}
		if run.Char == inserted || stop <= start {
			continue
		}
		char := run.Char
		for off, r := range p.Text[run.Offset:stop] {
			at := run.Offset + off
			if at+utf8.RuneLen(r) > start && at < end {
				chars = append(chars, char)
			}
			char++
		}
	}
	slices.Sort(chars)
	return slices.Compact(chars)
}
