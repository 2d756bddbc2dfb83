// Package format is the table of file formats. Everything that depends on the format of a file
// reads it: what is uploaded, crawled and indexed, which names look like citations, how a page is
// shown, what the benchmark and the fuzz targets cover, and the documentation.
//
// A new format is a row of Table and a file in package extract with the function that reads it.
package format

import (
	"path"
	"slices"
	"strings"
)

// Format describes a file format.
type Format struct {
	Name string // as people call it: "PDF", "Excel"

	// Extensions are in lower case without the dot, the usual one first. Only documents have names
	// that end like this: "[a.pdf]" in an answer is taken for a citation.
	Extensions []string
	// Rare extensions stand for the format too, but are unusual, or are words or domains as well
	// ("org"), so that a name that ends like this need not be a document's.
	Rare []string

	Media   []Media
	View    View   // empty: files of the format give no pages of their own
	Members bool   // the files consist of other files, each of which becomes a document
	Web     bool   // linked files of a web site are read; other formats only when named by URL
	Reads   string // what is read, for docs/ingestion.md
	Limits  string // known parts that are not read, for the same table; empty if there are none

	Binary bool // the files are not text
	Vague  bool // text whose extension does not tell its format, so that its content is looked at

	Signatures []string // with which the files begin
	Within     int      // a signature may begin within this many bytes; 0: at the start only
	Roots      []string // first elements of XML files, as "prefix:name"

	Unread bool // known by name only: there is no reader
	Sealed bool // unread, and never the extension of a file that is really of another format
}

// Media is a media type of a format.
type Media struct {
	Type       string
	Extensions []string // of the files that get this type
	Page       string   // extension under which a web page of this type is read; empty: it is not read
}

// View says how the page viewer shows a page.
type View string

// The views.
const (
	Image    View = "image"
	Markdown View = "markdown"
	HTML     View = "html"
	Sheet    View = "table"
	Slide    View = "slide"
	Text     View = "text"
)

// Ext returns the extension of a file name in lower case, without the dot.
func Ext(name string) string {
	return strings.ToLower(strings.TrimSpace(strings.TrimPrefix(path.Ext(strings.ReplaceAll(name, `\`, "/")), ".")))
}

// ByExtension returns the format that an extension stands for, which may be an unread one; nil if
// the extension is unknown.
func ByExtension(ext string) *Format {
	return first(func(f *Format) bool {
		return slices.Contains(f.Extensions, ext) || slices.Contains(f.Rare, ext)
	})
}

// Named returns the format of a name, nil if there is none.
func Named(name string) *Format {
	return first(func(f *Format) bool { return f.Name == name })
}

func first(matches func(*Format) bool) *Format {
	for i := range Table {
		if matches(&Table[i]) {
			return &Table[i]
		}
	}
	return nil
}

// NameOf returns the name of the format that a file name stands for, and for an unknown extension
// the extension with its dot.
func NameOf(file string) string {
	ext := Ext(file)
	switch f := ByExtension(ext); {
	case f != nil:
		return f.Name
	case ext == "":
		return "no extension"
	}
	return "." + strings.ToValidUTF8(ext, "?")
}

// MediaType returns the media type of files with an extension; empty if only their bytes tell it.
func MediaType(ext string) string {
	_, m := media(func(_ *Format, m Media) bool { return slices.Contains(m.Extensions, ext) })
	return m.Type
}

// ExtensionOf returns the extension, with its dot, of files of a media type; empty if the type is unknown. If several formats
// have the type, the extension is the one under which web pages of that type are read: text/plain is plain text, not a wiki's.
func ExtensionOf(mediaType string) string {
	if ext := PageExtension(mediaType); ext != "" {
		return "." + ext
	}
	f, m := media(func(_ *Format, m Media) bool { return m.Type == mediaType })
	switch {
	case len(m.Extensions) > 0:
		return "." + m.Extensions[0]
	case f != nil:
		return "." + f.Extensions[0]
	}
	return ""
}

// PageExtension returns the extension under which a web page of a media type is read; empty if such
// pages are not read.
func PageExtension(mediaType string) string {
	_, m := media(func(_ *Format, m Media) bool { return m.Type == mediaType && m.Page != "" })
	return m.Page
}

// ViewOf returns how the pages of a document of a media type are shown.
func ViewOf(mediaType string) View {
	mediaType, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
	if f, _ := media(func(f *Format, m Media) bool { return m.Type == mediaType && f.View != "" }); f != nil {
		return f.View
	}
	return Text
}

func media(matches func(*Format, Media) bool) (*Format, Media) {
	for i := range Table {
		for _, m := range Table[i].Media {
			if matches(&Table[i], m) {
				return &Table[i], m
			}
		}
	}
	return nil, Media{}
}

// OnWeb reports whether a linked file with an extension is read although the server does not tell
// its media type.
func OnWeb(ext string) bool {
	f := ByExtension(ext)
	return f != nil && f.Web && slices.Contains(f.Extensions, ext)
}

// HasMembers reports whether files with an extension may consist of other files.
func HasMembers(ext string) bool {
	return slices.ContainsFunc(Table, func(f Format) bool {
		return f.Members && (slices.Contains(f.Extensions, ext) || slices.Contains(f.Rare, ext))
	})
}

// OfDocuments returns all extensions with which the names of documents end.
func OfDocuments() []string {
	var all []string
	for _, f := range Table {
		if f.View != "" {
			all = append(all, f.Extensions...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
