package pageview

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/retrieval"
)

// folder holds originals by their hash.
type folder string

func (f folder) Open(sha string) (*os.File, error) { return os.Open(filepath.Join(string(f), sha)) }

func kindOf(err error) chat.Kind {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e.Kind
	}
	return 0
}

func TestViewer_ShowsAnImageFileAsItIs(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "abc"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	v := New(folder(dir), nil)
	d := retrieval.Document{SHA256: "abc", MediaType: "image/jpeg"} // as its name says, wrongly

	p, err := v.Picture(t.Context(), d, 1, 500)
	if err != nil || !bytes.Equal(p.Data, file.Bytes()) {
		t.Errorf("%d bytes, error %v", len(p.Data), err)
	}
	m, err := v.Measure(t.Context(), d, retrieval.Page{Number: 1}, nil)
	if err != nil || m.Width != 30 || m.Height != 20 {
		t.Errorf("%+v, error %v", m, err)
	}
	url, err := v.DataURL(t.Context(), d, 1)
	if err != nil || !strings.HasPrefix(url, "data:image/png;base64,") {
		t.Errorf("%.40s, error %v", url, err)
	}
}

func TestViewer_SaysWhyThereIsNoPicture(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "svg"), []byte("<svg/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := New(folder(dir), nil)
	gone := retrieval.Document{SHA256: "gone", MediaType: "image/png"}
	if _, err := v.Picture(t.Context(), gone, 1, 500); kindOf(err) != chat.NotFound {
		t.Errorf("an original that is gone: %v", err)
	}
	if _, err := v.DataURL(t.Context(), gone, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an original that is gone, for a model: %v", err)
	}
	if _, err := v.DataURL(t.Context(), retrieval.Document{SHA256: "svg", MediaType: "image/svg+xml"}, 1); err == nil {
		t.Error("a model was given an SVG file")
	}
	text := retrieval.Document{SHA256: "svg", MediaType: "text/plain"}
	if _, err := v.Picture(t.Context(), text, 1, 500); kindOf(err) != chat.NotFound {
		t.Errorf("a document without pictures: %v", err)
	}
}

func TestOnce_DrawsForAllWhoWait_AlsoWhenTheFirstLeaves(t *testing.T) {
	v := New(folder(t.TempDir()), nil)
	var drawn atomic.Int32
	begun, goOn := make(chan struct{}), make(chan struct{})
	draw := func(ctx context.Context) (Picture, error) {
		if drawn.Add(1) == 1 {
			close(begun)
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return Picture{MediaType: "image/png"}, ctx.Err()
	}
	first, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := once(first, v, "page", draw); !errors.Is(err, context.Canceled) {
			t.Errorf("the first, who left: %v", err)
		}
	})
	<-begun
	for range 4 {
		all.Go(func() {
			if p, err := once(t.Context(), v, "page", draw); err != nil || p.MediaType != "image/png" {
				t.Errorf("%+v, error %v", p, err)
			}
		})
	}
	leave()
	time.AfterFunc(20*time.Millisecond, func() { close(goOn) })
	all.Wait()
	if _, err := once(t.Context(), v, "page", draw); err != nil {
		t.Error(err)
	}
	if n := drawn.Load(); n != 1 {
		t.Errorf("drawn %d times", n)
	}
}

func TestOnce_RefusesMoreThanItCanDraw(t *testing.T) {
	v := New(folder(t.TempDir()), nil)
	for range maxDrawing {
		v.drawing <- struct{}{}
	}
	_, err := once(t.Context(), v, "page", func(context.Context) (Picture, error) { return Picture{}, nil })
	if kindOf(err) != chat.Unavailable {
		t.Errorf("error %v", err)
	}
}
