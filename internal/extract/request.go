package extract

import (
	"image"
	"time"
)

// Box is a rectangle on the picture of a page, in fractions of its width and height from the top
// left corner.
type Box struct {
	Range               int // index of the range in the request
	X, Y, Width, Height float64
}

// Geometry is the positions of characters on a page.
type Geometry struct {
	Width, Height float64 // of the page as it is shown, in points
	Boxes         []Box   // one for each line of each range, in the order of the ranges
}

// Measuring is a request for the positions of characters on a page.
type Measuring struct {
	Page   int     // from 1
	Ranges [][]int // characters of PDFium's text page, as Page.CharIndexes gives them
}

// Request is one file for a Pool to read.
type Request struct {
	Name       string   // for its extension: Path may have another
	Path       string   // where it is
	Spool      string   // folder for the files inside it, made when there are any; "" leaves them out
	Passwords  []string // tried in this order
	Without    []string // headings, in any case, whose sections are left out
	Parts      int      // maximum number of files inside it; 0 for that of the pool's Limits
	PartsBytes int64    // maximum bytes of these together; 0 for that of the pool's Limits

	Seen map[int]Seen // the text of pages that was recognised on their pictures

	Post []byte // passed to the function given to sandbox.RunWorkerIfAsked

	TextBytes int64         // maximum size of its text; 0 for that of the pool's Limits
	Time      time.Duration // for reading it; 0 for that of the pool's Limits
}

// Image is a picture of a page.
type Image struct {
	Data          []byte
	MediaType     string
	Width, Height int // pixels
}

// Result is the result of a worker for a file.
type Result struct {
	Document *Document
	Image    *Image        // of Render; Document is nil then
	Geometry *Geometry     // of Measure; Document is nil then
	Drawing  *Drawing      // of a page for Recognise; Document is nil then
	Seen     *Page         // of Recognise; Document is nil then
	Post     []byte        // from the function given to RunWorkerIfAsked; nil without one
	Took     time.Duration // without waits for a processor; also set if there is an error
}

// Rendering is a request for a picture of a page.
type Rendering struct {
	Page   int // from 1
	Pixels int // of the longer side, at most
}

// Drawing is a picture of a page for the recognition of its text.
type Drawing struct {
	Gray   *image.Gray
	DPI    int // dots an inch; 0 if that is not known
	Number int // of the page in the document; 0 where the format has no pages
}

// MaxDrawing is the maximum number of pixels of a Drawing. A page of A3 at 300 dots an inch has 17 million.
const MaxDrawing = 18 << 20
