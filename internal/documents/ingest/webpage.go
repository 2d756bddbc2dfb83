package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"parley/internal/documents/crawl"
	"parley/internal/documents/metadata"
	"parley/internal/fetch"
	"parley/internal/format"
)

// webPage is a web page that will become a document.
type webPage struct {
	body  []byte
	sha   string // of the original body, in hex
	state string // for the row, see pageState
	file  string // a file name whose extension tells the format
	title string // title if the page has none; may be ""
	first bool   // the page is the URL of the site
	url   string
	site  *Site
}

// pageState is the part of a page that its row keeps for the next run.
type pageState struct {
	crawl.State
	File string `json:"file,omitempty"` // webPage.file
}

func (s pageState) encode() (string, error) {
	if s.File == "" && s.ETag == "" && s.LastModified == "" && s.To == "" && s.Robots == "" && len(s.Links) == 0 {
		return "", nil
	}
	data, err := json.Marshal(s)
	return string(data), err
}

// decodePageState reads the result of encode. It returns a zero pageState for invalid text.
func decodePageState(text string) (s pageState) {
	if text == "" || json.Unmarshal([]byte(text), &s) != nil {
		return pageState{}
	}
	return s
}

// newWebPage makes a page of a visit.
func newWebPage(v crawl.Visit, site *Site) (*webPage, error) {
	p := &webPage{
		body: inUTF8(v.Page), sha: v.SHA256, title: v.Title, first: v.First, url: v.URL, site: site,
		file: pageFile(v),
	}
	state, err := pageState{v.State, p.file}.encode()
	p.state = state
	return p, err
}

// about returns the metadata of a page from its address and title. What the page itself claims about its
// namespace does not count.
func (p *webPage) about() metadata.Said { return metadata.OfPage(p.url, p.title) }

// suffix identifies the options of a site that change how its pages are indexed; "" for none.
func (p *webPage) suffix() string { return p.site.suffix() }

func (s *Site) suffix() string {
	if len(s.SkipSections) == 0 && s.MaxChunks <= 0 {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", s.SkipSections, s.MaxChunks))
	return "+" + hex.EncodeToString(sum[:])
}

// innerKey returns the prefix of the keys of nested files. Addresses below a page's address may be other
// pages, so the nested files of a page follow a fragment, which no page has.
func (c *candidate) innerKey() string {
	if c.page != nil {
		return c.key + "#"
	}
	return c.key
}

// pageOf returns the key of the page that contains a file, and whether there is one.
func pageOf(key string) (string, bool) {
	page, _, inside := strings.Cut(key, "#/")
	return page, inside
}

// keepPage puts a page into the blob store.
func (r *run) keepPage(ctx context.Context, c *candidate) (original, error) {
	head := c.page.body[:min(len(c.page.body), headBytes)]
	if !r.cfg.Supports(c.page.file, nil) || !r.cfg.Supports(c.page.file, head) {
		return original{}, &sourceError{errNoParser}
	}
	sha, n, err := r.cfg.Blobs.Put(ctx, bytes.NewReader(c.page.body))
	return original{sha: sha, seen: c.page.sha, bytes: n, size: n}, err
}

// untyped lists the media types of files whose type a server does not know.
var untyped = []string{"", "application/octet-stream", "binary/octet-stream", "application/download", "application/x-download"}

// AcceptsPage reports whether pages of a media type become documents: texts and office files do, data for
// programs and archives do not. It is for crawl.Options.
func AcceptsPage(mediaType, url string) bool {
	return format.PageExtension(mediaType) != "" ||
		slices.Contains(untyped, mediaType) && format.OnWeb(extensionOf(url))
}

// extensionOf returns the extension of an address, as format.Ext does.
func extensionOf(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return format.Ext(path.Base(url))
}

// pageFile returns a file name for a page. For text, the extension of the address is more specific than
// the media type.
func pageFile(v crawl.Visit) string {
	name, _, _ := strings.Cut(crawl.Name(v.URL), "?")
	name = path.Base(name)
	if v.Wiki {
		return name + ".wiki"
	}
	own := extensionOf(v.URL)
	if v.Page.MediaType == "text/plain" && format.OnWeb(own) && own != "html" && own != "htm" {
		return name
	}
	return nameOfType(name, v.Page.MediaType)
}

// nameOfType appends the extension of a media type to a name without an extension.
func nameOfType(name, mediaType string) string {
	ext := format.PageExtension(mediaType)
	if ext == "" || format.MediaType(format.Ext(name)) == mediaType {
		return name
	}
	return name + "." + ext
}

// inUTF8 returns the body of a page, converted to UTF-8 if only the server's header names its encoding.
// Encodings that the text itself declares or shows are left to the extractor.
func inUTF8(p *fetch.Page) []byte {
	if p.Charset == "" || !strings.HasPrefix(p.MediaType, "text/") && p.MediaType != "application/xhtml+xml" || utf8.Valid(p.Body) {
		return p.Body
	}
	if bytes.Contains(bytes.ToLower(p.Body[:min(len(p.Body), 4096)]), []byte("charset")) {
		return p.Body
	}
	enc, err := htmlindex.Get(p.Charset)
	if err != nil {
		return p.Body
	}
	text, err := enc.NewDecoder().Bytes(p.Body)
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
		return p.Body
	}
	return append([]byte("\ufeff"), text...)
}
