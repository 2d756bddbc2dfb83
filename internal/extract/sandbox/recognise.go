package sandbox

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/extract"
	"parley/internal/ocr"
)

// Recognise returns the text on the picture of a page. Pages count from 1. The folder data holds the data of languages other than
// English. All calls must name the same languages and folder. Errors are as Render's.
func (p *Pool) Recognise(ctx context.Context, r extract.Request, page int, languages []string, data string) (*extract.Page, error) {
	j, err := p.job(r)
	if err != nil {
		return nil, fmt.Errorf("recognise: %w", err)
	}
	j.Read = &reading{Page: page, Languages: languages, Data: absolute(data)}
	res, err := p.do(ctx, j)
	if err != nil {
		return nil, err
	}
	return res.Seen, nil
}

// recognise draws a page and reads it. Tesseract and its data are loaded before the job begins: then nothing of the
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
		composed, err := ocr.Compose(words, drawing.Gray.Rect.Size(), drawing.Number)
		page = &composed
		return err
	})
	return page, err
}
