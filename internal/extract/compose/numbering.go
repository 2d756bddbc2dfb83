package compose

import (
	"strings"
)

// Numbering counts the items of lists, and numbered headings, as Word does (ECMA-376 part 1, section 17.9).
type Numbering struct {
	Lists    map[string]NumberedList // by list id
	Levels   map[string][9]ListLevel // by abstract list id
	counters map[string]*[9]int      // of the items so far, by abstract list id: lists with the same id continue each other's numbers
	begun    map[string]bool         // list ids with an item
}

// NumberedList is a list: the abstract list that defines it, and the levels whose numbers it restarts.
type NumberedList struct {
	Abstract string
	Starts   map[int]int
}

// ListLevel describes the numbers of a level of a list.
type ListLevel struct {
	Format string // "bullet", "decimal", "lowerLetter", …; "" if the level is not defined
	Text   string // "%1.%2": the numbers of levels 1 and 2
	Start  int
	Legal  bool // all numbers are decimal
}

// Bullet is the marker of items without a number.
const Bullet = "• "

// NewNumbering returns a Numbering without lists.
func NewNumbering() *Numbering {
	return &Numbering{map[string]NumberedList{}, map[string][9]ListLevel{}, map[string]*[9]int{}, map[string]bool{}}
}

// Marker returns the marker of the next item of a list at a level, with a space after it: the number in the form of the
// level, or a bullet.
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
		if of < at && n == levels[of].Start-1 { // an upper level without an item so far
			n++
		}
		b.WriteString(ListNumber(n, format))
	}
	return strings.TrimSpace(Clean(b.String())) + " "
}
