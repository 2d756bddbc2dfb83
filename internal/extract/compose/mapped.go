package compose

import (
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
)

// Mapped is text with a map to the characters of the original that it came from.
type Mapped struct {
	Text []byte
	Runs []extract.Run // ascending by Offset; the first has offset 0 unless text is empty
	next int           // the character that continues the last run
}

// Rune appends r, which came from character char of the original. Several runes may come from
// one character, as for a ligature.
func (m *Mapped) Rune(r rune, char int) {
	m.mark(char)
	m.Text = utf8.AppendRune(m.Text, r)
	m.next = char + 1
}

// Put appends text that the original does not have.
func (m *Mapped) Put(s string) {
	if s == "" {
		return
	}
	if n := len(m.Runs); n == 0 || m.Runs[n-1].Char != extract.Inserted {
		m.Runs = append(m.Runs, extract.Run{Offset: len(m.Text), Char: extract.Inserted})
	}
	m.Text = append(m.Text, s...)
	m.next = extract.Inserted
}

// mark starts a run for char unless the last run continues with it.
func (m *Mapped) mark(char int) {
	if len(m.Runs) == 0 || m.next != char {
		m.Runs = append(m.Runs, extract.Run{Offset: len(m.Text), Char: char})
	}
}

// Append appends all of o.
func (m *Mapped) Append(o Mapped) {
	for i, run := range o.Runs {
		end := len(o.Text)
		if i+1 < len(o.Runs) {
			end = o.Runs[i+1].Offset
		}
		part := o.Text[run.Offset:end]
		if run.Char == extract.Inserted {
			m.Put(string(part))
			continue
		}
		m.mark(run.Char)
		m.Text = append(m.Text, part...)
		m.next = run.Char + utf8.RuneCount(part)
	}
}

// Slice returns the part from byte offset from to byte offset to, which must fall between runes.
func (m Mapped) Slice(from, to int) Mapped {
	if from >= to {
		return Mapped{}
	}
	out := Mapped{Text: slices.Clip(m.Text[from:to]), next: m.next}
	i, exact := slices.BinarySearchFunc(m.Runs, from, func(r extract.Run, off int) int { return r.Offset - off })
	if !exact {
		i--
	}
	for ; i < len(m.Runs) && m.Runs[i].Offset < to; i++ {
		run := m.Runs[i]
		if run.Offset < from {
			if run.Char != extract.Inserted {
				run.Char += utf8.RuneCount(m.Text[run.Offset:from])
			}
			run.Offset = from
		}
		out.Runs = append(out.Runs, extract.Run{Offset: run.Offset - from, Char: run.Char})
	}
	last := out.Runs[len(out.Runs)-1]
	out.next = extract.Inserted
	if last.Char != extract.Inserted {
		out.next = last.Char + utf8.RuneCount(out.Text[last.Offset:])
	}
	return out
}

// Offset returns the byte offset of the first text that came from character char or a later one, or
// the length of the text. The characters of m must ascend.
func (m Mapped) Offset(char int) int {
	for i, run := range m.Runs {
		end := len(m.Text)
		if i+1 < len(m.Runs) {
			end = m.Runs[i+1].Offset
		}
		if run.Char == extract.Inserted {
			continue
		}
		at := run.Char
		for off := range string(m.Text[run.Offset:end]) {
			if at >= char {
				return run.Offset + off
			}
			at++
		}
	}
	return len(m.Text)
}

// Trim returns m without the space around it.
func (m Mapped) Trim() Mapped {
	s := string(m.Text)
	from := len(s) - len(strings.TrimLeft(s, " \n\t"))
	return m.Slice(from, len(strings.TrimRight(s, " \n\t")))
}
