package extract

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/extract/cfb"
	"parley/internal/extract/codepage"
	"parley/internal/format"
)

// Reader reads the files of one format. All functions except Read are optional.
type Reader struct {
	Read func(context.Context, *File) (*Document, error)

	// Looks reports whether the content shows the format. It is called for every file if the format is
	// binary, otherwise for texts whose extension does not tell their format.
	Looks func(*File) bool
	// Load returns a parser that is expensive to create. The Extractor keeps it until Close and passes
	// it on as File.Parser.
	Load func(cacheDir string, l Limits) (io.Closer, error)
	// Unlock decrypts the content of an encrypted file in place. It is called for every file before
	// the format is known, and leaves files of other formats alone.
	Unlock func(*File) error
	// Render draws a page, and Measure finds the positions of its characters.
	Render  func(context.Context, *File, Rendering) (*Image, error)
	Measure func(context.Context, *File, Measuring) (*Geometry, error)
	// Draw draws a page, from 1, for the recognition of its text: Document.Unread names such pages.
	Draw func(ctx context.Context, f *File, page int) (*Drawing, error)
}

// readers has the reader of each format by its name in format.Table.
var readers = map[string]Reader{}

// Register registers the reader of a format of format.Table. A format needs nothing else. Call it from
// the declaration of a variable. It panics if the table has no such format, or two readers claim it.
func Register(name string, r Reader) Reader {
	if f := format.Named(name); f == nil || f.Unread || readers[name].Read != nil {
		panic("extract: a reader for " + name + ", which is not a row of its own in format.Table")
	}
	readers[name] = r
	return r
}

// Unregister removes the reader of a format and returns it. It is for tests.
func Unregister(name string) Reader {
	r := readers[name]
	delete(readers, name)
	return r
}

// Supports reports whether a file is worth reading. If head, its first bytes, is nil, only the name
// counts, and only names of formats that are never read are refused.
func Supports(name string, head []byte) bool {
	f := newFile(name, bytes.NewReader(head), int64(len(head)))
	f.Head = head
	known := format.ByExtension(f.Ext)
	switch {
	case f.Kind != nil:
		return true
	case head == nil:
		return known == nil || !known.Sealed
	}
	if isZIP(head) || bytes.HasPrefix(head, []byte(cfb.Magic)) {
		return true
	}
	found, err := recognise(f)
	return err == nil && found != nil
}

// recognise returns the format of a file: by its content if that is unmistakable, otherwise by its
// extension.
func recognise(f *File) (*format.Format, error) {
	found, err := sniff(f)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = sniffText(f)
	}
	if found == nil {
		found = format.ByExtension(f.Ext)
	}
	switch {
	case found != nil && found.Unread:
		return nil, unsupported(found.Name)
	case found != nil:
		return found, nil
	case f.Ext != "":
		return nil, unsupported("." + strings.ToValidUTF8(f.Ext, "?"))
	case looksLikeText(f.Head):
		return format.Named("plain text"), nil
	}
	return nil, unsupported("this kind of")
}

func unsupported(name string) *Error {
	return &Error{Reason: Unsupported, Detail: name + " files are not read", Format: name}
}

// sniff returns the format that the content shows, nil if it shows none. The error is for files that no
// reader can read.
func sniff(f *File) (*format.Format, error) {
	for i, known := range format.Table {
		for _, s := range known.Signatures {
			if at := bytes.Index(f.Head[:min(len(f.Head), max(known.Within, len(s)))], []byte(s)); at >= 0 {
				return &format.Table[i], nil
			}
		}
	}
	switch {
	case sniffZIP != nil && isZIP(f.Head):
		name, err := sniffZIP(f)
		return format.Named(name), err
	case bytes.HasPrefix(f.Head, []byte(cfb.Magic)):
		name, err := sniffOLE(f)
		return format.Named(name), err
	}
	return looked(f, true), nil
}

func isZIP(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// sniffZIP returns the name of the format of a ZIP archive; nil until SniffsZIP is called.
var sniffZIP func(*File) (name string, err error)

// SniffsZIP registers the function that tells formats that are ZIP archives apart. Package zipxml calls
// it; the result lets the declaration of a variable do so.
func SniffsZIP(sniff func(*File) (name string, err error)) bool {
	sniffZIP = sniff
	return true
}

// looked returns the first format, binary or not, whose reader recognises the content.
func looked(f *File, binary bool) *format.Format {
	for i, known := range format.Table {
		if r := readers[known.Name]; known.Binary == binary && r.Looks != nil && r.Looks(f) {
			return &format.Table[i]
		}
	}
	return nil
}

// sniffText returns the format of a text whose extension says nothing about it: one that is unknown,
// stands for any text, or belongs to a binary format, as when an error page was saved as a.pdf. A text
// about HTML is not HTML.
func sniffText(f *File) *format.Format {
	if f.Kind != nil && !f.Kind.Vague && !f.Kind.Binary {
		return nil
	}
	if root := xmlRoot(f.Head); root != nil && (root.Name != "HTML" || LooksLikeXML(f.Head)) {
		return root
	}
	return looked(f, false)
}

// xmlRoot returns the format that the first element of an XML file shows, nil if it is unknown.
func xmlRoot(head []byte) *format.Format {
	d := codepage.NewXML(bytes.NewReader(head))
	for {
		token, err := d.RawToken()
		if err != nil {
			return nil
		}
		switch t := token.(type) {
		case xml.StartElement:
			root := t.Name.Space + ":" + t.Name.Local
			i := slices.IndexFunc(format.Table, func(f format.Format) bool { return slices.Contains(f.Roots, root) })
			if i < 0 {
				return nil
			}
			return &format.Table[i]
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil
			}
		}
	}
}

// sniffOLE returns the name of the format of a compound file: an Outlook message, or an old Office
// format.
func sniffOLE(f *File) (string, error) {
	known := format.ByExtension(f.Ext)
	c, err := cfb.Open(f.Content, f.Size)
	if err != nil {
		if known != nil && known.Unread {
			return known.Name, nil
		}
		return "", Damagedf("the file is cut off or broken")
	}
	for _, sign := range []struct{ stream, format string }{
		{"__properties_version1.0", "Outlook message"}, {"WordDocument", "Word 97–2003"},
		{"Workbook", "Excel 97–2003"}, {"Book", "Excel 97–2003"}, {"PowerPoint Document", "PowerPoint 97–2003"}, {"PP97_DUALSTORAGE", "PowerPoint 97–2003"},
	} {
		if c.Root().Named(sign.stream) != nil {
			return sign.format, nil
		}
	}
	if known != nil && known.Unread {
		return known.Name, nil
	}
	return "Office 97–2003", nil
}

// LooksLikeXML reports whether a file begins with an XML declaration.
func LooksLikeXML(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"), []byte("<?xml "))
}

// looksLikeText reports whether the start of a file is UTF-8 without control characters. The
// last character may be incomplete.
func looksLikeText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if r < ' ' && !strings.ContainsRune("\t\n\r\f", r) || r == 0x7f {
			return false
		}
		head = head[n:]
	}
	return true
}
