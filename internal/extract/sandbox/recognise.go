package sandbox

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/extract"
	"parley/internal/ocr"
)

// Recognise returns the text on the picture of a page, counted from 1. It uses the pool's Tesseract or, if that fails,
// the one in this program. The folder data holds the data of languages other than English. All calls must name the same
// languages and folder. For errors see Render.
func (p *Pool) Recognise(ctx context.Context, r extract.Request, page int, languages []string, data string) (*extract.Page, error) {
	j, err := p.job(r)
	if err != nil {
		return nil, fmt.Errorf("recognise: %w", err)
	}
	j.Read = &reading{Page: page, Languages: languages, Data: absolute(data)}
	t := p.options.Tesseract
	if !t.usable() {
		return p.recogniseInside(ctx, j)
	}
	drawing, err := p.draw(ctx, j)
	if err != nil {
		return nil, err
	}
	words, failure := p.wordsOutside(ctx, j, drawing)
	if failure == nil {
		t.failed.Store(0)
		return composed(words, drawing)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	seen, err := p.recogniseInside(ctx, j)
	if err == nil {
		t.failed.Add(1)
		if p.options.Failed != nil {
			p.options.Failed(failure)
		}
	}
	return seen, err
}

// recogniseInside lets a worker draw and read a page.
func (p *Pool) recogniseInside(ctx context.Context, j job) (*extract.Page, error) {
	res, err := p.do(ctx, j)
	if err != nil {
		return nil, err
	}
	return res.Seen, nil
}

// wordsOutside lets the pool's Tesseract read a picture.
func (p *Pool) wordsOutside(ctx context.Context, j job, d *extract.Drawing) ([]ocr.Word, error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	return p.options.Tesseract.words(ctx, j.Limits, d)
}

// Draw returns the picture of a page, counted from 1, on which its text is to be recognised. For errors see Render.
func (p *Pool) Draw(ctx context.Context, r extract.Request, page int) (*extract.Drawing, error) {
	j, err := p.job(r)
	if err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	j.Read = &reading{Page: page}
	return p.draw(ctx, j)
}

// draw lets a worker draw a page.
func (p *Pool) draw(ctx context.Context, j job) (*extract.Drawing, error) {
	j.Draw, j.Read = j.Read.Page, nil
	res, err := p.do(ctx, j)
	if err != nil {
		return nil, err
	}
	if !isWhole(res.Drawing) {
		return nil, &extract.Error{Reason: extract.Crashed, Detail: "the parser returned no picture"}
	}
	return res.Drawing, nil
}

// isWhole reports whether a drawing has as many pixels as it says. It comes from a worker that a file may have taken
// over.
func isWhole(d *extract.Drawing) bool {
	if d == nil || d.Gray == nil {
		return false
	}
	const most = 2 * extract.MaxDrawing
	w, h := d.Gray.Rect.Dx(), d.Gray.Rect.Dy()
	return w > 0 && h > 0 && w <= most && h <= most/w && d.Gray.Stride >= w && d.Gray.Stride <= most && len(d.Gray.Pix) >= d.Gray.Stride*(h-1)+w
}

func composed(words []ocr.Word, d *extract.Drawing) (*extract.Page, error) {
	page, err := ocr.Compose(words, d.Gray.Rect.Size(), d.Number)
	return &page, err
}

// draw draws a page.
func (x *worker) draw(j job, begin func() error) (drawing *extract.Drawing, err error) {
	err = withFile(x, j, begin, func(ctx context.Context, o *extract.Opened) error {
		drawing, err = o.Draw(ctx, j.Draw)
		return err
	})
	return drawing, err
}

// recognise draws a page and reads it. It loads Tesseract and its data before the job begins: until then nothing of the
// file has been parsed, and the worker may still open files.
func (x *worker) recognise(j job, begin func() error) (page *extract.Page, err error) {
	if x.ocr == nil {
		x.ocr, err = ocr.New(context.Background(), ocr.Options{
			CacheDir: j.CacheDir, Memory: j.Limits.MemoryBytes / 2, Languages: j.Read.Languages, Data: j.Read.Data,
		})
		if err != nil {
			return nil, fmt.Errorf("load Tesseract: %w", err)
		}
	}
	err = withFile(x, j, begin, func(ctx context.Context, o *extract.Opened) error {
		drawing, err := o.Draw(ctx, j.Read.Page)
		if err != nil {
			return err
		}
		words, err := x.ocr.Words(ctx, drawing.Gray, drawing.DPI)
		if errors.Is(err, ocr.ErrMemory) {
			return memoryError(j.Limits)
		}
		if err != nil {
			return err
		}
		page, err = composed(words, drawing)
		return err
	})
	return page, err
}
