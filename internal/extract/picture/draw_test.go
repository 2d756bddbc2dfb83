package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"parley/internal/extract"
)

// corner is a white picture with one dark corner.
func corner(w, h int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for y := range h / 4 {
		for x := range w / 4 {
			img.SetGray(x, y, color.Gray{})
		}
	}
	return img
}

func fileOf(name string, data []byte) *extract.File {
	return &extract.File{Name: name, Content: bytes.NewReader(data), Size: int64(len(data)), Limits: extract.Limits{}.WithDefaults()}
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// darkCorner names the corner of a picture that is dark.
func darkCorner(img *image.Gray) string {
	w, h := img.Rect.Dx()-1, img.Rect.Dy()-1
	for name, p := range map[string]image.Point{"top left": {1, 1}, "top right": {w - 1, 1}, "bottom left": {1, h - 1}, "bottom right": {w - 1, h - 1}} {
		if img.GrayAt(p.X, p.Y).Y < 100 {
			return name
		}
	}
	return "none"
}

// withOrientation puts an Exif segment into a JPEG file.
func withOrientation(data []byte, orientation uint16) []byte {
	tiff := []byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
	tiff = binary.BigEndian.AppendUint16(tiff, orientation)
	segment := append([]byte("Exif\x00\x00"), append(tiff, 0, 0, 0, 0, 0, 0)...)
	out := append([]byte{0xff, 0xd8, 0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(segment)+2))...)
	return append(append(out, segment...), data[2:]...)
}

func TestDraw_TurnsAPhotoAsItIsShown(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, corner(80, 40), nil); err != nil {
		t.Fatal(err)
	}
	for orientation, want := range map[uint16]string{
		0: "top left", 1: "top left", 2: "top right", 3: "bottom right", 4: "bottom left",
		5: "top left", 6: "top right", 7: "bottom right", 8: "bottom left", 9: "top left",
	} {
		data := withOrientation(b.Bytes(), orientation)
		d, err := drawImage(t.Context(), fileOf("a.jpg", data), 1)
		if err != nil {
			t.Fatal(err)
		}
		size, upright := d.Gray.Rect.Size(), orientation < 5 || orientation > 8
		if got := darkCorner(d.Gray); got != want || (size.X > size.Y) != upright {
			t.Errorf("orientation %d: %s of %v", orientation, got, size)
		}
		g, err := measureImage(t.Context(), fileOf("a.jpg", data), extract.Measuring{Page: 1})
		if err != nil || (g.Width > g.Height) != upright {
			t.Errorf("orientation %d: %+v, %v", orientation, g, err)
		}
	}
}

func TestDraw_PutsTransparentPicturesOnWhite(t *testing.T) {
	d, err := drawImage(t.Context(), fileOf("a.png", pngOf(t, image.NewNRGBA(image.Rect(0, 0, 20, 20)))), 1)
	if err != nil || d.Gray.GrayAt(10, 10).Y != 255 {
		t.Errorf("%v, %v", d, err)
	}
}

// The file was made by Pillow: three pages, packed with LZW, of 60 × 40, 61 × 41 and 62 × 42 pixels.
func TestDraw_ReadsAllPagesOfATIFF(t *testing.T) {
	data, err := os.ReadFile("testdata/three.tif")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := readImage(t.Context(), fileOf("three.tif", data))
	if err != nil || fmt.Sprint(doc.Unread) != "[1 2 3]" {
		t.Fatal(doc, err)
	}
	for page := 1; page <= 3; page++ {
		d, err := drawImage(t.Context(), fileOf("three.tif", data), page)
		if err != nil || d.Gray.Rect.Dx() != 2*(59+page) || d.Number != page {
			t.Errorf("page %d: %v, %v", page, d, err)
		}
		img, err := renderImage(t.Context(), fileOf("three.tif", data), extract.Rendering{Page: page, Pixels: 30})
		if err != nil || img.Width != 30 {
			t.Errorf("page %d: %v, %v", page, img, err)
		}
	}
	for _, page := range []int{0, 4} {
		if _, err := drawImage(t.Context(), fileOf("three.tif", data), page); err == nil {
			t.Errorf("there is a page %d", page)
		}
	}
}

func TestDraw_RefusesBombs(t *testing.T) {
	bomb := pngOf(t, corner(4, 4))
	binary.BigEndian.PutUint32(bomb[16:], 1<<20)
	binary.BigEndian.PutUint32(bomb[20:], 1<<20)
	// The checksum of the header is wrong now; one of many pixels that is right is refused before they are unpacked.
	huge := pngOf(t, image.NewPaletted(image.Rect(0, 0, 20_000, 3_000), color.Palette{color.White}))
	loop := append([]byte("II*\x00\x08\x00\x00\x00\x00\x00"), 8, 0, 0, 0)
	for name, data := range map[string][]byte{"claims": bomb, "huge": huge, "loop.tif": loop} {
		_, err := drawImage(t.Context(), fileOf(name, data), 1)
		if _, ok := errors.AsType[*extract.Error](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(pageOffsets(loop)); n != 1 {
		t.Errorf("a directory that leads to itself counts as %d pages", n)
	}
}

// Any part of a picture, and any picture with changed bytes, is drawn or refused with a reason.
func TestDraw_OfDamagedPictures(t *testing.T) {
	var photo, scan bytes.Buffer
	if err := jpeg.Encode(&photo, corner(64, 48), nil); err != nil {
		t.Fatal(err)
	}
	if err := tiff.Encode(&scan, corner(64, 48), &tiff.Options{Compression: tiff.Deflate}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a.png": pngOf(t, corner(64, 48)), "a.jpg": withOrientation(photo.Bytes(), 6), "a.tif": scan.Bytes(),
		"a.gif": []byte("GIF89a\x02\x00\x02\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x02\x00\x02\x00\x00\x02\x03D\x02\x05\x00;"),
	} {
		if _, err := drawImage(t.Context(), fileOf(name, data), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range data {
			changed := bytes.Clone(data)
			changed[i] ^= 0xff
			for _, part := range [][]byte{data[:i], changed} {
				for _, page := range []int{1, 2} {
					_, err := drawImage(t.Context(), fileOf(name, part), page)
					if refused, ok := errors.AsType[*extract.Error](err); err != nil && (!ok || refused.Detail == "") {
						t.Fatalf("%s, byte %d: %v", name, i, err)
					}
				}
			}
		}
	}
}

func TestReadImage_SaysThatItsTextIsUnread(t *testing.T) {
	doc, err := readImage(t.Context(), fileOf("a plan.png", pngOf(t, corner(8, 8))))
	if err != nil || len(doc.Unread) != 1 || !strings.Contains(doc.Pages[0].Text, "a plan") {
		t.Errorf("%+v, %v", doc, err)
	}
}
