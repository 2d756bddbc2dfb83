package compose

import (
	"strings"
)

// Numbering counts the items of lists, and numbered headings, as Word does (ECMA-376 part 1, section 17.9).
type Numbering struct {
	Lists    map[string]NumberedList // by list id
	Levels   map[string][9]ListLevel // by abstract list id
	counters map[string]*[9]int      // of the items so far, by abstract list id: lists of the same one go on
	begun    map[string]bool         // list ids with an item
}

// NumberedList is a list: which abstract list it is one of, and where its levels start anew.
type NumberedList struct {
	Abstract string
	Starts   map[int]int
}

// ListLevel is how a level of a list looks.
type ListLevel struct {
	Format string // "bullet", "decimal", "lowerLetter", …; "" if the level is not defined
	Text   string // "%1.%2": the numbers of levels 1 and 2
	Start  int
	Legal  bool // all numbers are decimal
}

// Bullet stands before items that have no number.
const Bullet = "• "

// NewNumbering returns one without lists.
func NewNumbering() *Numbering {
	return &Numbering{map[string]NumberedList{}, map[string][9]ListLevel{}, map[string]*[9]int{}, map[string]bool{}}
}

// Marker returns what the next item of a list at a level starts with, with a space behind it: its number as
// the level writes it, else a bullet.
func (n *Numbering) Marker(id string, at int) string {
	list := n.Lists[id]
	levels := n.Levels[list.Abstract]
	at = min(max(at, 0), len(levels)-1)
	level := levels[at]
	if level.Format == "bullet" || level.Format == "none" || level.Format == "" {
		return Bullet
	}
	counter := n.counters[list.Abstract]
	if counter == nil {
		counter = &[9]int{}
		for i := range counter {
			counter[i] = levels[i].Start - 1
		}
		n.counters[list.Abstract] = counter
	}
	if !n.begun[id] {
		n.begun[id] = true
		for i, start := range list.Starts {
			counter[i] = start - 1
		}
	}
	counter[at]++
	for i := at + 1; i < len(counter); i++ {
		counter[i] = levels[i].Start - 1
	}
	return level.write(counter, levels, at)
}

// write fills the numbers of the levels into the text of a level.
func (l ListLevel) write(counter *[9]int, levels [9]ListLevel, at int) string {
	if l.Text == "" {
		return ListNumber(counter[at], l.Format) + ". "
	}
	var b strings.Builder
	for i := 0; i < len(l.Text); i++ {
		if l.Text[i] != '%' || i+1 == len(l.Text) || l.Text[i+1] < '1' || l.Text[i+1] > '9' {
			b.WriteByte(l.Text[i])
			continue
		}
		i++
		of := int(l.Text[i] - '1')
		format := levels[of].Format
		if l.Legal {
			format = "decimal"
		}
		n := counter[of]
		if of < at && n == levels[of].Start-1 { // a level above that has no item yet
			n++
		}
		b.WriteString(ListNumber(n, format))
	}
	return strings.TrimSpace(Clean(b.String())) + " "
}
