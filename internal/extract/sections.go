package extract

import "strings"

// DropSections removes the sections with these headings, in any case: the heading and all below it up to
// the next heading of the same level or higher. Pages with a map to the original stay whole.
func (d *Document) DropSections(names []string) {
	if len(names) == 0 {
		return
	}
	unwanted := map[string]bool{}
	for _, name := range names {
		unwanted[sectionKey(name)] = true
	}
	level := 0 // of the heading whose section is left out; 0 outside of one
	for i := range d.Pages {
		if p := &d.Pages[i]; p.Chars == nil {
			level = p.dropSections(unwanted, level)
		}
	}
}

func sectionKey(heading string) string {
	return strings.ToLower(strings.Join(strings.Fields(heading), " "))
}

// dropSections returns the level of the section that continues on the next page.
func (p *Page) dropSections(unwanted map[string]bool, level int) int {
	var text strings.Builder
	var blocks []Block
	at := 0 // end of the old text that is done
	keep := func(end int) {
		text.WriteString(p.Text[at:end])
		at = end
	}
	for _, b := range p.Blocks {
		if level == 0 {
			keep(b.Start)
		}
		at = max(at, b.Start)
		if b.Kind == Heading {
			if level > 0 && b.Level <= level {
				level = 0
			}
			if level == 0 && unwanted[sectionKey(p.Text[b.Start:b.End])] {
				level = max(b.Level, 1)
			}
		}
		if level > 0 {
			at = b.End
			continue
		}
		b.Start, b.End = text.Len(), text.Len()+b.End-b.Start
		keep(at + b.End - b.Start)
		blocks = append(blocks, b)
	}
	if level == 0 {
		keep(len(p.Text))
	}
	p.Text, p.Blocks = text.String(), blocks
	return level
}
