// Package compose turns text into the blocks of pages: cleaned, within a budget, and for PDF with a map
// to the characters of the original. The readers of all formats write their documents with it.
package compose

import (
	"strings"

	"parley/internal/extract"
)

// Builder puts the blocks of one page together.
type Builder struct {
	Mapped
	Blocks []extract.Block
	Budget *Budget
}

// Budget is the amount of text that a document may still have. The pages of a document share it.
type Budget struct {
	Left   int64
	Limits extract.Limits
}

// NewBudget returns the budget of a document: TextBytes of text.
func NewBudget(l extract.Limits) *Budget { return &Budget{l.TextBytes, l} }

func (b *Budget) spend(n int) error {
	if b.Left -= int64(n); b.Left < 0 {
		return b.Exceeded()
	}
	return nil
}

// Exceeded returns the error of a document with more text than allowed.
func (b *Budget) Exceeded() error { return b.Limits.TextExceeded() }

// Add appends a block of clean text, and leaves blank text out. It trims the space around the text,
// except around code.
func (b *Builder) Add(kind extract.Kind, level int, text string) error {
	var m Mapped
	m.Put(text)
	return b.AddMapped(kind, level, m)
}

// AddMapped is Add for text with a map to the characters of the original.
func (b *Builder) AddMapped(kind extract.Kind, level int, m Mapped) error {
	if kind == extract.Code {
		m = m.Slice(0, len(strings.TrimRight(string(m.Text), " \n\t")))
	} else {
		m = m.Trim()
	}
	if len(strings.TrimSpace(string(m.Text))) == 0 {
		return nil
	}
	if err := b.Budget.spend(len(m.Text) + 2); err != nil {
		return err
	}
	if n := len(b.Blocks); n > 0 {
		b.Put(separator(b.Blocks[n-1].Kind, kind))
	}
	start := len(b.Text)
	b.Append(m)
	b.Blocks = append(b.Blocks, extract.Block{Kind: kind, Level: level, Start: start, End: len(b.Text)})
	return nil
}

// separator keeps the items of a list and the rows of a table together.
func separator(before, after extract.Kind) string {
	isRow := func(k extract.Kind) bool { return k == extract.TableHeader || k == extract.TableRow }
	if before == extract.ListItem && after == extract.ListItem || isRow(before) && after == extract.TableRow {
		return "\n"
	}
	return "\n\n"
}

// Page returns the page, with the map of its characters if mapped is set.
func (b *Builder) Page(number int, mapped bool) extract.Page {
	p := extract.Page{Number: number, Text: string(b.Text), Blocks: b.Blocks}
	if mapped {
		p.Chars = b.Runs
	}
	return p
}

// RowText renders a row of a table so that it can be understood, found and quoted without the header:
// "Plan: Standard; Deductible: $2,000". It leaves out empty cells, and the names of unnamed columns.
// Without a header, bars separate the cells: "Standard | $2,000".
func RowText(header, cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		cell = OneLine(cell)
		if cell == "" {
			continue
		}
		if b.Len() > 0 && len(header) > 0 {
			b.WriteString("; ")
		} else if b.Len() > 0 {
			b.WriteString(" | ")
		}
		if i < len(header) && header[i] != "" && header[i] != cell {
			b.WriteString(header[i])
			b.WriteString(": ")
		}
		b.WriteString(cell)
	}
	return b.String()
}

// AddTable appends a table whose first row may be its header.
func (b *Builder) AddTable(rows [][]string, hasHeader bool) error {
	var header []string
	if hasHeader && len(rows) > 1 {
		for _, cell := range rows[0] {
			header = append(header, OneLine(cell))
		}
		if err := b.Add(extract.TableHeader, 0, RowText(nil, header)); err != nil {
			return err
		}
		rows = rows[1:]
	}
	for _, cells := range rows {
		if err := b.Add(extract.TableRow, 0, RowText(header, cells)); err != nil {
			return err
		}
	}
	return nil
}

// OneLine returns s with each run of white space replaced by one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
