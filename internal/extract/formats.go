package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// format is one file format that can be read.
type format struct {
	name       string
	extensions []string
	read       func(context.Context, *Extractor, *file) (*Document, error)
	load       func(*Extractor, Limits) error // makes the parser ready; nil when it always is
}

// formats are the formats that can be read. A new one is a file with its read function, a line
// here, and, where its content can be told from its bytes, a line in sniff.
var formats = []format{
	{"PDF", []string{"pdf"}, readPDF, loadPDF},
	{"DOCX", []string{"docx", "docm", "dotx", "dotm"}, readDOCX, nil},
	{"PowerPoint", []string{"pptx", "pptm", "ppsx", "ppsm", "potx", "potm"}, readPPTX, nil},
	{"Excel", []string{"xlsx", "xlsm", "xltx", "xltm"}, readXLSX, nil},
	{"OpenDocument text", []string{"odt", "ott", "odm", "sxw"}, readODF, nil},
	{"OpenDocument spreadsheet", []string{"ods", "ots", "sxc"}, readODF, nil},
	{"OpenDocument presentation", []string{"odp", "otp", "odg", "sxi"}, readODF, nil},
	{"flat OpenDocument", []string{"fodt", "fods", "fodp", "fodg"}, readFlatODF, nil},
	{"EPUB", []string{"epub"}, readEPUB, nil},
	{"RTF", []string{"rtf"}, readRTF, nil},
	{"HTML", []string{"html", "htm", "xhtml"}, readHTML, nil},
	{"Markdown", []string{"md", "markdown", "mdown", "mkd"}, readMarkdown, nil},
	{"CSV", []string{"csv", "tsv", "tab"}, readCSV, nil},
	{"JSON", []string{"json", "jsonl", "ndjson", "geojson"}, readJSON, nil},
	{"image", []string{"png", "jpg", "jpeg", "gif", "webp"}, readImage, nil},
	{"plain text", []string{"txt", "text", "log", "rst", "adoc", "asciidoc", "org"}, readPlain, nil},
}

// foreign names the formats that people will try although no parser exists.
var foreign = map[string]string{
	"doc": "Word 97–2003", "dot": "Word 97–2003", "xls": "Excel 97–2003", "ppt": "PowerPoint 97–2003",
	"xlsb": "Excel binary",
	"odt":  "OpenDocument text", "ods": "OpenDocument spreadsheet", "odp": "OpenDocument presentation",
	"rtf": "RTF", "epub": "EPUB", "eml": "e-mail", "msg": "Outlook message", "mbox": "mailbox",
	"xml": "XML", "yaml": "YAML", "yml": "YAML",
	"zip": "ZIP archive", "tar": "tar archive", "gz": "gzip archive", "bz2": "bzip2 archive", "7z": "7-Zip archive",
	"tif": "TIFF", "tiff": "TIFF", "svg": "SVG",
}

