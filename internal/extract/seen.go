package extract

import (
	"errors"
	"fmt"
	"slices"
)

// withSeen adds the pages that were recognised on their pictures to the result of a reader.
func (f *File) withSeen(doc *Document, err error) (*Document, error) {
	refused, _ := errors.AsType[*Error](err)
	switch {
	case err != nil && (refused == nil || len(refused.Unread) == 0):
		return nil, err
	case err != nil:
		doc = &Document{Unread: refused.Unread}
	}
	var left []int
	read := false
	for _, number := range doc.Unread {
		seen, known := f.Seen[number]
		if !known {
			left = append(left, number)
			continue
		}
		if seen.Failed != "" {
			doc.Notes = append(doc.Notes, fmt.Sprintf("the text of page %d could not be recognised: %s", number, seen.Failed))
		}
		if len(seen.Page.Blocks) > 0 {
			read = true
			doc.addSeen(seen.Page)
		}
	}
	doc.Unread = left
	switch {
	case err == nil || read && len(left) == 0:
		return doc, nil
	case len(left) == 0 && len(doc.Notes) > 0:
		return nil, &Error{Reason: ScanOnly, Detail: doc.Notes[0]}
	case len(left) == 0:
		return nil, &Error{Reason: Empty, Detail: "no text was recognised on its pages"}
	}
	refused.Unread = left
	return nil, refused
}

// addSeen inserts a page at its place, or appends its text to the page that is there.
func (d *Document) addSeen(p Page) {
	i, found := slices.BinarySearchFunc(d.Pages, p.Number, func(q Page, number int) int { return q.Number - number })
	if !found || len(d.Pages[i].Blocks) == 0 {
		if found {
			d.Pages[i] = p
			return
		}
		d.Pages = slices.Insert(d.Pages, i, p)
		return
	}
	at := &d.Pages[i]
	offset := len(at.Text) + 2
	if at.Chars == nil {
		at.Chars = []Run{{0, Inserted}}
	} else {
		at.Chars = append(at.Chars, Run{len(at.Text), Inserted})
	}
	for _, r := range p.Chars {
		at.Chars = append(at.Chars, Run{r.Offset + offset, r.Char})
	}
	for _, b := range p.Blocks {
		b.Start, b.End = b.Start+offset, b.End+offset
		at.Blocks = append(at.Blocks, b)
	}
	at.Text += "\n\n" + p.Text
	at.Boxes = p.Boxes
}

// BoxesOf returns rectangles around the text from byte start to byte end of a page with Boxes, one for each line.
func (p Page) BoxesOf(start, end int) []Box {
	var lines []Box
	last := -1 // index of the box that was added last
	for _, char := range p.CharIndexes(start, end) {
		i, exact := slices.BinarySearchFunc(p.Boxes, char, func(b CharBox, char int) int { return b.Char - char })
		if !exact {
			i--
		}
		if i < 0 || i == last {
			continue
		}
		last = i
		box := p.Boxes[i].Box
		if n := len(lines); n > 0 && sameLine(lines[n-1], box) {
			lines[n-1] = lines[n-1].union(box)
			continue
		}
		lines = append(lines, box)
	}
	return lines
}

// sameLine reports whether a word continues a line: it is at the same height, and not beyond a gap as between columns.
func sameLine(line, word Box) bool {
	const widest = 4 // heights
	height := min(line.Height, word.Height)
	common := min(line.Y+line.Height, word.Y+word.Height) - max(line.Y, word.Y)
	return common >= height/2 && word.X-(line.X+line.Width) <= widest*max(line.Height, word.Height)
}

func (b Box) union(o Box) Box {
	x, y := min(b.X, o.X), min(b.Y, o.Y)
	return Box{Range: b.Range, X: x, Y: y, Width: max(b.X+b.Width, o.X+o.Width) - x, Height: max(b.Y+b.Height, o.Y+o.Height) - y}
}
