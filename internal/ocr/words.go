package ocr

import (
	"image"
	"strconv"
	"strings"
)

// Word is a word on a picture.
type Word struct {
	Text       string
	Box        image.Rectangle
	Confidence float64 // that it is read right, up to 100
	Block      int     // of the page, from 1
	Paragraph  int     // of the block, from 1
	Line       int     // of the paragraph, from 1
}

// ParseTSV returns the words of a table that Tesseract writes, in reading order. It skips all other rows.
func ParseTSV(table string) []Word {
	var words []Word
	for row := range strings.Lines(table) {
		cells := strings.SplitN(strings.TrimRight(row, "\r\n"), "\t", 12)
		if len(cells) < 12 || cells[0] != "5" {
			continue
		}
		text := strings.TrimSpace(strings.ToValidUTF8(cells[11], ""))
		var n [10]int
		valid := text != ""
		for i := 1; i < 10; i++ {
			v, err := strconv.Atoi(cells[i])
			valid = valid && err == nil && v >= 0 && v < 1<<20
			n[i] = v
		}
		confidence, err := strconv.ParseFloat(cells[10], 64)
		if !valid || err != nil {
			continue
		}
		words = append(words, Word{
			Text: text, Box: image.Rect(n[6], n[7], n[6]+n[8], n[7]+n[9]), Confidence: confidence,
			Block: n[2], Paragraph: n[3], Line: n[4],
		})
	}
	return words
}
