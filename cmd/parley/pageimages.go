package main

import (
	"container/list"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"parley/internal/extract"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// The limits of pictures of sources.
const (
	pagePixels     = 1500     // of the longer side: small print can be read
	maxImageBytes  = 5 << 20  // of an image file; providers take about as much
	keptImageBytes = 64 << 20 // of data: URLs that are kept for the next question
)

// pageImages draws pages of stored documents. It is safe for concurrent use.
type pageImages struct {
	blobs *store.Blobs
	pool  *extract.Pool

	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of keptImage, the one used last in front
	size  int
}

type keptImage struct{ key, url string }

func newPageImages(blobs *store.Blobs, pool *extract.Pool) *pageImages {
	return &pageImages{blobs: blobs, pool: pool, byKey: map[string]*list.Element{}, used: list.New()}
}

// url returns a page, or an image file, as a data: URL.
func (p *pageImages) url(ctx context.Context, d retrieval.Document, page int) (string, error) {
	key := fmt.Sprintf("%s#%d", d.SHA256, page)
	if url, ok := p.kept(key); ok {
		return url, nil
	}
	f, err := p.blobs.Open(d.SHA256)
	if err != nil {
		return "", fmt.Errorf("open the original: %w", err)
	}
	defer f.Close()
	var data []byte
	media := d.MediaType
	if strings.HasPrefix(media, "image/") {
		data, media, err = readImage(f)
	} else {
		data, media, err = p.draw(ctx, f, page)
	}
	if err != nil {
		return "", err
	}
	url := "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data)
	p.keep(key, url)
	return url, nil
}

func (p *pageImages) draw(ctx context.Context, f *os.File, page int) ([]byte, string, error) {
	img, err := p.pool.Render(ctx, extract.Request{Name: "original.pdf", Path: f.Name()}, page, pagePixels)
	if err != nil {
		return nil, "", err
	}
	return img.Data, img.MediaType, nil
}

// readImage returns an image file as it is. Its bytes say what it is, since models refuse a wrong
// media type.
func readImage(r io.Reader) ([]byte, string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImageBytes+1))
	if err != nil {
		return nil, "", fmt.Errorf("read the image: %w", err)
	}
	if len(data) > maxImageBytes {
		return nil, "", fmt.Errorf("the image is larger than %d bytes", maxImageBytes)
	}
	switch media := http.DetectContentType(data); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return data, media, nil
	default:
		return nil, "", fmt.Errorf("%s is no image that models read", media)
	}
}

func (p *pageImages) kept(key string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byKey[key]
	if !ok {
		return "", false
	}
	p.used.MoveToFront(e)
	return e.Value.(keptImage).url, true
}

func (p *pageImages) keep(key, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.byKey[key]; ok {
		return // two turns drew it at once
	}
	p.byKey[key] = p.used.PushFront(keptImage{key, url})
	p.size += len(url)
	for p.size > keptImageBytes && p.used.Len() > 1 {
		last := p.used.Back()
		old := p.used.Remove(last).(keptImage)
		delete(p.byKey, old.key)
		p.size -= len(old.url)
	}
}
