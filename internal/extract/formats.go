package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/extract/cfb"
	"parley/internal/format"
)

// reader reads the files of one format.
type reader struct {
	read func(context.Context, *file) (*Document, error)

	// load makes the parser ready. Optional.
	load func(*Extractor, *file) error
	// looks reports whether the content shows the format. It is asked for every file if the format is
	// binary, and else for texts whose extension does not tell their format. Optional.
	looks func(*file) bool
}

// readers has the reader of each format by its name in format.Table.
var readers = map[string]reader{}

// reads registers the reader of a format, so that a format needs no more than its row in
// format.Table and its own file here. It panics if the table has no such format.
func reads(name string, r reader) reader { //nolint:unparam // the result lets a declaration of a variable call it
	if f := format.Named(name); f == nil || f.Unread || readers[name].read != nil {
		panic("extract: a reader for " + name + ", which is not a row of its own in format.Table")
	}
	readers[name] = r
	return r
}

// Supports reports whether a file is worth reading: by its name alone while head, its first bytes,
// is nil. A name is a reason to leave a file alone when it stands for a format that is known not
// to be read; its first bytes are when they belong to no format here.
func Supports(name string, head []byte) bool {
	f := newFile(name, bytes.NewReader(head), int64(len(head)))
	f.head = head
	known := format.ByExtension(f.ext)
	switch {
	case f.kind != nil:
		return true
	case head == nil:
		return known == nil || !known.Sealed
	}
	for _, container := range []string{"PK\x03\x04", "PK\x05\x06", cfb.Magic} {
		if bytes.HasPrefix(head, []byte(container)) {
			return true
		}
	}
	found, err := recognise(f)
	return err == nil && found != nil
}

// recognise finds the format of a file: by its content where that is unmistakable, else by its
// extension.
func recognise(f *file) (*format.Format, error) {
	found, err := sniff(f)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = sniffText(f)
	}
	if found == nil {
		found = format.ByExtension(f.ext)
	}
	switch {
	case found != nil && found.Unread:
		return nil, unsupported(found.Name)
	case found != nil:
		return found, nil
	case f.ext != "":
		return nil, unsupported("." + strings.ToValidUTF8(f.ext, "?"))
	case looksLikeText(f.head):
		return format.Named("plain text"), nil
	}
	return nil, unsupported("this kind of")
}

func unsupported(name string) *Error {
	return &Error{Reason: Unsupported, Detail: name + " files are not read", Format: name}
}

// sniff returns the format that the content shows, nil when the content does not tell. It fails for
// a file that is known not to be readable, whatever its parser.
func sniff(f *file) (*format.Format, error) {
	for i, known := range format.Table {
		for _, s := range known.Signatures {
			if at := bytes.Index(f.head[:min(len(f.head), max(known.Within, len(s)))], []byte(s)); at >= 0 {
				return &format.Table[i], nil
			}
		}
	}
	switch {
	case bytes.HasPrefix(f.head, []byte("PK\x03\x04")), bytes.HasPrefix(f.head, []byte("PK\x05\x06")):
		name, err := sniffZIP(f)
		return format.Named(name), err
	case bytes.HasPrefix(f.head, []byte(cfb.Magic)):
		name, err := sniffOLE(f)
		return format.Named(name), err
	}
	return looked(f, true), nil
}

// looked returns the first binary or text format whose reader takes the content for its own.
func looked(f *file, binary bool) *format.Format {
	for i, known := range format.Table {
		if r := readers[known.Name]; known.Binary == binary && r.looks != nil && r.looks(f) {
			return &format.Table[i]
		}
	}
	return nil
}

// sniffText returns the format of a text whose extension does not tell it: an extension that is not
// known, that stands for any text, or for a format that is no text. A web page saved under the
// name of what was asked for is common; a text about HTML is not HTML.
func sniffText(f *file) *format.Format {
	if f.kind != nil && !f.kind.Vague && !f.kind.Binary {
		return nil
	}
	if root := xmlRoot(f.head); root != nil && (root.Name != "HTML" || looksLikeXML(f.head)) {
		return root
	}
	return looked(f, false)
}

