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
)

// format is one file format that can be read.
type format struct {
	name       string
	extensions []string
	read       func(context.Context, *Extractor, *file) (*Document, error)
	load       func(*Extractor, Limits) error // makes the parser ready; nil when it always is
	binary     bool                           // its files are no texts
	vague      bool                           // its extensions stand for more than this format
}

// formats are the formats that can be read. A new one is a file with its read function, a line
// here, and, where its content can be told from its bytes, a line in sniff.
var formats = []format{
	{name: "PDF", extensions: []string{"pdf"}, read: readPDF, load: loadPDF, binary: true},
	{name: "Word", extensions: []string{"docx", "docm", "dotx", "dotm"}, read: readDOCX, binary: true},
	{name: "PowerPoint", extensions: []string{"pptx", "pptm", "ppsx", "ppsm", "potx", "potm"}, read: readPPTX, binary: true},
	{name: "Excel", extensions: []string{"xlsx", "xlsm", "xltx", "xltm"}, read: readXLSX, binary: true},
	{name: "OpenDocument text", extensions: []string{"odt", "ott", "odm", "sxw"}, read: readODF, binary: true},
	{name: "OpenDocument spreadsheet", extensions: []string{"ods", "ots", "sxc"}, read: readODF, binary: true},
	{name: "OpenDocument presentation", extensions: []string{"odp", "otp", "odg", "sxi"}, read: readODF, binary: true},
	{name: "flat OpenDocument", extensions: []string{"fodt", "fods", "fodp", "fodg"}, read: readFlatODF},
	{name: "EPUB", extensions: []string{"epub"}, read: readEPUB, binary: true},
	{name: "RTF", extensions: []string{"rtf"}, read: readRTF, binary: true},
	{name: "HTML", extensions: []string{"html", "htm", "xhtml"}, read: readHTML},
	{name: "Markdown", extensions: []string{"md", "markdown", "mdown", "mkd"}, read: readMarkdown},
	{name: "MediaWiki", extensions: []string{"wiki", "mediawiki", "wikitext"}, read: readWiki},
	{name: "MediaWiki dump", read: readWikiDump},
	{name: "CSV", extensions: []string{"csv", "tsv", "tab"}, read: readCSV},
	{name: "JSON", extensions: []string{"json", "jsonl", "ndjson", "geojson"}, read: readJSON},
	{name: "Word XML", read: readWordXML},
	{name: "Excel XML", read: readExcelXML},
	{name: "XML", extensions: []string{"xml", "rdf", "dita", "docbook", "dbk", "tei"}, read: readXML, vague: true},
	{name: "image", extensions: []string{"png", "jpg", "jpeg", "gif", "webp"}, read: readImage, binary: true},
	{name: "e-mail", extensions: []string{"eml", "mht", "mhtml"}, read: readMail},
	{name: "Outlook message", extensions: []string{"msg"}, read: readMSG, binary: true},
	{name: "mailbox", extensions: []string{"mbox", "mbx"}, read: readMailbox},
	{name: "ZIP archive", extensions: []string{"zip"}, read: readZIP, binary: true},
	{name: "tar archive", extensions: []string{"tar"}, read: readTAR, binary: true},
	{name: "gzip archive", extensions: []string{"gz", "tgz"}, read: readGzip, binary: true},
	{name: "bzip2 archive", extensions: []string{"bz2", "bz", "tbz", "tbz2"}, read: readBzip2, binary: true},
	{name: "plain text", extensions: []string{"txt", "text", "log", "rst", "adoc", "asciidoc", "org"}, read: readPlain, vague: true},
}

// foreign names the formats that people will try although no parser exists.
var foreign = map[string]string{
	"doc": "Word 97–2003", "dot": "Word 97–2003", "xls": "Excel 97–2003", "ppt": "PowerPoint 97–2003",
	"xlsb": "Excel binary",
	"yaml": "YAML", "yml": "YAML",
	"7z": "7-Zip archive", "rar": "RAR archive", "xz": "xz archive", "zst": "Zstandard archive",
	"tif": "TIFF", "tiff": "TIFF", "svg": "SVG",
	"jar": "program archive", "war": "program archive", "apk": "program archive", "whl": "program archive",
	"xpi": "program archive", "nupkg": "program archive", "vsix": "program archive", "crx": "program archive",
}

