package pdf

import (
	"strings"

	"parley/internal/extract"
)

// pdfElement is the block-level structure element (ISO 32000-1, section 14.8.4) of a piece of marked content on a page.
type pdfElement struct {
	id    int // counts the block elements of the page
	kind  extract.Kind
	level int
	cell  int  // of a table row: which cell, from 1
	names bool // of a table row: the cell is a header cell
}

// Bounds on structure trees, which hostile documents nest and repeat.
const (
	maxTagDepth    = 60
	maxTagElements = 50_000
)

// pdfTags reads the structure tree of one page.
type pdfTags struct {
	doc      *pdfDocument
	elements map[int]pdfElement
	blocks   int
	visited  int
}

// readPDFTags returns the block elements of a page by marked-content id, or nil if the page has no structure.
func readPDFTags(d *pdfDocument, page uint64) map[int]pdfElement {
	tree := d.call("FPDF_StructTree_GetForPage", page)
	if tree == 0 {
		return nil
	}
	defer d.call("FPDF_StructTree_Close", tree)
	t := pdfTags{doc: d, elements: map[int]pdfElement{}}
	for i := range max(0, d.int("FPDF_StructTree_CountChildren", tree)) {
		t.walk(d.call("FPDF_StructTree_GetChildAtIndex", tree, uint64(i)), pdfElement{}, 0)
	}
	return t.elements
}

// walk maps the content under an element. The block is the nearest block element around it.
func (t *pdfTags) walk(element uint64, block pdfElement, depth int) {
	t.visited++
	if element == 0 || depth > maxTagDepth || t.visited > maxTagElements {
		return
	}
	block = t.enter(t.doc.string16("FPDF_StructElement_GetType", element), block)
	children := min(t.doc.int("FPDF_StructElement_CountChildren", element), maxTagElements)
	for i := range max(0, children) {
		if t.doc.err != nil {
			return
		}
		if child := t.doc.call("FPDF_StructElement_GetChildAtIndex", element, uint64(i)); child != 0 {
			if block.kind == extract.TableRow && block.cell == 0 {
				cell := block
				cell.cell = i + 1
				cell.names = t.doc.string16("FPDF_StructElement_GetType", child) == "TH"
				t.walk(child, cell, depth+1)
				continue
			}
			t.walk(child, block, depth+1)
			continue
		}
		if id := t.doc.int("FPDF_StructElement_GetChildMarkedContentID", element, uint64(i)); id >= 0 && block.id > 0 {
			t.elements[id] = block
		}
	}
}

// enter returns the block to which the content of an element of this type belongs. Inside a list item or a table row
// everything belongs to the item or the row, except the items of a list inside an item.
func (t *pdfTags) enter(kind string, outer pdfElement) pdfElement {
	kind = strings.ToUpper(kind)
	if outer.kind == extract.TableRow || outer.kind == extract.ListItem && kind != "LI" {
		return outer
	}
	block := pdfElement{id: t.blocks + 1, kind: extract.Paragraph}
	switch kind {
	case "H", "TITLE":
		block.kind, block.level = extract.Heading, 1
	case "H1", "H2", "H3", "H4", "H5", "H6":
		block.kind, block.level = extract.Heading, int(kind[1]-'0')
	case "LI":
		block.kind = extract.ListItem
	case "TR":
		block.kind = extract.TableRow
	case "CODE":
		block.kind = extract.Code
	case "P", "CAPTION", "BLOCKQUOTE", "NOTE", "TOCI", "LBL", "FORMULA", "BIBENTRY", "INDEX":
	default:
		return outer // containers have no content of their own, inline elements belong to their block
	}
	t.blocks++
	return block
}