// xmlRoot returns the format of an XML file by its first element, nil when it is not a known one.
func xmlRoot(head []byte) *format.Format {
	d := newXML(bytes.NewReader(head))
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

// sniffZIP tells the formats that are ZIP archives apart. An archive that does not open is left
// to the parser of its extension, which reports it as damaged.
func sniffZIP(f *file) (string, error) {
	archive, err := openZIP(f)
	if err != nil {
		if f.kind == nil {
			return "ZIP archive", nil
		}
		return "", err
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(archive.File, func(e *zip.File) bool { return strings.HasPrefix(e.Name, prefix) })
	}
	byName := ""
	if f.kind != nil {
		byName = f.kind.Name
	}
	isOOXML := slices.Contains([]string{"Word", "Excel", "PowerPoint"}, byName)
	if isOOXML || has("[Content_Types].xml") {
		switch {
		case has("word/"):
			return "Word", nil
		case has("xl/workbook.bin"):
			return "Excel binary", nil
		case has("xl/"):
			return "Excel", nil
		case has("ppt/"):
			return "PowerPoint", nil
		case isOOXML:
			return byName, nil
		}
	}
	if has("META-INF/container.xml") {
		return "EPUB", nil
	}
	if has("content.xml") {
		if name := openDocumentType(archive); name != "" {
			return name, nil
		}
		if strings.HasPrefix(byName, "OpenDocument ") {
			return byName, nil // its type cannot be read
		}
	}
	return "ZIP archive", nil
}

// openDocumentType reads the media type that stands in the archive (OpenDocument 1.3 part 2,
// section 3.3), in which old documents have another vendor.
func openDocumentType(archive *container) string {
	part, err := openPart(archive, "mimetype")
	if err != nil || part == nil {
		return ""
	}
	defer part.Close()
	media, err := io.ReadAll(io.LimitReader(part, 100))
	if err != nil {
		return ""
	}
	for _, kind := range []struct{ words, name string }{
		{"text writer", "OpenDocument text"},
		{"spreadsheet calc", "OpenDocument spreadsheet"},
		{"presentation graphics impress draw", "OpenDocument presentation"},
	} {
		for word := range strings.FieldsSeq(kind.words) {
			if strings.Contains(string(media), "."+word) {
				return kind.name
			}
		}
	}
	return ""
}

// sniffOLE looks into a compound file: a message of Outlook, or the old Office formats.
func sniffOLE(f *file) (string, error) {
	known := format.ByExtension(f.ext)
	c, err := cfb.Open(f.r, f.size)
	if err != nil {
		if known != nil && known.Unread {
			return known.Name, nil
		}
		return "", damaged("the file is cut off or broken")
	}
	for _, sign := range []struct{ stream, format string }{
		{"__properties_version1.0", "Outlook message"}, {"WordDocument", "Word 97–2003"},
		{"Workbook", "Excel 97–2003"}, {"Book", "Excel 97–2003"}, {"PowerPoint Document", "PowerPoint 97–2003"},
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

func looksLikeHTML(head []byte) bool {
	start := strings.ToLower(string(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// looksLikeMail recognises a message by its head: several fields that every message has, and
// nothing else before the first blank line.
func looksLikeMail(head []byte) bool {
	lines := strings.Split(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n")
	usual := map[string]bool{}
	for i, line := range lines {
		switch {
		case line == "" || i == len(lines)-1:
			return len(usual) >= 3
		case line[0] == ' ' || line[0] == '\t':
			continue
		}
		name, _, ok := strings.Cut(line, ":")
		if !ok || strings.ContainsAny(name, " \t") || name == "" {
			return false
		}
		switch strings.ToLower(name) {
		case "from", "to", "subject", "date", "message-id", "received", "mime-version", "return-path", "newsgroups":
			usual[strings.ToLower(name)] = true
		}
	}
	return false
}

func looksLikeXML(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"), []byte("<?xml "))
}

// looksLikeText reports whether the start of a file is UTF-8 without control characters. The
// last character may have been cut.
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
