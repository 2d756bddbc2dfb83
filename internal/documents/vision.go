package documents

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/image/draw"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/extract"
	"parley/internal/interrupt"
)

// Vision is a model that reads the pictures of pages.
type Vision struct {
	Model string // pages that another model has read are read again
	// Read returns the text on a picture, which is a JPEG file, as Markdown. An *extract.Error says that this picture cannot be
	// read; any other error says that no picture can be read at the moment.
	Read func(ctx context.Context, picture []byte) (markdown string, err error)
}

// sandboxed are the processes that draw pages, and that read pages and files.
type sandboxed interface {
	recogniser
	Draw(ctx context.Context, r extract.Request, page int) (*extract.Drawing, error)
	Extract(ctx context.Context, r extract.Request) (*extract.Result, error)
}

// modelReader has a model read pages, and Tesseract the pages that the model refuses.
type modelReader struct {
	sandboxed
	vision   *Vision
	refused  func(error) // called for each page that Tesseract reads instead
	refusals int         // pages in a row that the model has refused

	temporary func(name string) (string, error) // makes a folder
}

// maxRefusals is how many pages in a row a model may refuse before the job fails: then it probably reads no pictures at all.
const maxRefusals = 3

// visionError fails a job because the model reads no pages. It hides its cause, which may be an *extract.Error of one page.
type visionError struct{ cause error }

func (e *visionError) Error() string { return "read pages with a model: " + e.cause.Error() }

// failure is the error for people.
func (e *visionError) failure() error {
	return &job.FailureError{Msg: "Pages cannot be read by the model (ingest.ocr_model) at the moment; the next ingestion tries again. The log says why."}
}

// Recognise implements recogniser. The whole picture is the box of all text.
func (m *modelReader) Recognise(ctx context.Context, r extract.Request, page int, languages []string, data string) (*extract.Page, error) {
	drawing, err := m.Draw(ctx, r, page)
	if err != nil {
		return nil, err
	}
	picture, err := jpegOf(drawing.Gray)
	if err != nil {
		return nil, err
	}
	markdown, err := m.vision.Read(ctx, picture)
	if err == nil {
		m.refusals = 0
		return m.compose(ctx, markdown, drawing.Number)
	}
	refused, ok := errors.AsType[*extract.Error](err)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if m.refusals++; !ok || m.refusals == maxRefusals {
		m.refusals = 0
		return nil, &visionError{err}
	}
	m.refused(refused)
	seen, err := m.sandboxed.Recognise(ctx, r, page, languages, data)
	if failed, ok := errors.AsType[*extract.Error](err); ok {
		return nil, &extract.Error{Reason: failed.Reason, Detail: refused.Detail + ", and Tesseract fails: " + failed.Detail}
	}
	return seen, err
}

// The limits of a picture that is sent. Models scale larger ones down, or refuse them.
const (
	sentPixels  = 4_000_000
	sentSide    = 8000
	sentQuality = 85
)

// jpegOf encodes a picture for a model.
func jpegOf(img *image.Gray) ([]byte, error) {
	size := img.Rect.Size()
	scale := min(1, math.Sqrt(sentPixels/float64(size.X*size.Y)), sentSide/float64(max(size.X, size.Y)))
	if scale < 1 {
		small := image.NewGray(image.Rect(0, 0, max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))))
		draw.ApproxBiLinear.Scale(small, small.Rect, img, img.Rect, draw.Src, nil)
		img = small
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: sentQuality}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// compose reads the Markdown of a page in a process without rights: a page can tell a model what to write.
func (m *modelReader) compose(ctx context.Context, markdown string, number int) (*extract.Page, error) {
	dir, err := m.temporary("page")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "page.md")
	if err := os.WriteFile(file, []byte(plainMarkdown(markdown)), 0o600); err != nil {
		return nil, err
	}
	var result *extract.Result
	for i := 1; ; i++ { // try again: the answer was paid for
		result, err = m.Extract(ctx, extract.Request{Name: "page.md", Path: file, Post: ingest.KeepBlocks(ingest.SplitOptions{})})
		if refused, ok := errors.AsType[*extract.Error](err); !ok || refused.Reason != extract.Busy || i == busyTries {
			break
		}
		if interrupt.Sleep(ctx, time.Duration(i)*gatherTime) != nil {
			return nil, ctx.Err()
		}
	}
	if refused, ok := errors.AsType[*extract.Error](err); ok && refused.Reason == extract.Empty {
		return &extract.Page{Number: number}, nil
	}
	if err != nil {
		return nil, err
	}
	page := result.Document.Pages[0]
	page.Number = number
	page.Chars = []extract.Run{{Offset: 0, Char: 0}}
	page.Boxes = []extract.CharBox{{Char: 0, Box: extract.Box{Width: 1, Height: 1}}}
	return &page, nil
}

// plainMarkdown removes the fence around an answer, and lines at its beginning that would begin front matter.
func plainMarkdown(answer string) string {
	answer = strings.TrimSpace(answer)
	if first, rest, found := strings.Cut(answer, "\n"); found && (first == "```" || first == "```markdown" || first == "```md") {
		if inner, closed := strings.CutSuffix(rest, "```"); closed && !strings.Contains(inner, "```") {
			answer = strings.TrimSpace(inner)
		}
	}
	for {
		first, rest, _ := strings.Cut(answer, "\n")
		if line := strings.TrimSpace(first); line == "" || strings.Trim(line, "-+") != "" {
			return answer
		}
		answer = strings.TrimSpace(rest)
	}
}
