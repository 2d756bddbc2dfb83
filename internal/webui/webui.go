// Package webui embeds the built files of Parley's web page and serves them. The sources are in
// web/; dist holds their build, committed so that building Parley needs no Node.
//
// Browsers keep a file for ever if its name holds a hash of its content, and revalidate the others.
// A file may have compressed forms beside it (app.js.br, app.js.gz). The policy forbids inline code
// and resources of other origins.
//
//	site := webui.New()
//	site.Index(w, r)                // dist/index.html
//	ok := site.Asset(w, r, "app.js") // dist/assets/app.js; false: there is none
//	site.Embed(w, r, "'self' https://shop.example") // dist/embed.html, the chat that other sites frame
package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/lazyregexp"
)

//go:embed dist
var built embed.FS

// policy is the Content-Security-Policy (CSP level 3) of both pages, without the sources that may frame them at its end.
// Pictures of pages and pasted pictures come from this origin, or from data: or blob: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors "

// permissions disables browser features that the page does not use.
const permissions = "camera=(), display-capture=(), geolocation=(), microphone=(self), payment=(), serial=(), usb=()"

// hashed matches names with a content hash: app-3f9c2b1d.js, index.DkX0_a1B.css.
var hashed = lazyregexp.New(`[.-][0-9A-Za-z_]{8,}\.[0-9a-z]+$`)

// Site serves the page. Create it with New. It is safe for concurrent use.
type Site struct {
	files fs.FS

	mu   sync.Mutex
	read map[string]*file // cache by name; nil for missing files
}

// file is a served file in all its forms.
type file struct {
	forms     []form // smallest first, plain last
	mediaType string
}

type form struct {
	encoding string // value of Content-Encoding; "" for none
	tag      string
	body     []byte
}

// New returns the site that is built into the program.
func New() *Site {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return From(files)
}

// From returns a site of other files, with index.html and the folder assets.
func From(files fs.FS) *Site { return &Site{files: files, read: map[string]*file{}} }

// Index answers with the page.
func (s *Site) Index(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Content-Security-Policy", policy+"'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", permissions)
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	return s.serve(w, r, "index.html")
}

// Embed answers with the chat that pages of other origins show in a frame. ancestors is a CSP source list of
// those that may.
func (s *Site) Embed(w http.ResponseWriter, r *http.Request, ancestors string) bool {
	h := w.Header()
	h.Set("Content-Security-Policy", policy+ancestors)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", strings.Replace(permissions, "microphone=(self)", "microphone=()", 1))
	return s.serve(w, r, "embed.html")
}

// Loader answers with the script that shows that chat. Every page may load it; it finds out whether its page
// may show the chat.
func (s *Site) Loader(w http.ResponseWriter, r *http.Request) bool {
	return s.serve(w, r, loader)
}

// loader is the only file that pages of other origins load.
const loader = "embed.js"

// Asset answers with a file below dist/assets, and reports whether there is one.
func (s *Site) Asset(w http.ResponseWriter, r *http.Request, name string) bool {
	if !fs.ValidPath(name) || name == "." {
		return false
	}
	// An SVG opened directly is a document of this origin.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if s.serve(w, r, "assets/"+name) {
		return true
	}
	w.Header().Del("Content-Security-Policy")
	return false
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request, name string) bool {
	f := s.file(name)
	if f == nil {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if name == loader {
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("Cache-Control", "no-cache")
	if hashed.MatchString(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	best := f.best(r.Header.Get("Accept-Encoding"))
	h.Set("ETag", best.tag)
	if best.encoding != "" {
		h.Set("Content-Encoding", best.encoding)
		h.Set("Content-Length", strconv.Itoa(len(best.body)))
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(best.body))
	return true
}

// maxRead is the size limit of the cache, which also holds missing names.
const maxRead = 1000

// file returns a file of the site, or nil if it is missing.
func (s *Site) file(name string) *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.read[name]; ok {
		return f
	}
	f := s.open(name)
	if f != nil || len(s.read) < maxRead {
		s.read[name] = f
	}
	return f
}

func (s *Site) open(name string) *file {
	if ext := path.Ext(name); ext == ".br" || ext == ".gz" {
		return nil // a compressed form of another file
	}
	plain, err := fs.ReadFile(s.files, name)
	if err != nil {
		return nil
	}
	f := &file{mediaType: typeOf(name)}
	for _, c := range []struct{ encoding, suffix string }{{"br", ".br"}, {"gzip", ".gz"}} {
		if body, err := fs.ReadFile(s.files, name+c.suffix); err == nil && len(body) < len(plain) {
			f.forms = append(f.forms, newForm(c.encoding, body))
		}
	}
	if len(f.forms) == 0 && compressible(f.mediaType) {
		if body := zipped(plain); len(body) < len(plain) {
			f.forms = append(f.forms, newForm("gzip", body))
		}
	}
	f.forms = append(f.forms, newForm("", plain))
	return f
}

func compressible(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || mediaType == "image/svg+xml" || mediaType == "application/json" ||
		mediaType == "application/manifest+json"
}

// zipped compresses a file with gzip. It runs here and not in the build, because compressors differ
// between versions and the committed files must be the same everywhere.
func zipped(plain []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	_, _ = w.Write(plain) // a buffer accepts everything
	_ = w.Close()
	return b.Bytes()
}

func newForm(encoding string, body []byte) form {
	sum := sha256.Sum256(body)
	return form{encoding: encoding, body: body, tag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// typeOf does not use the system's table, which may lack or change types.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json", ".map":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".woff2":
		return "font/woff2"
	case ".wasm":
		return "application/wasm"
	}
	if t := mime.TypeByExtension(path.Ext(name)); strings.HasPrefix(t, "image/") {
		return t
	}
	return "application/octet-stream"
}

// best returns the best form that a client accepts (RFC 9110 section 12.5.3).
func (f *file) best(accept string) form {
	for _, form := range f.forms {
		if form.encoding == "" || takes(accept, form.encoding) {
			return form
		}
	}
	return f.forms[len(f.forms)-1]
}

func takes(accept, encoding string) bool {
	star := false
	for one := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(one, ";")
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		good := !weighted || err == nil && q > 0
		switch strings.ToLower(strings.TrimSpace(name)) {
		case encoding:
			return good
		case "*":
			star = good
		}
	}
	return star
}
