package ooxml

import (
	"context"
	"encoding/xml"
	"path"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

// docxParts holds the content of a document that is stored in separate parts of the file.
type docxParts struct {
	archive *zipxml.Archive
	ctx     context.Context //nolint:containedctx // of the one call that reads the document
	related []relation
	text    int64             // bytes of text that diagrams and margins may have
	notes   map[string]string // comments by id
	margins []string          // texts of headers and footers, each once
	due     []string          // references of the current paragraph: "chart rId4", "comment 2"
	done    map[string]bool
}

// readDOCXParts reads the comments, headers and footers of a document.
func readDOCXParts(ctx context.Context, archive *zipxml.Archive, main string, limit int64) (docxParts, error) {
	p := docxParts{archive: archive, ctx: ctx, text: limit, notes: map[string]string{}, done: map[string]bool{}}
	var err error
	if p.related, err = relations(archive, main); err != nil {
		return p, err
	}
	for _, r := range p.related {
		if p.done[r.target] {
			continue
		}
		switch r.kind {
		case "comments":
			err = p.readComments(r.target)
		case "header", "footer":
			err = p.readMargin(r.target)
		default:
			continue
		}
		if p.done[r.target] = true; err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *docxParts) readComments(name string) error {
	id, author := "", ""
	return p.eachText(name, func(e xml.StartElement) {
		if e.Name.Local == "comment" {
			id, author = zipxml.Attr(e, "id"), zipxml.Attr(e, "author")
		}
	}, func(text string) {
		if p.notes[id] == "" {
			p.notes[id] = "Comment by " + author + ":"
			if author == "" {
				p.notes[id] = "Comment:"
			}
		}
		p.notes[id] += " " + text
	})
}

func (p *docxParts) readMargin(name string) error {
	var lines []string
	err := p.eachText(name, func(xml.StartElement) {}, func(text string) { lines = append(lines, text) })
	text := strings.Join(lines, " ")
	if compose.SaysMoreThanPages(text) && !slices.Contains(p.margins, text) {
		p.margins = append(p.margins, text)
	}
	return err
}

// eachText calls text with each paragraph of a part, and start with each element. Damage ends the part.
func (p *docxParts) eachText(name string, start func(xml.StartElement), text func(string)) error {
	var b strings.Builder
	_, err := zipxml.ReadPart(p.ctx, p.archive, name, func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			start(t)
			switch {
			case skippedDOCX[t.Name.Local]:
				return d.Skip()
			case t.Name.Local == "t":
				var s string
				if err := d.DecodeElement(&s, &t); err != nil {
					return err
				}
				if p.text -= int64(len(s)); p.text < 0 {
					return extract.TooLargef("the document has too much text in its comments and headers")
				}
				b.WriteString(s)
			case t.Name.Local == "tab" || t.Name.Local == "br":
				b.WriteByte(' ')
			}
		case xml.EndElement:
			if t.Name.Local == "p" {
				if s := compose.OneLine(compose.Clean(b.String())); s != "" {
					text(s)
				}
				b.Reset()
			}
		}
		return nil
	})
	return err
}

// refersTo returns the chart, diagram or comment to which an element of the text refers.
func (p *docxParts) refersTo(e xml.StartElement) (string, bool) {
	switch {
	case e.Name.Local == "commentReference":
		return "comment " + zipxml.Attr(e, "id"), true
	case e.Name.Local == "chart" && strings.HasSuffix(e.Name.Space, "/chart"):
		return "part " + zipxml.Attr(e, "id"), true
	case e.Name.Local == "relIds":
		return "part " + zipxml.Attr(e, "dm"), true
	}
	return "", false
}

// writeParts appends the parts to which the paragraphs and tables since the last call refer. It waits for the end of a table.
func (w *docxWalker) writeParts() error {
	p := &w.parts
	if len(w.paragraphs) > 0 || len(w.tables) > 0 || len(p.due) == 0 {
		return nil
	}
	due := p.due
	p.due = nil
	if p.archive == nil { // the whole document is one file
		return nil
	}
	for _, reference := range due {
		kind, id, _ := strings.Cut(reference, " ")
		if p.done[reference] {
			continue
		}
		p.done[reference] = true
		if kind == "comment" {
			if err := w.out.Add(extract.Paragraph, 0, p.notes[id]); err != nil {
				return err
			}
			continue
		}
		if err := p.writeDrawing(&w.out, id); err != nil {
			return err
		}
	}
	return nil
}

func (p *docxParts) writeDrawing(out *compose.Builder, id string) error {
	at := slices.IndexFunc(p.related, func(r relation) bool { return r.id == id })
	if at < 0 || p.done[p.related[at].target] {
		return nil
	}
	r := p.related[at]
	p.done[r.target] = true
	switch r.kind {
	case "chart":
		c, err := readChart(p.ctx, p.archive, r.target)
		if err != nil {
			return err
		}
		return c.write(out)
	case "diagramData":
		paragraphs, err := drawingParagraphs(p.ctx, p.archive, r.target, p.text)
		if err != nil {
			return err
		}
		for _, text := range paragraphs {
			if err := out.Add(extract.ListItem, 0, "• "+text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeMargins appends the texts of headers and footers, which Word repeats on each page.
func (p *docxParts) writeMargins(out *compose.Builder) error {
	for _, text := range p.margins {
		if err := out.Add(extract.Paragraph, 0, text); err != nil {
			return err
		}
	}
	return nil
}

// takeFiles extracts the Office files that are embedded in the document, and the files whose text Word inserts when it
// opens the document (altChunk), as written by programs that convert HTML.
func (p *docxParts) takeFiles(ctx context.Context, spool *extract.Spool) error {
	for _, r := range p.related {
		if r.kind != "package" && r.kind != "aFChunk" || p.done[r.target] {
			continue
		}
		p.done[r.target] = true
		part, err := zipxml.OpenPart(p.archive, r.target)
		if err != nil {
			return err
		}
		if part == nil {
			continue
		}
		err = spool.Add(ctx, path.Base(r.target), part)
		part.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutOrigin returns a picture's description without the remark that Word adds to generated descriptions.
func withoutOrigin(alt string) string {
	for _, tail := range []string{"Description automatically generated", "AI-generated content may be incorrect."} {
		alt = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(alt), tail))
	}
	return alt
}
