package pageview

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/format"
	"parley/internal/lazyregexp"
	"parley/internal/retrieval"
)

// Heading is a heading of an original.
type Heading struct {
	Level int // from 1
	Text  string
}

// maxOutline limits the part of an original that is read for its headings, and maxHeadings their number.
const (
	maxOutline  = 4 << 20 // bytes
	maxHeadings = 5000
)

// Headings returns the headings of a page in order, those of a Markdown document with their markup. It returns none for tables
// and pictures, and for an original that can no longer be read.
func (v *Viewer) Headings(ctx context.Context, d retrieval.Document, page int) ([]Heading, error) {
	switch format.ViewOf(d.MediaType) {
	case format.Markdown:
		return v.markdownHeadings(d)
	case format.HTML, format.Text:
		wait, cancel := context.WithTimeout(ctx, outlineTime)
		defer cancel()
		pages, err := v.outlines(wait, d)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = errNotDrawn // they are still being made: a later request gets them
		}
		return pages[page], err
	}
	return nil, nil
}

// outlineTime is the maximum time that a page waits for its headings: a long document must be read again for them.
const outlineTime = 2 * time.Second

// outlines returns the headings of a document by page.
func (v *Viewer) outlines(ctx context.Context, d retrieval.Document) (map[int][]Heading, error) {
	return once(ctx, v, "headings "+d.SHA256, func(ctx context.Context) (map[int][]Heading, error) {
		f, err := v.open(d)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		name := d.Name
		if format.Named(name) == nil {
			name += format.ExtensionOf(d.MediaType)
		}
		result, err := v.pool.Extract(ctx, extract.Request{Name: name, Path: f.Name(), Post: ingest.KeepBlocks(ingest.SplitOptions{})})
		if refused, ok := errors.AsType[*extract.Error](err); ok && refused.Reason != extract.Timeout && refused.Reason != extract.Busy {
			return nil, nil // for example, it is encrypted
		}
		if err != nil {
			return nil, err
		}
		return headingsByPage(result.Document.Pages), nil
	})
}

func headingsByPage(pages []extract.Page) map[int][]Heading {
	all, n := map[int][]Heading{}, 0
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Kind == extract.Heading && n < maxHeadings {
				all[p.Number] = append(all[p.Number], Heading{max(b.Level, 1), p.Text[b.Start:b.End]})
				n++
			}
		}
	}
	return all
}

func (v *Viewer) markdownHeadings(d retrieval.Document) ([]Heading, error) {
	f, err := v.open(d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return headingsOf(io.LimitReader(f, maxOutline))
}

var (
	atxHeading = lazyregexp.New(`^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	underline  = lazyregexp.New(`^ {0,3}(=+|-+)[ \t]*$`)
	fence      = lazyregexp.New("^ {0,3}(```+|~~~+)")
)

func headingsOf(r io.Reader) (all []Heading, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	open, before := "", ""
	for lines.Scan() && len(all) < maxHeadings {
		line := lines.Text()
		if m := fence.FindStringSubmatch(line); m != nil && (open == "" || strings.HasPrefix(m[1], open)) {
			if open == "" {
				open = m[1]
			} else {
				open = ""
			}
			before = ""
			continue
		}
		if open != "" {
			continue
		}
		if m := atxHeading.FindStringSubmatch(line); m != nil {
			all = append(all, Heading{len(m[1]), m[2]})
			line = ""
		} else if m := underline.FindStringSubmatch(line); m != nil && before != "" {
			all = append(all, Heading{1 + strings.Count(m[1][:1], "-"), before})
			line = ""
		}
		before = strings.TrimSpace(line)
	}
	return all, nil // a line that is too long ends the list
}
