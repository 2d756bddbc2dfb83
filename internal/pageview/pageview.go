// Package pageview shows pages of stored originals: as pictures for the web page and for models that
// read images, and as the positions of their text on the page.
package pageview

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // for image.DecodeConfig, like the next two
	_ "image/jpeg"
	_ "image/png"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/lru"
	"parley/internal/retrieval"
)

// Picture is an image in a form that browsers show.
type Picture struct {
	Data      []byte
	MediaType string
}

// Range is a part of a text, in bytes, End exclusive.
type Range struct{ Start, End int }

// Measure is the geometry of a displayed page.
type Measure struct {
	Width, Height float64 // in points, or in pixels for an image file
	Boxes         []Box
}

// Box is a rectangle on a page, in fractions of its size from the top left corner.
type Box struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Range  int     `json:"range"` // index of the range, among those of the request
}

// Limits of rendering and of the cache.
const (
	keptBytes     = 16 << 20 // pictures and measures in the cache
	keptURLBytes  = 64 << 20 // data: URLs in the cache
	maxFileBytes  = 32 << 20 // an image file for a browser
	maxModelBytes = 5 << 20  // an image file for a model; providers accept about as much
	modelPixels   = 1500     // the longer side of a page for a model, enough for small print
	maxDrawing    = 32       // pages that are being rendered or wait for it
	drawTime      = 30 * time.Second
)

var (
	errNoPicture  = &chat.Error{Kind: chat.NotFound, Msg: "There is no picture of this page."}
	errNotDrawn   = &chat.Error{Kind: chat.Unavailable, Msg: "The page could not be drawn in time. Please try again."}
	errTooMany    = &chat.Error{Kind: chat.Unavailable, Msg: "Too many pages are being drawn. Please try again in a moment."}
	errNoOriginal = &chat.Error{Kind: chat.NotFound, Msg: "The original of the document is no longer there."}
)

// Originals opens an original by its SHA-256 hash in hex. The error wraps fs.ErrNotExist if there is
// none.
type Originals interface {
	Open(sha256 string) (*os.File, error)
}

// Viewer renders and measures pages. A page that several callers request at the same time is rendered
// once. It is safe for concurrent use.
type Viewer struct {
	originals Originals
	pool      *sandbox.Pool

	kept    *lru.Cache[string, any]    // Picture, Measure, or headings by page
	urls    *lru.Cache[string, string] // data: URLs
	flights singleflight.Group
	drawing chan struct{} // one slot for each page that is being rendered
}

// New returns a viewer that renders in the processes of a pool.
func New(originals Originals, pool *sandbox.Pool) *Viewer {
	return &Viewer{
		originals: originals, pool: pool,
		kept:    lru.New(keptBytes, sizeOf),
		urls:    lru.New(keptURLBytes, func(key, url string) int { return len(key) + len(url) }),
		drawing: make(chan struct{}, maxDrawing),
	}
}

// sizeOf returns the approximate size of a cached value in bytes.
func sizeOf(key string, value any) int {
	const overhead, boxBytes = 200, 40
	switch v := value.(type) {
	case Picture:
		return overhead + len(key) + len(v.Data)
	case map[int][]Heading:
		n := overhead + len(key)
		for _, headings := range v {
			for _, h := range headings {
				n += overhead + len(h.Text)
			}
		}
		return n
	case Measure:
		return overhead + len(key) + boxBytes*len(v.Boxes)
	}
	return overhead + len(key)
}

// Picture returns a page of a PDF, about width pixels wide, or an image file unchanged. The error is a
// *chat.Error: NotFound if there is no picture, Unavailable if rendering took too long.
func (v *Viewer) Picture(ctx context.Context, d retrieval.Document, page, width int) (Picture, error) {
	if isShown(d) {
		data, _, err := v.imageFile(d)
		return Picture{Data: data, MediaType: d.MediaType}, err
	}
	size, err := v.Measure(ctx, d, retrieval.Page{Number: page}, nil)
	if err != nil {
		return Picture{}, err
	}
	pixels := max(1, int(float64(width)*max(1, size.Height/size.Width)))
	return once(ctx, v, fmt.Sprintf("picture %s %d %d", d.SHA256, page, pixels), func(ctx context.Context) (out Picture, err error) {
		err = v.withOriginal(d, func(r extract.Request) error {
			img, err := v.pool.Render(ctx, r, max(page, 1), pixels)
			if err == nil {
				out = Picture{Data: img.Data, MediaType: img.MediaType}
			}
			return err
		})
		return out, err
	})
}

// Measure returns the size of a page, and boxes around ranges of its text, which are in bytes. It
// returns the same errors as Picture.
func (v *Viewer) Measure(ctx context.Context, d retrieval.Document, page retrieval.Page, ranges []Range) (Measure, error) {
	mapped, err := ingest.DecodeMap(page.Map)
	if err != nil {
		return Measure{}, fmt.Errorf("read the character map of page %d of %s: %w", page.Number, d.ID, err)
	}
	if isShown(d) {
		_, config, err := v.imageFile(d)
		m := Measure{Width: float64(config.Width), Height: float64(config.Height)}
		mapped.Text = page.Text
		m.addSeen(mapped, ranges)
		return m, err
	}
	mapped.Text = page.Text
	chars := make([][]int, len(ranges))
	if mapped.Boxes == nil {
		for i, r := range ranges {
			chars[i] = mapped.CharIndexes(r.Start, r.End)
		}
	}
	key := fmt.Sprintf("measure %s %d %d %v", d.SHA256, d.Revision, page.Number, ranges)
	return once(ctx, v, key, func(ctx context.Context) (out Measure, err error) {
		err = v.withOriginal(d, func(r extract.Request) error {
			g, err := v.pool.Measure(ctx, r, max(page.Number, 1), chars)
			if err != nil {
				return err
			}
			out.Width, out.Height = g.Width, g.Height
			for _, b := range g.Boxes {
				out.Boxes = append(out.Boxes, Box{X: b.X, Y: b.Y, Width: b.Width, Height: b.Height, Range: b.Range})
			}
			out.addSeen(mapped, ranges)
			return nil
		})
		return out, err
	})
}

