package extracttest

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash"
	"io"
	"slices"
	"strings"
	"testing"
)

// rawZIP makes an archive of parts, by name and content in turn, and one that is compressed already.
func rawZIP(t testing.TB, name string, packed []byte, size int, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Deflate, CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(size),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(packed); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Deflated compresses start, n times text, and end. It compresses one piece of the repeated text and
// repeats the result: compressing gigabytes takes longer than reading them.
func Deflated(t testing.TB, start, text string, n int, end string) []byte {
	t.Helper()
	piece := func(content string, finish func(*flate.Writer) error) []byte {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.DefaultCompression)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err == nil {
			err = finish(w)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	each := pieceBytes/len(text) + 1
	return slices.Concat(
		piece(start, (*flate.Writer).Flush),
		bytes.Repeat(piece(strings.Repeat(text, each), (*flate.Writer).Flush), n/each),
		piece(strings.Repeat(text, n%each)+end, (*flate.Writer).Close))
}

const pieceBytes = 1 << 20

// Checksum writes n times text to a checksum.
func Checksum(sum hash.Hash32, text string, n int) uint32 {
	each := pieceBytes/len(text) + 1
	block := []byte(strings.Repeat(text, each))
	for ; n > 0; n -= each {
		sum.Write(block[:min(n, each)*len(text)])
	}
	return sum.Sum32()
}

// BombZIP makes an archive whose last part holds a text n times, between two others.
func BombZIP(t testing.TB, name, start, text string, n int, end string, parts ...string) []byte {
	t.Helper()
	return rawZIP(t, name, Deflated(t, start, text, n, end), len(start)+n*len(text)+len(end), parts...)
}
