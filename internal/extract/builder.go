package extract

import "strings"

// builder puts the blocks of one page together.
type builder struct {
	mapped
	blocks []Block
	budget *budget
}

// budget is the text that a document may still give. It is shared by the pages of a document.
type budget struct {
	left   int64
	limits Limits
}

func newBudget(l Limits) *budget { return &budget{l.TextBytes, l} }

func (b *budget) spend(n int) error {
	if b.left -= int64(n); b.left < 0 {
		return b.exceeded()
	}
	return nil
}

func (b *budget) exceeded() error { return b.limits.textExceeded() }

// add appends a block of clean text; blank text is left out. Text of code is taken as it is, of
// all else without space around it.
func (b *builder) add(kind Kind, level int, text string) error {
	var m mapped
	m.put(text)
	return b.addMapped(kind, level, m)
}

func (b *builder) addMapped(kind Kind, level int, m mapped) error {
	if kind == Code {
		m = m.slice(0, len(strings.TrimRight(string(m.text), " \n\t")))
	} else {
		m = m.trim()
	}
	if len(strings.TrimSpace(string(m.text))) == 0 {
		return nil
	}
	if err := b.budget.spend(len(m.text) + 2); err != nil {
		return err
	}
	if n := len(b.blocks); n > 0 {
		b.put(separator(b.blocks[n-1].Kind, kind))
	}
	start := len(b.text)
	b.append(m)
	b.blocks = append(b.blocks, Block{kind, level, start, len(b.text)})
	return nil
}

// separator keeps the items of a list and the rows of a table together.
func separator(before, after Kind) string {
	isRow := func(k Kind) bool { return k == TableHeader || k == TableRow }
	if before == ListItem && after == ListItem || isRow(before) && after == TableRow {
		return "\n"
	}
	return "\n\n"
}

// page returns what was built, with the map of characters where the format has one.
func (b *builder) page(number int, mapped bool) Page {
	p := Page{Number: number, Text: string(b.text), Blocks: b.blocks}
	if mapped {
		p.Chars = b.runs
	}
	return p
}

// rowText renders a row of a table so that it reads on its own, wherever a chunk cuts the table:
// "Plan: Standard; Deductible: $2,000". Empty cells are left out; a column without a name gives
// its value alone; without any names the cells stand side by side: "Standard | $2,000". Such a row
// is found by a question that names a column, and can be quoted.
func rowText(header, cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		cell = oneLine(cell)
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

// addTable appends a table whose first row may be its header.
func (b *builder) addTable(rows [][]string, hasHeader bool) error {
	var header []string
	if hasHeader && len(rows) > 1 {
		for _, cell := range rows[0] {
			header = append(header, oneLine(cell))
		}
		if err := b.add(TableHeader, 0, rowText(nil, header)); err != nil {
			return err
		}
		rows = rows[1:]
	}
	for _, cells := range rows {
		if err := b.add(TableRow, 0, rowText(header, cells)); err != nil {
			return err
		}
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
