package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	_ "image/gif" // for image.Decode, like the next ones
	"image/jpeg"
	_ "image/png" // likewise
	"math"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // likewise
	_ "golang.org/x/image/webp" // likewise

	"parley/internal/extract"
)

// The limits of pictures.
const (
	maxPixels   = 50_000_000 // of a picture that is decoded
	maxPages    = 1000       // of a TIFF file
	smallPixels = 1800       // of the longer side: in smaller pictures, the letters are too small to be read
	maxView     = 3000       // of the longer side of a picture that is shown
	viewQuality = 80
)

// drawImage draws a picture, as browsers show it, for the recognition of its text.
func drawImage(_ context.Context, f *extract.File, page int) (*extract.Drawing, error) {
	data, err := f.All(f.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	img, err := decode(data, page)
	if err != nil {
		return nil, err
	}
	size := img.Bounds().Size()
	scale := math.Min(1, math.Sqrt(extract.MaxDrawing/float64(size.X*size.Y)))
	if max(size.X, size.Y) < smallPixels {
		scale = 2
	}
	number := 0
	if isTIFF(data) && len(pageOffsets(data)) > 1 {
		number = page
	}
	return &extract.Drawing{Gray: turned(gray(img, scale), orientation(data)), Number: number}, nil
}

// renderImage draws a page of a TIFF file, which browsers do not show.
func renderImage(_ context.Context, f *extract.File, r extract.Rendering) (*extract.Image, error) {
	data, err := f.All(f.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	if !isTIFF(data) {
		return nil, &extract.Error{Reason: extract.Unsupported, Detail: "the picture is shown as it is"}
	}
	img, err := decode(data, r.Page)
	if err != nil {
		return nil, err
	}
	size := img.Bounds().Size()
	longest := float64(max(size.X, size.Y))
	scale := min(1, float64(min(max(r.Pixels, 1), maxView))/longest)
	out := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(out, out.Rect, img, img.Bounds(), draw.Over, nil)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, out, &jpeg.Options{Quality: viewQuality}); err != nil {
		return nil, err
	}
	return &extract.Image{Data: b.Bytes(), MediaType: "image/jpeg", Width: out.Rect.Dx(), Height: out.Rect.Dy()}, nil
}

// measureImage returns the size of a page.
func measureImage(_ context.Context, f *extract.File, m extract.Measuring) (*extract.Geometry, error) {
	data, err := f.All(f.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	if data, err = pageOf(data, m.Page); err != nil {
		return nil, err
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width < 1 || c.Height < 1 {
		return nil, extract.Damagedf("the picture cannot be decoded")
	}
	w, h := float64(c.Width), float64(c.Height)
	if orientation(data) >= 5 {
		w, h = h, w
	}
	return &extract.Geometry{Width: w, Height: h}, nil
}

// decode decodes a page of a picture that is not too large.
func decode(data []byte, page int) (image.Image, error) {
	data, err := pageOf(data, page)
	if err != nil {
		return nil, err
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil || c.Width < 1 || c.Height < 1:
		return nil, extract.Damagedf("the picture cannot be decoded")
	case c.Height > maxPixels/c.Width:
		return nil, extract.TooLargef("the picture has %d × %d pixels, and at most %d million are read", c.Width, c.Height, maxPixels/1_000_000)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, extract.Damagedf("the picture cannot be decoded")
	}
	if size := img.Bounds().Size(); size.X < 1 || size.Y < 1 || size.Y > maxPixels/size.X {
		return nil, extract.Damagedf("the picture cannot be decoded")
	}
	return img, nil
}

// gray returns a picture on white, scaled.
func gray(img image.Image, scale float64) *image.Gray {
	bounds := img.Bounds()
	out := image.NewGray(image.Rect(0, 0, max(1, int(float64(bounds.Dx())*scale)), max(1, int(float64(bounds.Dy())*scale))))
	draw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(out, out.Rect, img, bounds, draw.Over, nil)
	return out
}

// turned turns and mirrors a picture according to an Exif orientation (JEITA CP-3451, tag 0x0112).
func turned(img *image.Gray, orientation int) *image.Gray {
	if orientation == 1 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewGray(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		out = image.NewGray(image.Rect(0, 0, h, w))
	}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			from := [...]image.Point{
				2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y},
				5: {y, x}, 6: {y, h - 1 - x}, 7: {w - 1 - y, h - 1 - x}, 8: {w - 1 - y, x},
			}[orientation]
			out.Pix[y*out.Stride+x] = img.Pix[from.Y*img.Stride+from.X]
		}
	}
	return out
}

// orientation returns the orientation of a JPEG file, or 1 if it has none.
func orientation(data []byte) int {
	const exif, none = "Exif\x00\x00", 1
	if !bytes.HasPrefix(data, []byte("\xff\xd8\xff")) {
		return none
	}
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker, n := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || n < 2 || at+2+n > len(data) {
			break
		}
		if part := data[at+4 : at+2+n]; marker == 0xe1 && bytes.HasPrefix(part, []byte(exif)) {
			value := 0
			eachEntry(part[len(exif):], 4, func(tag, v int) {
				if tag == 0x0112 && v <= 8 {
					value = v
				}
			})
			return max(value, none)
		}
		at += 2 + n
	}
	return none
}

func isTIFF(data []byte) bool {
	return bytes.HasPrefix(data, []byte("II*\x00")) || bytes.HasPrefix(data, []byte("MM\x00*"))
}

func byteOrder(data []byte) binary.ByteOrder {
	if data[0] == 'M' {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// eachEntry calls visit for the entries of a directory of a TIFF file, and reads their values as short integers. The place of
// the directory is stored at placeAt. It returns the offset at which the place of the next directory is stored, or 0.
func eachEntry(data []byte, placeAt int, visit func(tag, value int)) (next int) {
	if placeAt < 0 || placeAt+4 > len(data) || !isTIFF(data) {
		return 0
	}
	order := byteOrder(data)
	at := int(order.Uint32(data[placeAt:]))
	if at < 8 || at > len(data)-2 {
		return 0
	}
	n := int(order.Uint16(data[at:]))
	at += 2
	if at+12*n > len(data) {
		return 0
	}
	for i := range n {
		entry := data[at+12*i:]
		visit(int(order.Uint16(entry)), int(order.Uint16(entry[8:])))
	}
	return at + 12*n
}

// pageOffsets returns the offsets at which a TIFF file stores the places of its pages (TIFF 6.0, section 2).
func pageOffsets(data []byte) (places []int) {
	seen := map[uint32]bool{}
	for place := 4; place > 0 && place+4 <= len(data) && len(places) <= maxPages; {
		at := byteOrder(data).Uint32(data[place:])
		if at == 0 || seen[at] {
			break
		}
		seen[at] = true
		next := eachEntry(data, place, func(int, int) {})
		if next == 0 {
			break
		}
		places = append(places, place)
		place = next
	}
	return places
}

// pageOf returns a file that begins with a page of a TIFF file; other pictures have one page.
func pageOf(data []byte, page int) ([]byte, error) {
	if !isTIFF(data) {
		if page > 1 {
			return nil, extract.Damagedf("the picture has one page")
		}
		return data, nil
	}
	places := pageOffsets(data)
	if page < 1 || page > len(places) {
		return nil, extract.Damagedf("the picture has %d pages", len(places))
	}
	if page == 1 {
		return data, nil
	}
	out := bytes.Clone(data)
	copy(out[4:8], data[places[page-1]:])
	return out, nil
}
