// Package ocrtest makes pictures of pages whose text is known.
package ocrtest

import (
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Line is a line of a page at 300 dots an inch.
type Line struct {
	Text string
	X, Y int     // where its baseline begins, in pixels
	Size float64 // of its type, in points
}

// Picture draws lines on white. Noise is the share of pixels that are made darker or lighter, like those of a scan.
func Picture(t testing.TB, width, height int, noise float64, lines ...Line) *image.Gray {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	draw.Draw(img, img.Rect, image.White, image.Point{}, draw.Src)
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: l.Size, DPI: 300, Hinting: font.HintingNone})
		if err != nil {
			t.Fatal(err)
		}
		d := font.Drawer{Dst: img, Src: image.NewUniform(color.Gray{40}), Face: face, Dot: fixed.P(l.X, l.Y)}
		d.DrawString(l.Text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range int(noise * float64(len(img.Pix))) {
		i := r.IntN(len(img.Pix))
		img.Pix[i] = uint8(min(255, max(0, int(img.Pix[i])+r.IntN(121)-60)))
	}
	return img
}

// Paragraph sets lines below each other, in type of 11 points.
func Paragraph(x, y int, texts ...string) (lines []Line) {
	for i, text := range texts {
		lines = append(lines, Line{text, x, y + 62*i, 11})
	}
	return lines
}
