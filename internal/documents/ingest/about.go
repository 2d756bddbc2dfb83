package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"parley/internal/access"
	"parley/internal/extract"
	"parley/internal/text"
)

// layer is what one place says of a document. A nil field was not said.
type layer struct {
	Title     *string      `json:",omitempty"`
	URL       *string      `json:",omitempty"`
	Category  *string      `json:",omitempty"`
	Access    *access.List `json:",omitempty"`
	Passwords []string     `json:",omitempty"`
	Namespace *string      `json:",omitempty"`

	SkipSections []string `json:",omitempty"` // see Site
	MaxChunks    int      `json:",omitempty"`
}

// over lays what another place says over what was said so far. Users and groups belong together:
// who says either replaces both. Passwords add up.
func (l layer) over(by layer) layer {
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
	if by.SkipSections != nil {
		l.SkipSections = by.SkipSections
	}
	if by.MaxChunks > 0 {
		l.MaxChunks = by.MaxChunks
	}
	l.Passwords = append(append([]string(nil), by.Passwords...), l.Passwords...)
	return l
}

// about is what is said of a file outside of it: the defaults of its folders, which the file's own
// front matter replaces, and what names the file, which replaces the front matter.
type about struct {
	Defaults layer
	Says     layer
	Sidecar  layer `json:"-"` // its part of Says
}

// hash tells one about from another; it is "" when nothing is said.
func (a about) hash() string {
	data, err := json.Marshal(a)
	if err != nil || string(data) == `{"Defaults":{},"Says":{}}` {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// aboutFile gathers what is said of a file at a path relative to the root, from the rules of its
// folders and from its sidecar, which lies beside it in t under its name there. The hash changes
// with what is said, and with what is wrong with it; it is unreadable when that cannot be known.
func aboutFile(r *rules, t tree, file string, around []string, name string) (a about, hash string, err error) {
	a, err = r.about(file, around)
	if err == nil && name != "" {
		a.Sidecar, err = readSidecar(t, name)
		a.Says = a.Says.over(a.Sidecar)
	}
	switch {
	case errors.As(err, new(*unreadError)):
		return about{}, unreadable, err
	case err != nil:
		sum := sha256.Sum256([]byte(err.Error()))
		return about{}, hex.EncodeToString(sum[:]), err
	}
	return a, a.hash(), nil
}

// unreadable stands for the hash of what cannot be read; no row ever has it.
const unreadable = "unreadable"

// passwords are those to try on a file, the nearest first.
func (a about) passwords() []string {
	return append(append([]string(nil), a.Says.Passwords...), a.Defaults.Passwords...)
}

// namespace is the one that is said of a file outside of it; nil for none.
func (a about) namespace() *string { return a.Defaults.over(a.Says).Namespace }

// metadata is what a document is stored with.
type metadata struct {
	title, url, category string
	namespace            *string // nil when nothing names one
	access               access.List
}

// describe merges what a document says of itself with what is said about it.
func describe(doc *extract.Document, a about, file string) (metadata, error) {
	own := layer{Title: said(doc.Meta.Title), Category: said(doc.Meta.Category), Namespace: said(doc.Meta.Namespace)}
	if isWebURL(doc.Meta.URL) {
		own.URL = said(doc.Meta.URL)
	}
	if len(doc.Meta.Users)+len(doc.Meta.Groups) > 0 {
		own.Access = &access.List{Users: doc.Meta.Users, Groups: doc.Meta.Groups}
	}
	all := a.Defaults.over(own).over(a.Says)
	m := metadata{
		title: value(all.Title), url: value(all.URL), category: text.OneLine(value(all.Category)), namespace: all.Namespace,
	}
	if all.Access != nil {
		m.access = *all.Access
	}
	for _, name := range append(append([]string{}, m.access.Users...), m.access.Groups...) {
		if strings.TrimSpace(name) == "" {
			return metadata{}, errors.New("one of the users or groups that may see it has no name")
		}
	}
	for _, title := range []string{m.title, doc.Title, strings.TrimSuffix(file, filepath.Ext(file)), file} {
		if m.title = text.OneLine(title); m.title != "" {
			return m, nil
		}
	}
	m.title = "untitled"
	return m, nil
}

func said(s string) *string {
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

// below returns the address of a file whose folder has one.
func addressBelow(base, rel string) string {
	parts := strings.Split(path.Clean(rel), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.TrimRight(base, "/") + "/" + strings.Join(parts, "/")
}
