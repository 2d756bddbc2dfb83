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

// Budget is the text that a document may still give. It is shared by the pages of a document.
type Budget struct {
	Left   int64
	Limits extract.Limits
}

func NewBudget(l extract.Limits) *Budget { return &Budget{l.TextBytes, l} }

func (b *Budget) spend(n int) error {
	if b.Left -= int64(n); b.Left < 0 {
		return b.Exceeded()
	}
	return nil
}

func (b *Budget) Exceeded() error { return b.Limits.TextExceeded() }

// Add appends a block of clean text; blank text is left out. Text of code is taken as it is, of
// all else without space around it.
func (b *Builder) Add(kind extract.Kind, level int, text string) error {
	var m Mapped
	m.Put(text)
	return b.AddMapped(kind, level, m)
}

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

// Page returns what was built, with the map of characters where the format has one.
func (b *Builder) Page(number int, mapped bool) extract.Page {
	p := extract.Page{Number: number, Text: string(b.Text), Blocks: b.Blocks}
	if mapped {
		p.Chars = b.Runs
	}
	return p
}

// RowText renders a row of a table so that it reads on its own, wherever a chunk cuts the table:
// "Plan: Standard; Deductible: $2,000". Empty cells are left out; a column without a name gives
// its value alone; without any names the cells stand side by side: "Standard | $2,000". Such a row
// is found by a question that names a column, and can be quoted.
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

func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