// addSeen adds the boxes around ranges of a page whose text was recognised on its picture.
func (m *Measure) addSeen(p extract.Page, ranges []Range) {
	for i, r := range ranges {
		for _, b := range p.BoxesOf(r.Start, r.End) {
			m.Boxes = append(m.Boxes, Box{X: b.X, Y: b.Y, Width: b.Width, Height: b.Height, Range: i})
		}
	}
}

// DataURL returns a page, or an image file, as a data: URL for a model that reads images.
func (v *Viewer) DataURL(ctx context.Context, d retrieval.Document, page int) (string, error) {
	key := fmt.Sprintf("%s#%d", d.SHA256, page)
	if url, ok := v.urls.Get(key); ok {
		return url, nil
	}
	f, err := v.originals.Open(d.SHA256)
	if err != nil {
		return "", fmt.Errorf("open the original: %w", err)
	}
	defer f.Close()
	var p Picture
	if isShown(d) {
		p, err = readImage(f)
	} else {
		var img *extract.Image
		if img, err = v.pool.Render(ctx, extract.Request{Name: drawn[d.MediaType], Path: f.Name()}, max(page, 1), modelPixels); err == nil {
			p = Picture{Data: img.Data, MediaType: img.MediaType}
		}
	}
	if err != nil {
		return "", err
	}
	url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	v.urls.Put(key, url)
	return url, nil
}

// isShown reports whether browsers show the original as a picture.
func isShown(d retrieval.Document) bool {
	return strings.HasPrefix(d.MediaType, "image/") && drawn[d.MediaType] == ""
}

// drawn holds the media types whose pages are drawn. The values are names that tell the pool the format of an original: its
// real file name is only its hash.
var drawn = map[string]string{"application/pdf": "original.pdf", "image/tiff": "original.tiff"}

// withOriginal opens an original whose pages are drawn, and calls do with a request for it.
func (v *Viewer) withOriginal(d retrieval.Document, do func(extract.Request) error) error {
	if drawn[d.MediaType] == "" {
		return errNoPicture
	}
	f, err := v.open(d)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(extract.Request{Name: drawn[d.MediaType], Path: f.Name()})
}

func (v *Viewer) open(d retrieval.Document) (*os.File, error) {
	f, err := v.originals.Open(d.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoOriginal
	}
	if err != nil {
		return nil, fmt.Errorf("open the original of %s: %w", d.ID, err)
	}
	return f, nil
}

// imageFile returns an image file and its size in pixels, which is zero for formats that only browsers know.
func (v *Viewer) imageFile(d retrieval.Document) ([]byte, image.Config, error) {
	f, err := v.open(d)
	if err != nil {
		return nil, image.Config{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, image.Config{}, fmt.Errorf("read the original of %s: %w", d.ID, err)
	}
	if len(data) > maxFileBytes {
		return nil, image.Config{}, errNoPicture
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		config = image.Config{}
	}
	return data, config, nil
}

// readImage returns an image file unchanged. It detects the media type from the bytes, since models
// refuse a wrong one.
func readImage(r io.Reader) (Picture, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxModelBytes+1))
	if err != nil {
		return Picture{}, fmt.Errorf("read the image: %w", err)
	}
	if len(data) > maxModelBytes {
		return Picture{}, fmt.Errorf("the image is larger than %d bytes", maxModelBytes)
	}
	switch media := http.DetectContentType(data); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return Picture{Data: data, MediaType: media}, nil
	default:
		return Picture{}, fmt.Errorf("models do not read %s", media)
	}
}

// once returns the value for a key: from the cache, or from a concurrent call, or from draw. A call of
// draw continues when the caller that started it leaves, since others may wait for it.
func once[T any](ctx context.Context, v *Viewer, key string, draw func(context.Context) (T, error)) (T, error) {
	var none T
	if kept, ok := v.kept.Get(key); ok {
		return kept.(T), nil
	}
	drawn := v.flights.DoChan(key, func() (any, error) {
		select {
		case v.drawing <- struct{}{}:
			defer func() { <-v.drawing }()
		default:
			return none, errTooMany
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drawTime)
		defer cancel()
		value, err := draw(ctx)
		if err == nil {
			v.kept.Put(key, value)
		}
		return value, told(err)
	})
	select {
	case out := <-drawn:
		if out.Err != nil {
			return none, out.Err
		}
		return out.Val.(T), nil
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// told returns the error for callers that wait for a page.
func told(err error) error {
	refused, ok := errors.AsType[*extract.Error](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, sandbox.ErrClosed):
		return errNotDrawn
	case !ok:
		return err
	case refused.Reason == extract.Timeout, refused.Reason == extract.Busy:
		return errNotDrawn
	}
	return errNoPicture
}
