package main

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // for image.DecodeConfig, as are the next two
	_ "image/jpeg"
	_ "image/png"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire/webapi"
)

// The limits of what the page shows of documents.
const (
	keptPictureBytes = 16 << 20 // of pictures and measures that are kept for the next look
	maxPictureBytes  = 32 << 20 // of an image file
	maxDrawing       = 32       // pages that are drawn or wait for it
	drawTime         = 30 * time.Second
)

// pictures draws and measures pages for the web page. What several ask for at once is drawn once, and
// kept for a while. It is safe for concurrent use.
type pictures struct {
	blobs *store.Blobs
	pool  *extract.Pool

	mu      sync.Mutex
	byKey   map[string]*list.Element
	used    *list.List // of keptPicture, the one used last in front
	size    int
	drawing map[string]*drawing
}

type keptPicture struct {
	key   string
	value any
	size  int
}

// drawing is something under way that others wait for too.
type drawing struct {
	done  chan struct{}
	value any
	err   error
}

var _ webapi.Pictures = (*pictures)(nil)

func newPictures(blobs *store.Blobs, pool *extract.Pool) *pictures {
	return &pictures{blobs: blobs, pool: pool, byKey: map[string]*list.Element{}, used: list.New(), drawing: map[string]*drawing{}}
}

var (
	errNoPicture  = &chat.Error{Kind: chat.NotFound, Msg: "There is no picture of this page."}
	errNotDrawn   = &chat.Error{Kind: chat.Unavailable, Msg: "The page could not be drawn in time. Please try again."}
	errTooMany    = &chat.Error{Kind: chat.Unavailable, Msg: "Too many pages are being drawn. Please try again in a moment."}
	errNoOriginal = &chat.Error{Kind: chat.NotFound, Msg: "The original of the document is not there any more."}
)

