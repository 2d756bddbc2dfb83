package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/retrieval"
	"parley/internal/wire"
)

// inline lists the media types that browsers show without running any of their content. Everything else,
// above all HTML, SVG and XML, is offered as a download.
var inline = map[string]bool{
	"application/pdf": true,
	"text/plain":      true, "text/markdown": true, "text/csv": true,
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true,
}

// errNoDocument is the same for documents that do not exist and for those that the caller may not see.
var errNoDocument = wire.Refuse(http.StatusNotFound, "not_found", "There is no such document.")

// content serves the original of a document by its citation name. The URL's path is looked up as a name and
// never opened as a file. The caller sees the same documents as in searches. Byte ranges and conditional requests
// work as in http.ServeContent (RFC 9110 sections 13 and 14).
func (s *Server) content(w http.ResponseWriter, r *wire.Request) error {
	doc, err := s.document(r, strings.TrimPrefix(r.URL.Path, "/content/"))
	if err != nil {
		return err
	}
	blob, err := s.deps.Documents.OpenBlob(doc.SHA256)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, retrieval.ErrNotFound) {
		return errNoDocument // replaced or deleted since the lookup
	}
	if err != nil {
		return fmt.Errorf("open the original of %s: %w", doc.ID, err)
	}
	// Nothing was written to it, so an error of Close does not matter.
	defer func() { _ = blob.Close() }()
	contentType, err := typeOf(doc.MediaType, blob)
	if err != nil {
		return fmt.Errorf("read the original of %s: %w", doc.ID, err)
	}
	s.contentHeaders(w.Header(), doc, contentType)
	serveRanges(w, r.Request, blob)
	return nil
}

// document finds a document by name. It does not look up names that no document can have.
func (s *Server) document(r *wire.Request, name string) (retrieval.Document, error) {
	namespace, err := s.namespace(r)
	if err != nil {
		return retrieval.Document{}, err
	}
	filter := retrieval.Filter{Principal: r.Who, Namespace: namespace}
	for _, candidate := range []string{name, withoutPage(name)} {
		if !validName(candidate) {
			continue
		}
		doc, err := s.deps.Documents.Document(r.Context(), filter, candidate)
		if err == nil {
			return doc, nil
		}
		if !errors.Is(err, retrieval.ErrNotFound) {
			return retrieval.Document{}, fmt.Errorf("look up a document: %w", err)
		}
	}
	return retrieval.Document{}, errNoDocument
}

// namespace returns the namespace in ?namespace=, or the server's. Links in answers have the parameter if the
// document is in another namespace than the server's.
func (s *Server) namespace(r *wire.Request) (string, error) {
	name := r.URL.Query().Get("namespace")
	if name == "" || name == s.cfg.Namespace {
		return s.cfg.Namespace, nil
	}
	if s.deps.Namespaces == nil {
		return "", errNoDocument
	}
	names, err := s.deps.Namespaces(r.Context(), r.Who)
	if err != nil {
		return "", fmt.Errorf("list the namespaces: %w", err)
	}
	if !slices.Contains(names, name) {
		return "", errNoDocument
	}
	return name, nil
}

// withoutPage cuts "#page=3" from a citation, because some clients escape a whole citation, including
// the fragment. It returns "" if there is none.
func withoutPage(name string) string {
	i := strings.LastIndex(name, "#page=")
	if i < 0 {
		return ""
	}
	if _, err := strconv.ParseUint(name[i+len("#page="):], 10, 32); err != nil {
		return ""
	}
	return name[:i]
}

// validName reports whether a document can have the name, which must be a clean relative path in UTF-8.
func validName(name string) bool {
	const longest = 4096
	return name != "." && len(name) <= longest && fs.ValidPath(name) && !strings.ContainsRune(name, 0)
}

func (s *Server) contentHeaders(h http.Header, doc retrieval.Document, contentType string) {
	media, _, _ := strings.Cut(contentType, ";")
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", disposition(inline[media], path.Base(doc.Name)))
	h.Set("ETag", `"`+doc.SHA256+`"`)
	// Browsers may cache it, but must ask each time whether they may still show it.
	h.Set("Cache-Control", "private, no-cache")
	// Front ends on other origins show documents in frames and images.
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Content-Security-Policy", s.contentPolicy(media))
}

// contentPolicy forbids a document to load or run anything, and forbids untrusted pages to frame it. Chromium
// shows a PDF with a plugin in a page of its own, to which the policy applies, too: "sandbox" would prevent it
// from showing anything (https://issues.chromium.org/issues/41131921), and the page needs its inline style and
// its object. A script in a PDF runs in the viewer, not in this origin.
func (s *Server) contentPolicy(media string) string {
	policy := "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors " + s.trust.frameAncestors()
	if media == "application/pdf" {
		return policy + "; object-src 'self'"
	}
	return policy + "; sandbox"
}

// disposition follows RFC 6266: an ASCII file name for old clients, and the real name.
func disposition(show bool, name string) string {
	kind := "attachment"
	if show {
		kind = "inline"
	}
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/;`, r) {
			return '_'
		}
		return r
	}, name)
	// RFC 8187 section 3.2.1 allows less than a path segment of a URL does.
	encoded := strings.NewReplacer("+", "%2B", "'", "%27", "(", "%28", ")", "%29", "*", "%2A",
		"=", "%3D", "@", "%40", ":", "%3A", ",", "%2C", ";", "%3B").Replace(url.PathEscape(name))
	return kind + `; filename="` + ascii + `"; filename*=UTF-8''` + encoded
}

// typeOf returns the content type of an original. It includes the charset if the beginning of the text shows
// it, because browsers would otherwise guess. It leaves the blob at its start.
func typeOf(mediaType string, blob io.ReadSeeker) (string, error) {
	media, _, _ := mime.ParseMediaType(mediaType)
	if media == "" {
		return "application/octet-stream", nil
	}
	if !strings.HasPrefix(media, "text/") {
		return media, nil
	}
	const enough = 64 << 10
	head, err := io.ReadAll(io.LimitReader(blob, enough))
	if err != nil {
		return "", fmt.Errorf("read the beginning: %w", err)
	}
	if _, err := blob.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("go back to the beginning: %w", err)
	}
	if charset := charsetOf(head, len(head) == enough); charset != "" {
		return media + "; charset=" + charset, nil
	}
	return media, nil
}

// charsetOf recognises byte order marks and UTF-8. It leaves other encodings to the browser.
func charsetOf(head []byte, cut bool) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "utf-16be"
	}
	if cut {
		head = wholeRunes(head)
	}
	if utf8.Valid(head) {
		return "utf-8"
	}
	return ""
}

// wholeRunes drops an incomplete character at the end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
