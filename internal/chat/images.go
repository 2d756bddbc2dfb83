package chat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// The limits for images of sources in a prompt.
const (
	maxImages    = 5
	imageTokens  = 1100             // approximate number of tokens that a model counts for a page
	imagesWithin = 10 * time.Second // for rendering all of them
)

// ImageFunc returns a picture of a document's page as a data: URL. Page 0 means that the document itself
// is an image.
type ImageFunc func(ctx context.Context, d retrieval.Document, page int) (string, error)

// sourceImage is the picture of a page from which the prompt has passages.
type sourceImage struct {
	label string
	url   string
}

// sourceImages returns pictures of the passages' pages, in the order of the passages, as many as fit
// into room tokens. It returns none unless the request wants them and the model reads images. The note says
// why pictures are missing; the model gets only the text of those pages.
func (t *turn) sourceImages(ctx context.Context, passages []retrieval.Passage, room int) (images []sourceImage, note string) {
	if t.req.Options.Images == ImagesOff {
		return nil, ""
	}
	if t.cfg.PageImage == nil || !t.sees() {
		return nil, "the model does not read images, so it gets only text"
	}
	ctx, cancel := context.WithTimeout(ctx, imagesWithin)
	defer cancel()
	room = min(room/imageTokens, maxImages)
	seen := map[string]bool{}
	for i := range passages {
		d := &passages[i].Document
		for _, s := range passages[i].Chunk.Spans {
			label := cite.Label(d.CitedAs(), s.Page)
			if seen[label] || len(images) >= room || !hasPictures(d, s.Page) {
				continue
			}
			seen[label] = true
			url, err := t.cfg.PageImage(ctx, *d, s.Page)
			if err != nil {
				t.cfg.Logger.WarnContext(ctx, "draw a page", "turn_id", t.req.TurnID, "document", d.Name, "page", s.Page, "error", err)
				note = "some pages could not be rendered"
				continue
			}
			images = append(images, sourceImage{label, url})
		}
	}
	return images, note
}

// sees reports whether the model of the turn reads images.
func (t *turn) sees() bool {
	return t.cfg.Capabilities != nil && t.cfg.Capabilities(t.model.key).Vision
}

// hasPictures reports whether a page can be rendered, or the document is an image.
func hasPictures(d *retrieval.Document, page int) bool {
	return d.MediaType == "application/pdf" && page > 0 || strings.HasPrefix(d.MediaType, "image/")
}

// textSources returns the sources that the model gets as text: all of them, or, if the request wants
// images only, those without an image.
func textSources(input ImageInput, sent []retrieval.Passage, sources []string, images []sourceImage) []string {
	if input != ImagesOnly || len(images) == 0 {
		return sources
	}
	shown := map[string]bool{}
	for _, image := range images {
		shown[image.label] = true
	}
	kept := []string{}
	for i, source := range sources {
		for _, label := range cite.Labels(&sent[i]) {
			if !shown[label] {
				kept = append(kept, source)
				break
			}
		}
	}
	return kept
}

// showImages appends the images to the last message, each after the name by which it is cited.
func showImages(messages []llm.Message, images []sourceImage) {
	last := &messages[len(messages)-1]
	for _, image := range images {
		last.Parts = append(last.Parts,
			llm.Part{Text: fmt.Sprintf("\nImage of the source %s:\n", image.label)}, llm.Part{Image: image.url})
	}
}
