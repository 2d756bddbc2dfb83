package webapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"parley/internal/chat"
	"parley/internal/format"
	"parley/internal/lazyregexp"
	"parley/internal/pageview"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

const pdfType = "application/pdf"

// pageShown is a page in responses. The offsets in Blocks are in UTF-16 code units of Text.
type pageShown struct {
	DocumentID string      `json:"document_id"`
	Number     int         `json:"number"`
	Count      int         `json:"count"`
	Label      string      `json:"label"`
	Kind       format.View `json:"kind"`
	Text       string      `json:"text"`
	Width      float64     `json:"width"`
	Height     float64     `json:"height"`
	ImageURL   string      `json:"image_url"`
	Blocks     []block     `json:"blocks"`
}

type block struct {
	Kind  string `json:"kind"`
	Level int    `json:"level"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// maxPage limits page numbers.
const maxPage = 1 << 24

// onePage handles GET /api/documents/{id}/pages/{n}.
func (h *Handler) onePage(w http.ResponseWriter, r *wire.Request) error {
	d, _, err := h.document(r)
	if err != nil {
		return err
	}
	p, last, err := h.page(r, d)
	if err != nil {
		return err
	}
	out := pageShown{
		DocumentID: d.ID, Number: p.Number, Count: last, Kind: format.ViewOf(d.MediaType), Text: p.Text,
		Blocks: []block{},
	}
	out.Label = labelOf(out.Kind, p.Number)
	if out.Kind == format.Image {
		// The text is useful even without a picture.
		if m, err := h.cfg.Pictures.Measure(r.Context(), d, p, nil); err == nil {
			out.Width, out.Height = m.Width, m.Height
			out.ImageURL = h.address(fmt.Sprintf("/api/documents/%s/pages/%d/image", url.PathEscape(d.ID), p.Number), d.Namespace,
				url.Values{"v": {version(d)}})
		} else if p.Text == "" {
			return err // there is neither text nor picture
		} else if r.Context().Err() != nil {
			return r.Context().Err()
		}
	}
	headings, err := h.headings(r.Context(), d, p.Number)
	if err != nil {
		return err
	}
	written, err := h.cfg.Pictures.Headings(r.Context(), d, p.Number)
	if kind := chat.KindOf(err); err != nil && kind != chat.NotFound && kind != chat.Unavailable { // the text is useful without them
		return err
	}
	out.Blocks = blocksOf(p.Text, headings, written)
	return sendTagged(w, r, out)
}

// version identifies the version of a document's original in the URLs of its pictures.
func version(d retrieval.Document) string { return d.SHA256[:min(len(d.SHA256), 16)] }

// page returns the page that the path names, and the document's highest page number. A page of a PDF counts as existing
// even if no text of it is stored.
func (h *Handler) page(r *wire.Request, d retrieval.Document) (retrieval.Page, int, error) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n > maxPage {
		return retrieval.Page{}, 0, errNoPage
	}
	p, last, err := h.cfg.Catalog.Page(r.Context(), d.Revision, n)
	switch {
	case errors.Is(err, retrieval.ErrNotFound) && n > 0 && d.MediaType == pdfType:
		return retrieval.Page{Number: n}, max(last, n), nil
	case errors.Is(err, retrieval.ErrNotFound):
		return p, 0, errNoPage
	case err != nil:
		return p, 0, fmt.Errorf("read page %d: %w", n, err)
	}
	return p, max(last, 0), nil
}

func labelOf(k format.View, number int) string {
	switch {
	case number == 0:
		return ""
	case k == format.Slide:
		return "Slide " + strconv.Itoa(number)
	case k == format.Sheet:
		return "Sheet " + strconv.Itoa(number)
	}
	return "Page " + strconv.Itoa(number)
}

// headings returns the headings above the chunks of a page, with their levels, from 1.
func (h *Handler) headings(ctx context.Context, d retrieval.Document, page int) (map[string]int, error) {
	chunks, err := h.cfg.Catalog.RevisionChunks(ctx, d.Revision)
	if err != nil {
		return nil, fmt.Errorf("read chunks: %w", err)
	}
	levels := map[string]int{}
	for _, c := range chunks {
		if !slices.ContainsFunc(c.Spans, func(s retrieval.Span) bool { return s.Page == page }) {
			continue
		}
		for i, heading := range c.Headings {
			levels[heading] = i + 1
		}
	}
	return levels, nil
}

// outline contains, in order, the headings of an original that have not yet been matched with a block of its text.
type outline []pageview.Heading

// ahead is how many headings level compares with a block: up to ahead-1 headings in a row may be missing from the text.
const ahead = 20

// level returns the level of the heading that a block matches, or 0. It removes that heading and those before it.
func (o *outline) level(body string) int {
	words := lettersOf(body)
	for i, heading := range (*o)[:min(ahead, len(*o))] {
		if words != "" && words == lettersOf(linked.ReplaceAllString(heading.Text, "$1")) {
			*o = (*o)[i+1:]
			return heading.Level
		}
	}
	return 0
}

var linked = lazyregexp.New(`!?\[([^\]]*)\]\([^)]*\)|<[^>]*>`)

// lettersOf returns only the letters and digits of a text, in lower case, so that texts with and without markup compare
// equal.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// blocksOf splits a page's text into paragraphs, headings, and blocks of several lines such as tables and
// lists. A single line is a heading if it is in written, the outline of the original, or in headings, which
// are those above chunks.
func blocksOf(text string, headings map[string]int, written outline) []block {
	out := []block{}
	unit, at := 0, 0 // position up to which the text has been read, in code units and bytes
	units := func(to int) int {
		unit += offsets{text[at:to]}.units(to - at)
		at = to
		return unit
	}
	for from := 0; from < len(text); {
		end := len(text)
		if n := strings.Index(text[from:], "\n\n"); n >= 0 {
			end = from + n
		}
		if body := strings.TrimSpace(text[from:end]); body != "" {
			b := block{Kind: "paragraph"}
			level := 0
			if !strings.Contains(body, "\n") {
				level = cmp.Or(written.level(body), headings[body])
			}
			switch {
			case level > 0:
				b.Kind, b.Level = "heading", level
			case strings.Contains(body, "\n"):
				b.Kind = "lines"
			}
			start := from + strings.Index(text[from:end], body)
			b.Start, b.End = units(start), units(start+len(body))
			out = append(out, b)
		}
		from = end + 2
	}
	return out
}

// Widths of pictures in pixels.
const (
	minWidth     = 64
	maxWidth     = 3000
	defaultWidth = 1000
	widthStep    = 100 // rounding reduces the number of sizes that are rendered and cached
)

// image handles GET /api/documents/{id}/pages/{n}/image.
func (h *Handler) image(w http.ResponseWriter, r *wire.Request) error {
	d, _, err := h.document(r)
	if err != nil {
		return err
	}
	if format.ViewOf(d.MediaType) != format.Image {
		return errNoPicture
	}
	p, _, err := h.page(r, d)
	if err != nil {
		return err
	}
	width, err := number(r, "width", minWidth, maxWidth, defaultWidth)
	if err != nil {
		return err
	}
	width = min((width+widthStep-1)/widthStep*widthStep, maxWidth)
	w.Header().Set("Cache-Control", cacheOf(r, d))
	if fresh(w, r, fmt.Sprintf("%s-%d-%d", d.SHA256, p.Number, width)) {
		return nil
	}
	picture, err := h.cfg.Pictures.Picture(r.Context(), d, p.Number, width)
	if err != nil {
		w.Header().Del("ETag")
		w.Header().Del("Cache-Control")
		return err
	}
	header := w.Header()
	header.Set("Content-Type", picture.MediaType)
	header.Set("Content-Length", strconv.Itoa(len(picture.Data)))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	w.WriteHeader(http.StatusOK)
	// Writing fails only if the client is gone.
	_, _ = w.Write(picture.Data)
	return nil
}

// cacheOf returns the Cache-Control header for a picture. A browser may cache it indefinitely if its URL contains the version
// of the original.
func cacheOf(r *wire.Request, d retrieval.Document) string {
	if r.URL.Query().Get("v") == version(d) {
		return "private, max-age=31536000, immutable"
	}
	return "private, no-cache"
}

// maxRanges is the maximum number of ranges in one request.
const maxRanges = 50

// boxes handles GET /api/documents/{id}/pages/{n}/boxes.
func (h *Handler) boxes(w http.ResponseWriter, r *wire.Request) error {
	d, _, err := h.document(r)
	if err != nil {
		return err
	}
	p, _, err := h.page(r, d)
	if err != nil {
		return err
	}
	ranges, err := rangesOf(r, p.Text)
	if err != nil {
		return err
	}
	out := struct {
		Boxes []pageview.Box `json:"boxes"`
	}{Boxes: []pageview.Box{}}
	if format.ViewOf(d.MediaType) == format.Image && len(p.Map) > 0 && len(ranges) > 0 {
		m, err := h.cfg.Pictures.Measure(r.Context(), d, p, ranges)
		if err != nil {
			return err
		}
		out.Boxes = wire.ListOf(m.Boxes)
	}
	return sendTagged(w, r, out)
}

// rangesOf reads pairs of start and end from the query, in UTF-16 code units of a text, and converts them to byte offsets.
func rangesOf(r *wire.Request, text string) ([]pageview.Range, error) {
	starts, ends := r.URL.Query()["start"], r.URL.Query()["end"]
	if len(starts) != len(ends) || len(starts) > maxRanges {
		return nil, wire.Invalidf("start and end must come in pairs, at most %d", maxRanges)
	}
	out := make([]pageview.Range, len(starts))
	for i := range starts {
		start, err := strconv.Atoi(starts[i])
		end, endErr := strconv.Atoi(ends[i])
		if err = cmp.Or(err, endErr); err != nil || start < 0 || end < start {
			return nil, wire.Invalidf("start and end must be whole numbers, and end not less than start")
		}
		o := offsets{text}
		out[i] = pageview.Range{Start: o.bytes(start), End: o.bytes(end)}
	}
	return out, nil
}