// Supports reports whether a file of this name will be read if its content is what its extension
// says. Names without an extension are read when they turn out to be plain text.
func Supports(name string) bool {
	i := strings.LastIndexByte(name, '.')
	if i <= strings.LastIndexAny(name, `/\`) {
		return true
	}
	return formatOf(strings.ToLower(name[i+1:])) != nil
}

// IsImage reports whether a file of this name is an image, of which only its name and what it says
// of itself are read as text.
func IsImage(name string) bool {
	f := formatOf(extOf(name))
	return f != nil && f.name == "image"
}

// recognise finds the format of a file: by its content where that is unmistakable, else by its
// extension.
func recognise(f *file) (*format, error) {
	content, err := sniff(f)
	if err != nil {
		return nil, err
	}
	if content != "" {
		for i := range formats {
			if formats[i].name == content {
				return &formats[i], nil
			}
		}
		return nil, unsupported(content)
	}
	if format := formatOf(f.ext); format != nil {
		return format, nil
	}
	if name, known := foreign[f.ext]; known {
		return nil, unsupported(name)
	}
	if f.ext != "" {
		return nil, unsupported("." + strings.ToValidUTF8(f.ext, "?"))
	}
	if looksLikeText(f.head) {
		return formatOf("txt"), nil
	}
	return nil, unsupported("this")
}

func formatOf(ext string) *format {
	i := slices.IndexFunc(formats, func(f format) bool { return slices.Contains(f.extensions, ext) })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

func unsupported(name string) *Error {
	return &Error{Reason: Unsupported, Detail: name + " files are not read", Format: name}
}

// magics are the signatures at the start of formats that have one. Those of formats that can be
// read carry the name that formats has.
var magics = []struct{ prefix, name string }{
	{"{\\rtf", "RTF"},
	{"\x1f\x8b", "gzip archive"},
	{"BZh", "bzip2 archive"},
	{"7z\xbc\xaf\x27\x1c", "7-Zip archive"},
	{"Rar!\x1a\x07", "RAR archive"},
	{"\x89PNG\r\n\x1a\n", "image"},
	{"\xff\xd8\xff", "image"},
	{"GIF8", "image"},
	{"II*\x00", "TIFF"},
	{"MM\x00*", "TIFF"},
	{"\x7fELF", "program"},
	{"SQLite format 3\x00", "SQLite"},
	{"%!PS", "PostScript"},
}

// sniff names the format that the content shows, "" when the content does not tell. It fails for
// a file that is known not to be readable, whatever its parser.
func sniff(f *file) (string, error) {
	head := f.head
	// ISO 32000-1, annex H.3.4.1: readers accept the header anywhere in the first 1,024 bytes.
	if bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")) {
		return "PDF", nil
	}
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.name, nil
		}
	}
	switch {
	case isWebP(head):
		return "image", nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return sniffZIP(f)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return sniffOLE(f)
	}
	// A web page saved under the name of what was asked for is common; a text about HTML is not HTML.
	if format := formatOf(f.ext); format == nil || format.name == "PDF" || format.name == "DOCX" {
		if looksLikeHTML(head) {
			return "HTML", nil
		}
	}
	return "", nil
}

// sniffZIP tells the formats that are ZIP archives apart. An archive that does not open is left
// to the parser of its extension, which reports it as damaged.
func sniffZIP(f *file) (string, error) {
	archive, err := openZIP(f)
	if err != nil {
		if formatOf(f.ext) == nil {
			return "ZIP archive", nil
		}
		return "", err
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(archive.File, func(e *zip.File) bool { return strings.HasPrefix(e.Name, prefix) })
	}
	if kind := formatOf(f.ext); has("[Content_Types].xml") || kind != nil && isOOXML[kind.name] {
		switch {
		case has("word/"):
			return "DOCX", nil
		case has("xl/workbook.bin"):
			return "Excel binary", nil
		case has("xl/"):
			return "Excel", nil
		case has("ppt/"):
			return "PowerPoint", nil
		case kind != nil && isOOXML[kind.name]:
			return kind.name, nil
		}
	}
	if has("META-INF/container.xml") {
		return "EPUB", nil
	}
	if has("content.xml") {
		if name := openDocumentType(archive); name != "" {
			return name, nil
		}
	}
	return "ZIP archive", nil
}

var isOOXML = map[string]bool{"DOCX": true, "Excel": true, "PowerPoint": true}

// openDocumentType reads the media type that stands in the archive (OpenDocument 1.3 part 2,
// section 3.3), in which old documents have another vendor.
func openDocumentType(archive *zip.Reader) string {
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

// sniffOLE looks into a compound file (MS-CFB): the old Office formats, or a new one encrypted
// with a password (MS-OFFCRYPTO section 2.3.4.4), which shows by its stream EncryptedPackage.
func sniffOLE(f *file) (string, error) {
	const searched = 1 << 20
	for _, off := range []int64{0, max(0, f.size-searched)} {
		part, err := readAt(f.r, off, min(searched, f.size-off))
		if err != nil {
			return "", &Error{Reason: Unreadable, Detail: "the file cannot be read to its end"}
		}
		if bytes.Contains(part, utf16le("EncryptedPackage")) {
			return "", &Error{Reason: Encrypted, Detail: "the document needs a password"}
		}
	}
	if name, known := foreign[f.ext]; known {
		return name, nil
	}
	return "Office 97–2003", nil
}

func utf16le(ascii string) []byte {
	b := make([]byte, 0, 2*len(ascii))
	for i := range len(ascii) {
		b = append(b, ascii[i], 0)
	}
	return b
}

func looksLikeHTML(head []byte) bool {
	start := strings.ToLower(string(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
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
