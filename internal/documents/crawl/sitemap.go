package crawl

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"io"
	"net/url"
	"strings"

	"parley/internal/fetch"
)

// The limits of sitemaps (https://www.sitemaps.org/protocol.html allows more).
const (
	maxSitemaps     = 10
	maxSitemapLinks = 10_000
	maxSitemapBytes = 10 << 20 // of a decompressed sitemap, as of any page
)

// unpacked returns a reader of a sitemap, decompressed if necessary. It decides by the first bytes,
// since names and media types differ from server to server. It decompresses while reading, up to the
// limit.
func unpacked(body []byte) io.Reader {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return bytes.NewReader(body)
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return bytes.NewReader(nil)
	}
	return io.LimitReader(z, maxSitemapBytes)
}

// readSitemap returns the addresses in a sitemap: pages, or further sitemaps. If the sitemap is broken
// or too large, it returns the addresses before that place.
func readSitemap(body []byte) (pages, sitemaps []string) {
	d := xml.NewDecoder(unpacked(body))
	d.Strict = false
	parent := ""
	for len(pages)+len(sitemaps) < maxSitemapLinks {
		token, err := d.Token()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "url", "sitemap":
			parent = start.Name.Local
		case "loc":
			var address string
			if d.DecodeElement(&address, &start) != nil {
				return pages, sitemaps
			}
			if address = strings.TrimSpace(address); parent == "sitemap" {
				sitemaps = append(sitemaps, address)
			} else {
				pages = append(pages, address)
			}
		}
	}
	return pages, sitemaps
}

// addSitemaps adds the pages of a site's sitemaps to the walk's list.
func (w *walk) addSitemaps(ctx context.Context, declared []string) error {
	read := map[string]bool{}
	for len(declared) > 0 && len(read) < maxSitemaps {
		address, err := Normalise(declared[0])
		declared = declared[1:]
		if err != nil || read[address] || !w.onHost(address) {
			continue
		}
		read[address] = true
		pages, more, err := w.sitemap(ctx, address)
		if err != nil {
			return err
		}
		declared = append(declared, more...)
		for _, page := range pages {
			if u, err := url.Parse(page); err == nil {
				w.push(item{url: u, depth: 1, linked: true})
			}
		}
	}
	return nil
}

func (w *walk) onHost(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host == w.scope.host
}

// sitemap reads one sitemap. If that fails, it returns no addresses. Links to further sitemaps are
// remembered with an exclamation mark before them.
func (w *walk) sitemap(ctx context.Context, address string) (pages, more []string, err error) {
	remembered := w.memory[address].State
	if len(remembered.Links) == 0 {
		remembered = State{} // an earlier version may have read it without decompressing it
	}
	if err := w.pause(ctx, robots{}); err != nil {
		return nil, nil, err
	}
	page, err := w.crawler.get.Get(ctx, address, fetch.Known{ETag: remembered.ETag, LastModified: remembered.LastModified})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	state := remembered
	if err == nil && !page.NotModified {
		state = State{ETag: page.ETag, LastModified: page.LastModified}
		found, further := readSitemap(page.Body)
		for _, link := range found {
			if u, err := Normalise(link); err == nil && w.onHost(u) {
				state.Links = append(state.Links, u)
			}
		}
		for _, link := range further {
			state.Links = append(state.Links, "!"+link)
		}
		w.note(address, state)
	}
	for _, link := range state.Links {
		if further, ok := strings.CutPrefix(link, "!"); ok {
			more = append(more, further)
		} else {
			pages = append(pages, link)
		}
	}
	return pages, more, nil
}