// Supports reports whether a file is worth reading: by its name alone while head, its first bytes,
// is nil. A name is a reason to leave a file alone when it stands for a format that is known not
// to be read; its first bytes are when they belong to no format here.
func Supports(name string, head []byte) bool {
	ext := extOf(name)
	if formatOf(ext) != nil {
		return true
	}
	if _, known := foreign[ext]; known && head == nil {
		return !hopeless[ext]
	}
	if head == nil {
		return true
	}
	f := &file{name: name, ext: ext, head: head, r: bytes.NewReader(head), size: int64(len(head))}
	for _, container := range []string{"PK\x03\x04", "PK\x05\x06", cfbMagic} {
		if bytes.HasPrefix(head, []byte(container)) {
			return true
		}
	}
	format, err := recognise(f)
	return err == nil && format != nil
}

// hopeless are the extensions of formats that never hold another format's content.
var hopeless = map[string]bool{
	"7z": true, "rar": true, "xz": true, "zst": true, "tif": true, "tiff": true, "svg": true, "xlsb": true,
	"jar": true, "war": true, "apk": true, "whl": true, "xpi": true, "nupkg": true, "vsix": true, "crx": true,
}

// Formats names all formats that are read.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// FormatOf names the format that a file's name stands for.
func FormatOf(name string) string {
	ext := extOf(name)
	if f := formatOf(ext); f != nil {
		return f.name
	}
	if known, ok := foreign[ext]; ok {
		return known
	}
	if ext == "" {
		return "no extension"
	}
	return "." + strings.ToValidUTF8(ext, "?")
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
	if content == "" {
		content = sniffText(f)
	}
	if content != "" {
		if format := formatNamed(content); format != nil {
			return format, nil
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
		return formatNamed("plain text"), nil
	}
	return nil, unsupported("this kind of")
}

func formatNamed(name string) *format {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &formats[i]
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
	{"\xfd7zXZ\x00", "xz archive"},
	{"\x28\xb5\x2f\xfd", "Zstandard archive"},
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
	case isTAR(head):
		return "tar archive", nil
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return sniffOLE(f)
	}
	return "", nil
}

// sniffText names the format of a text whose extension does not tell it: an extension that is not
// known, that stands for any text, or for a format that is no text. A web page saved under the
// name of what was asked for is common; a text about HTML is not HTML.
func sniffText(f *file) string {
	kind := formatOf(f.ext)
	if kind != nil && !kind.vague && !kind.binary {
		return ""
	}
	if root := xmlRoot(f.head); root != "" && (root != "HTML" || looksLikeXML(f.head)) {
		return root
	}
	switch {
	case (kind == nil || kind.binary) && looksLikeHTML(f.head):
		return "HTML"
	case (kind == nil || kind.binary) && looksLikeXML(f.head):
		return "XML"
	case (kind == nil || kind.vague) && mailboxStart.Match(f.head):
		return "mailbox"
	case (kind == nil || kind.vague) && looksLikeMail(f.head):
		return "e-mail"
	case kind != nil && kind.name == "plain text" && looksLikeWiki(f.head):
		return "MediaWiki"
	}
	return ""
}

// xmlRoot names the format of an XML file by its first element, "" when it is none that is known.
func xmlRoot(head []byte) string {
	d := newXML(bytes.NewReader(head))
	for {
		token, err := d.RawToken()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case xml.StartElement:
			return xmlRoots[t.Name.Space+":"+t.Name.Local]
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return ""
			}
		}
	}
}

// xmlRoots are the first elements of formats with the prefix that they usually have.
var xmlRoots = map[string]string{
	":mediawiki":      "MediaWiki dump",
	"office:document": "flat OpenDocument",
	":html":           "HTML",
	"w:wordDocument":  "Word XML",
	"pkg:package":     "Word XML",
	":Workbook":       "Excel XML",
	"ss:Workbook":     "Excel XML",
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
	kind := formatOf(f.ext)
	if has("[Content_Types].xml") || kind != nil && isOOXML[kind.name] {
		switch {
		case has("word/"):
			return "Word", nil
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
		if kind != nil && strings.HasPrefix(kind.name, "OpenDocument ") {
			return kind.name, nil // its type cannot be read
		}
	}
	return "ZIP archive", nil
}

var isOOXML = map[string]bool{"Word": true, "Excel": true, "PowerPoint": true}

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
	c, err := openCompound(f.r, f.size)
	if err != nil {
		if name, known := foreign[f.ext]; known {
			return name, nil
		}
		return "", damaged("the file is cut off or broken")
	}
	for _, e := range c.root().list() {
		switch {
		case strings.HasPrefix(e.name, "__properties_version"):
			return "Outlook message", nil
		case e.name == "WordDocument":
			return "Word 97–2003", nil
		case e.name == "Workbook" || e.name == "Book":
			return "Excel 97–2003", nil
		case e.name == "PowerPoint Document":
			return "PowerPoint 97–2003", nil
		}
	}
	if name, known := foreign[f.ext]; known {
		return name, nil
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
