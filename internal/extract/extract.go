// Package extract turns one file into pages of text with structure and offsets. It knows nothing of
// stores, chunks or the network. This package holds what all formats share: documents, limits, the
// registry of readers, and the recognition of formats. Readers live in subpackages, one for each
// family of formats, and register themselves; importing extract/formats links all of them in:
//
//	import _ "parley/internal/extract/formats"
//
//	x := &extract.Extractor{}
//	defer x.Close()
//	doc, err := x.File(ctx, extract.Input{Name: "a.docx", Content: f, Size: size})
//
// Parsers run on hostile input, so the server reads files in child processes: see extract/sandbox.
package extract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Document is the content of one file.
type Document struct {
	Format string   // its name in format.Table: "PDF", "Excel"
	Title  string   // from the file's own metadata or first heading; "" when it has none
	Meta   Meta     // front matter
	Pages  []Page   // in reading order; empty only where there are parts
	Parts  []Part   // the files inside the file, which are documents of their own
	Notes  []string // for people: each says what could not be read; the rest was read
	Unread []int    // the pages that show text only as pictures and are not in Input.Seen, ascending
	Cut    *Error   // why Parts lacks files of the archive; nil if it has all
}

// Part is a file inside a file: an entry of an archive, an attachment of a mail, a page of a
// wiki's dump. The content of part i lies in the file PartName(i) of Input.Spool.
type Part struct {
	Name    string // path in the file; a part with content has a name that satisfies fs.ValidPath
	Size    int64
	Refused *Error // why its content is missing; nil if it is there
}

// PartName returns the name of the file that holds part i.
func PartName(i int) string { return strconv.Itoa(i) }

// Meta is metadata from the front matter of a document or from a sidecar file.
type Meta struct {
	Title    string   `yaml:"title"`
	URL      string   `yaml:"url"`
	Category string   `yaml:"category"`
	Users    []string `yaml:"users"`  // subjects that may see the document
	Groups   []string `yaml:"groups"` // groups that may see the document

	Everybody *string `yaml:"everybody"` // the word for everybody who may see it, instead of Users and Groups

	Namespace string `yaml:"namespace"` // where the document belongs; "" if it does not say

	Attributes json.RawMessage // the document's other metadata, see package attribute; nil for none

	// Unknown is a key, other than the above, that seems to say who may see the document; "" if there is none.
	Unknown string
}

// Page is one page of a paged format, or the whole text of an unpaged one.
type Page struct {
	Number int     // from 1; 0 where the format has no pages
	Text   string  // UTF-8, lines separated by "\n", cleaned of layout noise
	Blocks []Block // ascending and disjoint; together they cover the words of Text
	Chars  []Run   // where Text came from in the original; nil for formats without such a map

	// Boxes say where the characters are on the page, ascending by Char, if the text was recognised on a picture. They
	// are nil if the original itself gives the positions.
	Boxes []CharBox
}

// CharBox is the box of the characters of Page.Chars from Char up to the Char of the next CharBox.
type CharBox struct {
	Char int
	Box  Box // its Range means nothing
}

// Seen is the text recognised on the picture of a page.
type Seen struct {
	Page   Page   // without blocks where there is no text
	Failed string // why the page could not be recognised, for people; "" if it could
}

// Run says that Text from byte Offset on came from the original's characters Char, Char+1, …
// up to the next run, one UTF-8 code point for each. For PDF, Char is the index of a character
// in PDFium's text page, which gives its box. Char is Inserted for text that the original lacks.
type Run struct {
	Offset int
	Char   int
}

// Kind is the kind of a block.
type Kind uint8

// The kinds of block.
const (
	Paragraph Kind = iota
	Heading        // Level says how deep, from 1
	ListItem
	TableHeader // the header row of a table, repeated in chunks that hold later rows of it
	TableRow
	Code
)

// Block is a structural unit of a page's text.
type Block struct {
	Kind       Kind
	Level      int // of a heading, from 1; else 0
	Start, End int // byte offsets in Page.Text, End exclusive
}

// Reason is a machine-readable word for why a file was not indexed.
type Reason string

// The reasons. Each is documented for users in docs/ingestion.md.
const (
	Unsupported Reason = "unsupported" // no parser for this format
	Empty       Reason = "empty"       // no text in it
	ScanOnly    Reason = "scan-only"   // pages of images without a text layer
	Encrypted   Reason = "encrypted"   // needs a password
	Damaged     Reason = "damaged"     // the format is broken
	TooLarge    Reason = "too-large"   // over the limit on size, pages or text
	Timeout     Reason = "timeout"     // took longer than allowed
	Crashed     Reason = "crashed"     // the parser died on it
	Unreadable  Reason = "unreadable"  // the file could not be opened
	Busy        Reason = "busy"        // the machine was too busy
	UnsafeName  Reason = "unsafe-name" // its name in the archive leads out of the archive
	BadMetadata Reason = "metadata"    // its access rights cannot be read
)

// Error says why a file gave no document.
type Error struct {
	Reason Reason
	Detail string // one sentence for people, without paths
	Format string // of the file; "" if unknown
	Spent  bool   // a budget that the file shares with others is used up
	Unread []int  // for ScanOnly: the pages that show text only as pictures
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Reason, e.Detail) }

// Inserted is the Char of a Run of text that the original does not have.
const Inserted = -1

// CharIndexes returns the characters of the original that the text from byte start to byte end came
// from, ascending and without duplicates. It returns none for formats without such a map.
func (p Page) CharIndexes(start, end int) []int {
	var chars []int
	for i, run := range p.Chars {
		if run.Offset >= end {
			break
		}
		stop := len(p.Text)
		if i+1 < len(p.Chars) {
			stop = p.Chars[i+1].Offset
		}
		if run.Char == Inserted || stop <= start {
			continue
		}
		char := run.Char
		for off, r := range p.Text[run.Offset:stop] {
			at := run.Offset + off
			if at+utf8.RuneLen(r) > start && at < end {
				chars = append(chars, char)
			}
			char++
		}
	}
	slices.Sort(chars)
	return slices.Compact(chars)
}