// Picture returns a page of a PDF about width pixels wide, or an image file as it is.
func (p *pictures) Picture(ctx context.Context, d retrieval.Document, page, width int) (webapi.Picture, error) {
	if strings.HasPrefix(d.MediaType, "image/") {
		data, _, err := p.imageFile(d)
		return webapi.Picture{Data: data, MediaType: d.MediaType}, err
	}
	size, err := p.Measure(ctx, d, retrieval.Page{Number: page}, nil)
	if err != nil {
		return webapi.Picture{}, err
	}
	pixels := max(1, int(float64(width)*max(1, size.Height/size.Width)))
	v, err := p.once(ctx, fmt.Sprintf("picture %s %d %d", d.SHA256, page, pixels), func(ctx context.Context) (any, int, error) {
		var img *extract.Image
		err := p.withOriginal(d, func(r extract.Request) (err error) {
			img, err = p.pool.Render(ctx, r, page, pixels)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		return webapi.Picture{Data: img.Data, MediaType: img.MediaType}, len(img.Data), nil
	})
	if err != nil {
		return webapi.Picture{}, err
	}
	return v.(webapi.Picture), nil
}

// Measure returns the size of a page, and where ranges of its text stand.
func (p *pictures) Measure(ctx context.Context, d retrieval.Document, page retrieval.Page, ranges []webapi.Range) (webapi.Measure, error) {
	if strings.HasPrefix(d.MediaType, "image/") {
		_, config, err := p.imageFile(d)
		return webapi.Measure{Width: float64(config.Width), Height: float64(config.Height)}, err
	}
	runs, err := ingest.DecodeRuns(page.Map)
	if err != nil {
		return webapi.Measure{}, fmt.Errorf("read the character map of page %d of %s: %w", page.Number, d.ID, err)
	}
	text := extract.Page{Text: page.Text, Chars: runs}
	chars := make([][]int, len(ranges))
	for i, r := range ranges {
		chars[i] = text.CharIndexes(r.Start, r.End)
	}
	key := fmt.Sprintf("measure %s %d %d %v", d.SHA256, d.Revision, page.Number, ranges)
	v, err := p.once(ctx, key, func(ctx context.Context) (any, int, error) {
		var g *extract.Geometry
		err := p.withOriginal(d, func(r extract.Request) (err error) {
			g, err = p.pool.Measure(ctx, r, page.Number, chars)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		m := webapi.Measure{Width: g.Width, Height: g.Height}
		for _, b := range g.Boxes {
			m.Boxes = append(m.Boxes, webapi.Box{X: b.X, Y: b.Y, Width: b.Width, Height: b.Height, Range: b.Range})
		}
		const boxBytes = 40
		return m, boxBytes * len(m.Boxes), nil
	})
	if err != nil {
		return webapi.Measure{}, err
	}
	return v.(webapi.Measure), nil
}

// withOriginal does something with the original of a document, whose file name is that of its hash.
func (p *pictures) withOriginal(d retrieval.Document, do func(extract.Request) error) error {
	if d.MediaType != "application/pdf" {
		return errNoPicture
	}
	f, err := p.blobs.Open(d.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoOriginal
	}
	if err != nil {
		return fmt.Errorf("open the original of %s: %w", d.ID, err)
	}
	defer f.Close()
	return do(extract.Request{Name: "original.pdf", Path: f.Name()})
}

// imageFile returns an image file and its size in pixels, which is zero for what is not known here.
func (p *pictures) imageFile(d retrieval.Document) ([]byte, image.Config, error) {
	f, err := p.blobs.Open(d.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, image.Config{}, errNoOriginal
	}
	if err != nil {
		return nil, image.Config{}, fmt.Errorf("open the original of %s: %w", d.ID, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPictureBytes+1))
	if err != nil {
		return nil, image.Config{}, fmt.Errorf("read the original of %s: %w", d.ID, err)
	}
	if len(data) > maxPictureBytes {
		return nil, image.Config{}, errNoPicture
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		config = image.Config{} // a format of which browsers know the size
	}
	return data, config, nil
}

// once returns what work makes for a key: what is kept, or what somebody else is making already.
func (p *pictures) once(ctx context.Context, key string, work func(context.Context) (value any, size int, err error)) (any, error) {
	p.mu.Lock()
	if e, ok := p.byKey[key]; ok {
		p.used.MoveToFront(e)
		p.mu.Unlock()
		return e.Value.(keptPicture).value, nil
	}
	d, ok := p.drawing[key]
	if !ok {
		if len(p.drawing) >= maxDrawing {
			p.mu.Unlock()
			return nil, errTooMany
		}
		d = &drawing{done: make(chan struct{})}
		p.drawing[key] = d
		// It goes on when the one who has asked first leaves, for those who wait with them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drawTime)
		go func() {
			defer cancel()
			p.draw(ctx, key, d, work)
		}()
	}
	p.mu.Unlock()
	select {
	case <-d.done:
		return d.value, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// draw makes a drawing and keeps it.
func (p *pictures) draw(ctx context.Context, key string, d *drawing, work func(context.Context) (any, int, error)) {
	value, size, err := work(ctx)
	d.value, d.err = value, told(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.drawing, key)
	close(d.done)
	if err == nil {
		p.keep(keptPicture{key, value, size + len(key) + 200})
	}
}

// told returns what to tell those who wait for a page.
func told(err error) error {
	refused, ok := errors.AsType[*extract.Error](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, extract.ErrClosed):
		return errNotDrawn
	case !ok:
		return err
	case refused.Reason == extract.Timeout, refused.Reason == extract.Busy:
		return errNotDrawn
	}
	return errNoPicture
}

// keep keeps something in the place of what was not used for longest. The caller holds p.mu.
func (p *pictures) keep(k keptPicture) {
	p.byKey[k.key] = p.used.PushFront(k)
	p.size += k.size
	for p.size > keptPictureBytes && p.used.Len() > 1 {
		old := p.used.Remove(p.used.Back()).(keptPicture)
		delete(p.byKey, old.key)
		p.size -= old.size
	}
}
