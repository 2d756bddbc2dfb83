package ooxml

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("PowerPoint", extract.Reader{Read: readPPTX})

// readPPTX reads a PresentationML document (ECMA-376 part 1), strict and transitional: one page a
// slide, in the order of the show, with its title as heading, then its text, tables, charts,
// diagrams, the speaker's notes and comments. It leaves out the text that masters repeat on each slide, except on the
// first slide that has no other text.
func readPPTX(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	slides, err := slideParts(archive)
	if err != nil {
		return nil, err
	}
	if len(slides) == 0 {
		if hasPart(archive, mainPart(archive, "ppt/presentation.xml")) {
			return nil, &extract.Error{Reason: extract.Empty, Detail: "the presentation has no slides"}
		}
		return nil, extract.Damagedf("the archive holds no presentation")
	}
	if len(slides) > f.Limits.Pages {
		return nil, extract.TooLargef("the presentation has %d slides, and at most %d are read", len(slides), f.Limits.Pages)
	}
	doc := &extract.Document{}
	describe(doc, archive)
	var broken []int
	budget, models := compose.NewBudget(f.Limits), map[string]bool{}
	for i, name := range slides {
		s := slideReader{archive: archive, models: models, out: compose.Builder{Budget: budget}}
		if err := s.read(ctx, name); err != nil {
			return nil, err
		}
		if s.broken {
			broken = append(broken, i+1)
		}
		doc.Pages = append(doc.Pages, s.out.Page(i+1, false))
	}
	if len(broken) > 0 {
		doc.Notes = append(doc.Notes, "slides "+compose.PageList(broken)+" are damaged, and were read up to the damage")
	}
	if len(extract.WithText(slices.Clone(doc.Pages))) == 0 && len(broken) > 0 {
		return nil, extract.Damagedf("none of the slides can be read")
	}
	return doc, nil
}

