// Package metadata reads what is said about a document: its title, address, category, namespace, access
// list, and what is left out of it. This can be said in several places. Each of them gives Fields, and a
// later place in this order replaces the fields of an earlier one:
//
//  1. the parley.yaml of a folder, for all files below it; inner folders win
//  2. the document itself: front matter, <meta> elements, or the title of a web page
//  3. the entries in the parley.yaml of a folder that name the file; inner folders and later entries win
//  4. its sidecar, report.pdf.parley.yaml; the fields of an upload are stored as one
//
// Users and groups are replaced together. Passwords of all places are tried, the nearest first. A place
// that cannot be read, or is not valid, is an error: its document is not indexed, because a mistake must not
// let anybody in.
package metadata

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/extract"
	"parley/internal/text"
)

// Fields holds what one place says about a document. A nil field is not set.
type Fields struct {
	Title     *string      `json:",omitempty"`
	URL       *string      `json:",omitempty"`
	Category  *string      `json:",omitempty"`
	Access    *access.List `json:",omitempty"`
	Passwords []string     `json:",omitempty"`
	Namespace *string      `json:",omitempty"`

	Attributes attribute.Values `json:",omitempty"` // anything else; each key is a field of its own

	SkipSections []string `json:",omitempty"` // see Limits
	MaxChunks    int      `json:",omitempty"`
}

// over returns l, with the fields that by sets replaced.
func (l Fields) over(by Fields) Fields {
	if by.Title != nil {
		l.Title = by.Title
	}
	if by.URL != nil {
		l.URL = by.URL
	}
	if by.Category != nil {
		l.Category = by.Category
	}
	if by.Access != nil {
		l.Access = by.Access
	}
	if by.Namespace != nil {
		l.Namespace = by.Namespace
	}
	if len(by.Attributes) > 0 {
		all := maps.Clone(l.Attributes)
		if all == nil {
			all = attribute.Values{}
		}
		maps.Copy(all, by.Attributes)
		l.Attributes = all
	}
	if by.SkipSections != nil {
		l.SkipSections = by.SkipSections
	}
	if by.MaxChunks > 0 {
		l.MaxChunks = by.MaxChunks
	}
	l.Passwords = append(append([]string(nil), by.Passwords...), l.Passwords...)
	return l
}

// Inherited returns the fields that apply to files inside the file as well.
func (l Fields) Inherited() Fields {
	l.Title, l.URL = nil, nil
	return l
}

// WithMail returns the fields of files attached to a mail: l, with the sender, the recipients and the date in attributes
// unless l sets them. If attributes are not those of a mail, it returns l.
func (l Fields) WithMail(attributes json.RawMessage) Fields {
	all := attribute.Decode(attributes)
	if all["from"] == nil {
		return l
	}
	maps.DeleteFunc(all, func(key string, _ any) bool { return key != "from" && key != "to" && key != "date" })
	return Fields{Attributes: all}.over(l)
}

// Said holds what places other than the document itself say about a file.
type Said struct {
	Defaults Fields // replaced by the document's own fields
	Says     Fields // replace the document's own fields
	Sidecar  Fields `json:"-"` // the sidecar's part of Says
}

// Read collects what is said about a file at a path relative to the root: by the rules of its folders,
// and by its sidecar, which is beside the file in t. around holds the paths of the files that contain
// it, outermost first. name is the file's name in t, or "" if it has no sidecar. The hash changes with
// everything that is said, and with errors in it; it is Unreadable if a place cannot be read.
func Read(r *Rules, t Tree, file string, around []string, name string) (s Said, hash string, err error) {
	s, err = r.about(file, around)
	if err == nil && name != "" {
		s.Sidecar, err = readSidecar(t, name)
		s.Says = s.Says.over(s.Sidecar)
	}
	switch {
	case errors.As(err, new(*UnreadError)):
		return Said{}, Unreadable, err
	case err != nil:
		sum := sha256.Sum256([]byte(err.Error()))
		return Said{}, hex.EncodeToString(sum[:]), err
	}
	return s, s.hash(), nil
}

// Unreadable is the hash if a place cannot be read. It is never stored.
const Unreadable = "unreadable"

// hash returns a hash of the metadata, or "" if there are none.
func (s Said) hash() string {
	data, err := json.Marshal(s)
	if err != nil || string(data) == `{"Defaults":{},"Says":{}}` {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// OfPage returns the metadata of a web page: its address, and a title in case the page has none.
func OfPage(url, title string) Said {
	return Said{Says: Fields{URL: &url}, Defaults: Fields{Title: given(title)}}
}

// Passwords returns the passwords to try on the file, the nearest first.
func (s Said) Passwords() []string {
	return append(append([]string(nil), s.Says.Passwords...), s.Defaults.Passwords...)
}

// Namespace returns the namespace that places other than the file itself set; nil for none.
func (s Said) Namespace() *string { return s.Defaults.over(s.Says).Namespace }

// Limits returns what is left out of the file.
func (s Said) Limits() Limits {
	all := s.Defaults.over(s.Says)
	return Limits{all.SkipSections, all.MaxChunks}
}

// Document holds the metadata with which a document is stored.
type Document struct {
	Title, URL, Category string
	Namespace            *string // nil when no place names one
	Access               access.List
	Attributes           json.RawMessage // see package attribute; nil for none
}

// Of returns the metadata of a document, as the document itself and other places state it. A document without a
// title gets the name of its file.
func (s Said) Of(doc *extract.Document, file string) (Document, error) {
	own, err := ownFields(doc.Meta)
	if err != nil {
		return Document{}, err
	}
	if key := doc.Meta.Unknown; key != "" && own.Access == nil && s.Says.Access == nil {
		return Document{}, fmt.Errorf("its front matter has the key %s, which Parley does not read, so who may see the document is not known: "+
			"say it with users, groups, or everybody: public", text.Printable(key))
	}
	all := s.Defaults.over(own).over(s.Says)
	d := Document{
		Title: value(all.Title), URL: value(all.URL), Category: text.OneLine(value(all.Category)), Namespace: all.Namespace,
		Attributes: all.Attributes.Bounded().Encode(),
	}
	if all.Access != nil {
		d.Access = *all.Access
	}
	for _, name := range append(append([]string{}, d.Access.Users...), d.Access.Groups...) {
		if strings.TrimSpace(name) == "" {
			return Document{}, errors.New("one of the users or groups that may see it has no name")
		}
	}
	for _, title := range []string{d.Title, doc.Title, strings.TrimSuffix(file, filepath.Ext(file)), file} {
		if d.Title = text.OneLine(title); d.Title != "" {
			return d, nil
		}
	}
	d.Title = "untitled"
	return d, nil
}

// ownFields returns what a document says of itself.
func ownFields(m extract.Meta) (own Fields, err error) {
	own = Fields{Title: given(m.Title), Category: given(m.Category), Namespace: given(m.Namespace), Attributes: attribute.Decode(m.Attributes)}
	if isWebURL(m.URL) {
		own.URL = given(m.URL)
	}
	own.Access, err = listOf(m.Users, m.Groups, m.Everybody)
	return own, err
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// addressBelow returns the address of a file in a folder that has an address.
func addressBelow(base, rel string) string {
	parts := strings.Split(path.Clean(rel), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.TrimRight(base, "/") + "/" + strings.Join(parts, "/")
}
