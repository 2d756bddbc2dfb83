package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"parley/internal/extract"
	"parley/internal/extract/zipxml"
	"parley/internal/interrupt"
)

var (
	_ = extract.Register("gzip archive", extract.Reader{Read: readGzip})
	_ = extract.Register("bzip2 archive", extract.Reader{Read: readBzip2})
	_ = extract.Register("xz archive", extract.Reader{Read: readXZ})
	_ = extract.Register("Zstandard archive", extract.Reader{Read: readZstandard})
)

// readGzip extracts the compressed file or, if that is a tar archive, the files in it.
func readGzip(ctx context.Context, f *extract.File) (*extract.Document, error) {
	r, err := gzip.NewReader(io.NewSectionReader(f.Content, 0, f.Size))
	if err != nil {
		return nil, extract.Damagedf("the compressed file is cut off or broken")
	}
	return addCompressed(ctx, f, r, r.Name)
}

func readBzip2(ctx context.Context, f *extract.File) (*extract.Document, error) {
	return addCompressed(ctx, f, bzip2.NewReader(io.NewSectionReader(f.Content, 0, f.Size)), "")
}

// readXZ extracts the compressed file or, if that is a tar archive, the files in it.
func readXZ(ctx context.Context, f *extract.File) (*extract.Document, error) {
	if dictionaryOfXZ(f.Head) > maxDictionary {
		return nil, errDictionary
	}
	r, err := xz.NewReader(xzFile{bufio.NewReader(io.NewSectionReader(f.Content, 0, f.Size))})
	if err != nil {
		return nil, extract.Damagedf("the compressed file is cut off or broken")
	}
	return addCompressed(ctx, f, &broken{r: r}, "")
}

// xzFile is a source for the library, which mistakes some truncated headers for the end of the file. The file may
// end only where another stream may begin; there, the library asks for four bytes.
type xzFile struct{ r *bufio.Reader }

func (f xzFile) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, io.EOF) && len(p) != 4 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// dictionaryOfXZ returns the size of the dictionary of the first block (The .xz File Format 1.2.1,
// sections 3.1 and 5.3.1), or 0 if head does not contain it. The library allocates whatever size a block asks for.
func dictionaryOfXZ(head []byte) int64 {
	const start, filterLZMA2 = 12, 0x21
	if len(head) < start+2 {
		return 0
	}
	block := head[start+2 : min(len(head), start+4+4*int(head[start]))]
	if at := bytes.Index(block, []byte{filterLZMA2, 1}); at >= 0 && at+2 < len(block) {
		if size, err := lzma.DecodeDictCap(block[at+2]); err == nil {
			return size
		}
	}
	return 0
}

func readZstandard(ctx context.Context, f *extract.File) (*extract.Document, error) {
	r, err := zstd.NewReader(io.NewSectionReader(f.Content, 0, f.Size),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxDictionary))
	if err != nil {
		return nil, extract.Damagedf("the compressed file is cut off or broken")
	}
	defer r.Close()
	return addCompressed(ctx, f, &broken{r: r}, "")
}

// broken translates the errors of libraries that have their own error types, and repeats the first one.
type broken struct {
	r   io.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = errDictionary
	default:
		err = extract.Damagedf("the compressed file is cut off or was changed")
	}
	b.err = err
	return n, err
}

// addCompressed extracts the content of a compressed file; name is the original name that the file stores.
func addCompressed(ctx context.Context, f *extract.File, src io.Reader, name string) (*extract.Document, error) {
	in := bufio.NewReaderSize(&ratioReader{r: src, packed: f.Size}, 1024)
	head, _ := in.Peek(512) // the next read returns the error again
	if isTAR(head) {
		doc, err := addTAR(ctx, f, in)
		if err == nil {
			err = readToEnd(ctx, in)
		}
		return doc, err
	}
	if base := path.Base(strings.ReplaceAll(f.Name, `\`, "/")); uncompressedName(base) != base {
		name = uncompressedName(base)
	}
	if name = path.Base(strings.ReplaceAll(name, `\`, "/")); name == "." || name == "/" {
		name = "content"
	}
	if err := f.Spool.Add(ctx, name, in); err != nil {
		return nil, err
	}
	return &extract.Document{}, nil
}

// readToEnd reads the rest of a compressed file, whose checksum comes last. If the checksum is wrong, nothing that
// was extracted counts, because it is unknown where the damage begins.
func readToEnd(ctx context.Context, r io.Reader) error {
	_, err := io.Copy(io.Discard, interrupt.Reader(ctx, r))
	if zipxml.IsSyntaxError(err) {
		return extract.Damagedf("the compressed file is cut off or was changed: it does not have its checksum")
	}
	return err
}

// uncompressedName returns the name without the extension of a compressed file.
func uncompressedName(name string) string {
	for _, ending := range []string{".gz", ".bz2", ".bz", ".xz", ".zst", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"} {
		if rest := name[:max(0, len(name)-len(ending))]; rest != "" && strings.EqualFold(name[len(rest):], ending) {
			return rest
		}
	}
	return name
}

// ratioReader fails with a TooLarge error when a file unpacks to far more than its own size.
type ratioReader struct {
	r         io.Reader
	packed, n int64
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n += int64(n)
	if r.n > extract.UnpackRatioAfter && r.n > extract.UnpackRatio*r.packed {
		return n, extract.TooLargef("it unpacks to more than %d times its size", extract.UnpackRatio)
	}
	return n, err
}