// slideParts returns the parts of the slides in the order of the show, or in the order of their numbers if the
// presentation does not give an order.
func slideParts(archive *zipxml.Archive) ([]string, error) {
	main := mainPart(archive, "ppt/presentation.xml")
	related, err := relations(archive, main)
	if err != nil {
		return nil, err
	}
	var slides []string
	err = zipxml.EachElement(archive, main, func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local != "sldId" {
			return nil
		}
		for _, a := range e.Attr {
			i := slices.IndexFunc(related, func(r relation) bool { return r.id == a.Value && r.kind == "slide" })
			if a.Name.Local == "id" && a.Name.Space != "" && i >= 0 {
				slides = append(slides, related[i].target)
			}
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return nil, err
	}
	if len(slides) == 0 {
		slides = numberedParts(archive, "ppt/slides/slide", ".xml")
	}
	return slides, nil
}

func hasPart(archive *zipxml.Archive, name string) bool {
	return slices.ContainsFunc(archive.File, func(e *zip.File) bool { return e.Name == name })
}

// numberedParts returns the parts with a number between prefix and suffix, in numerical order.
func numberedParts(archive *zipxml.Archive, prefix, suffix string) []string {
	numbers := map[string]int{}
	var names []string
	for _, entry := range archive.File {
		rest, ok := strings.CutPrefix(entry.Name, prefix)
		rest, cut := strings.CutSuffix(rest, suffix)
		if n, err := strconv.Atoi(rest); ok && cut && err == nil {
			names = append(names, entry.Name)
			numbers[entry.Name] = n
		}
	}
	slices.SortFunc(names, func(a, b string) int { return numbers[a] - numbers[b] })
	return slices.Compact(names)
}

// slideReader makes a page of one slide.
type slideReader struct {
	archive *zipxml.Archive
	models  map[string]bool // layouts and masters that were read, by their parts
	out     compose.Builder
	broken  bool
}

func (s *slideReader) read(ctx context.Context, name string) error {
	shapes, err := s.shapes(ctx, name)
	if err != nil {
		return err
	}
	isTitle := func(sh shape) bool { return sh.role == "title" || sh.role == "ctrTitle" }
	for _, sh := range shapes {
		if isTitle(sh) {
			if err := s.out.Add(extract.Heading, 1, compose.OneLine(sh.text())); err != nil {
				return err
			}
		}
	}
	for _, sh := range shapes {
		if !isTitle(sh) {
			if err := sh.write(&s.out); err != nil {
				return err
			}
		}
	}
	if err := s.related(ctx, name); err != nil || len(s.out.Blocks) > 0 {
		return err
	}
	return s.model(ctx, name, "slideLayout")
}

// model appends the text of the layout of a slide, or else of its master, for a slide without text of its own.
func (s *slideReader) model(ctx context.Context, name, kind string) error {
	parts, err := attached(s.archive, name)
	at := slices.IndexFunc(parts, func(r relation) bool { return r.kind == kind })
	if err != nil || at < 0 {
		return err
	}
	of := parts[at].target
	if !s.models[of] {
		s.models[of] = true
		shapes, err := s.shapes(ctx, of)
		if err != nil {
			return err
		}
		for _, sh := range shapes {
			if sh.placeholder { // it is a prompt for the author
				continue
			}
			if err := sh.write(&s.out); err != nil {
				return err
			}
		}
	}
	if len(s.out.Blocks) > 0 || kind == "slideMaster" {
		return nil
	}
	return s.model(ctx, of, "slideMaster")
}

// shapes reads the shapes of a slide, or of its notes, in the order in which they are drawn.
func (s *slideReader) shapes(ctx context.Context, name string) ([]shape, error) {
	w := shapeWalker{left: s.out.Budget.Left}
	broken, err := zipxml.ReadPart(ctx, s.archive, name, w.visit)
	s.broken = s.broken || broken
	return w.shapes, err
}

// related appends the content of a slide that is in separate parts.
func (s *slideReader) related(ctx context.Context, name string) error {
	parts, err := attached(s.archive, name)
	if err != nil {
		return err
	}
	for _, kind := range []string{"chart", "diagramData", "notesSlide", "comments"} {
		for _, r := range parts {
			if r.kind != kind {
				continue
			}
			switch kind {
			case "chart":
				err = s.chart(ctx, r.target)
			case "diagramData":
				err = s.diagram(ctx, r.target)
			case "notesSlide":
				err = s.notes(ctx, r.target)
			case "comments":
				err = s.comments(ctx, r.target)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *slideReader) chart(ctx context.Context, name string) error {
	c, err := readChart(ctx, s.archive, name)
	if err != nil {
		return err
	}
	return c.write(&s.out)
}

func (s *slideReader) diagram(ctx context.Context, name string) error {
	paragraphs, err := drawingParagraphs(ctx, s.archive, name, s.out.Budget.Left)
	for _, p := range paragraphs {
		if err == nil {
			err = s.out.Add(extract.ListItem, 0, "• "+p)
		}
	}
	return err
}

// notes appends the speaker's notes.
func (s *slideReader) notes(ctx context.Context, name string) error {
	shapes, err := s.shapes(ctx, name)
	if err != nil {
		return err
	}
	for _, sh := range shapes {
		if sh.role != "body" || strings.TrimSpace(sh.text()) == "" {
			continue
		}
		if err := s.out.Add(extract.Heading, 2, "Notes"); err != nil {
			return err
		}
		sh.role = ""
		if err := sh.write(&s.out); err != nil {
			return err
		}
	}
	return nil
}

func (s *slideReader) comments(ctx context.Context, name string) error {
	_, err := zipxml.ReadPart(ctx, s.archive, name, func(d *xml.Decoder, token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "text" {
			return nil
		}
		var text string
		if err := d.DecodeElement(&text, &e); err != nil {
			return err
		}
		if text = compose.OneLine(compose.Clean(text)); text == "" {
			return nil
		}
		return s.out.Add(extract.Paragraph, 0, "Comment: "+text)
	})
	return err
}
