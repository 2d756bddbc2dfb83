package extract

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"parley/internal/extract/codepage"
)

var (
	_ = reads("ZIP archive", reader{read: readZIP})
	_ = reads("tar archive", reader{read: readTAR, looks: func(f *file) bool { return isTAR(f.head) }})
	_ = reads("gzip archive", reader{read: readGzip})
	_ = reads("bzip2 archive", reader{read: readBzip2})
)

// readZIP takes the files of a ZIP archive out, those that are encrypted with the passwords given.
func readZIP(ctx context.Context, f *file) (*Document, error) {
	archive, err := openZIP(f)
	if err != nil {
		return nil, err
	}
	names := zipNames(archive)
	for i, entry := range archive.File {
		if isJunk(names[i]) {
			continue
		}
		if err := addEntry(ctx, f, archive, entry, names[i]); err != nil {
			return nil, err
		}
	}
	return &Document{}, nil
}

// addEntry takes one file out of a ZIP archive.
func addEntry(ctx context.Context, f *file, archive *container, entry *zip.File, name string) error {
	content, err := openEntry(ctx, f, archive, entry)
	var refused *Error
	switch {
	case errors.As(err, &refused):
		if name, ok := partName(name); ok {
			return f.spool.refuse(name, refused)
		}
		return f.spool.add(ctx, name, bytes.NewReader(nil)) // which refuses the name
	case err != nil:
		return err
	}
	defer content.Close()
	return f.spool.add(ctx, name, content)
}

// openEntry opens a file of a ZIP archive. An *Error is why it cannot be read.
func openEntry(ctx context.Context, f *file, archive *container, entry *zip.File) (io.ReadCloser, error) {
	if entry.Flags&zipEncrypted != 0 {
		return openEncrypted(ctx, f, archive, entry)
	}
	r, err := entry.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return nil, unknownMethod()
	case err != nil:
		return nil, damaged("its place in the archive is broken")
	}
	return archive.bounded(r, entry), nil
}

func unknownMethod() *Error {
	return &Error{Reason: Unsupported, Detail: "it is compressed in a way that is not known here"}
}

// zipNames returns the names of an archive's entries. Old programs write them in the code page of
// their system, without saying which.
func zipNames(archive *container) []string {
	names := make([]string, len(archive.File))
	var foreign []byte
	for i, entry := range archive.File {
		names[i] = entry.Name
		if !utf8.ValidString(entry.Name) {
			foreign = append(foreign, entry.Name+"\n"...)
		}
	}
	if len(foreign) == 0 {
		return names
	}
	encoding := nameEncoding(foreign)
	for i, name := range names {
		if !utf8.ValidString(name) {
			names[i] = codepage.As(encoding, []byte(name))
		}
	}
	return names
}

// nameEncoding finds the code page of names, which are too short for statistics alone: what is
// common in one code page is rare in the others. The last resort is that of DOS.
func nameEncoding(names []byte) encoding.Encoding {
	switch {
	case codepage.IsShiftJIS(names):
		return japanese.ShiftJIS
	case highBytes(names, func(c byte) bool { return c >= 0x80 && c <= 0xaf || c >= 0xe0 && c <= 0xef }) >= 3:
		return charmap.CodePage866
	case isGBK(names):
		return simplifiedchinese.GBK
	}
	switch guessed := codepage.Guess(names); guessed {
	case simplifiedchinese.GBK, simplifiedchinese.GB18030, traditionalchinese.Big5, korean.EUCKR, japanese.EUCJP:
		return guessed
	}
	return charmap.CodePage437
}

// highBytes returns how many bytes that are not ASCII follow one another at most, 0 when any of
// them is not expected.
func highBytes(b []byte, expected func(byte) bool) int {
	run, longest := 0, 0
	for _, c := range b {
		switch {
		case c < utf8.RuneSelf:
			run = 0
			continue
		case !expected(c):
			return 0
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// isGBK reports whether all that is not ASCII are common ideographs of GB 2312, of which some
// would be no Korean.
func isGBK(b []byte) bool {
	beyondKorean := false
	for i := 0; i < len(b); i++ {
		if b[i] < utf8.RuneSelf {
			continue
		}
		if i+1 == len(b) || b[i] < 0xb0 || b[i] > 0xd7 || b[i+1] < 0xa1 {
			return false
		}
		beyondKorean = beyondKorean || b[i] > 0xc8
		i++
	}
	return beyondKorean
}

// isJunk holds for folders, and for what systems put beside files.
func isJunk(name string) bool {
	if strings.HasSuffix(name, "/") || strings.HasSuffix(name, `\`) {
		return true
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		if part == "__MACOSX" || part == ".DS_Store" || part == "Thumbs.db" || strings.HasPrefix(part, "._") {
			return true
		}
	}
	return false
}

func readTAR(ctx context.Context, f *file) (*Document, error) {
	return addTAR(ctx, f, io.NewSectionReader(f.r, 0, f.size))
}

// addTAR takes the files of a tar archive out; links and devices are none. Each file has a header with
// a checksum. Where one is broken, what lies behind it is lost, and what lies before it is whole.
func addTAR(ctx context.Context, f *file, src io.Reader) (*Document, error) {
	doc := &Document{}
	archive := tar.NewReader(src)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return doc, nil
		case errors.Is(err, tar.ErrInsecurePath): // partName looks at it
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, new(*Error)):
			return nil, err
		case err != nil && len(f.spool.parts) > 0:
			doc.Cut = damaged("the archive is cut off or broken behind the first %d files in it", len(f.spool.parts))
			return doc, nil
		case err != nil:
			return nil, damaged("the archive is cut off or broken")
		}
		isFile := header.Typeflag == tar.TypeReg || header.Typeflag == tar.TypeGNUSparse
		if !isFile || isJunk(header.Name) {
			continue
		}
		name := header.Name
		if !utf8.ValidString(name) {
			name = codepage.As(nameEncoding([]byte(name)), []byte(name))
		}
		if err := f.spool.add(ctx, name, archive); err != nil {
			return nil, err
		}
	}
}

// readGzip takes the file out that was compressed, or the files of the tar archive that it is.
func readGzip(ctx context.Context, f *file) (*Document, error) {
	r, err := gzip.NewReader(io.NewSectionReader(f.r, 0, f.size))
	if err != nil {
		return nil, damaged("the compressed file is cut off or broken")
	}
	return addCompressed(ctx, f, r, r.Name)
}

func readBzip2(ctx context.Context, f *file) (*Document, error) {
	return addCompressed(ctx, f, bzip2.NewReader(io.NewSectionReader(f.r, 0, f.size)), "")
}

// addCompressed takes out what one compressed file holds; name is what the file says of it.
func addCompressed(ctx context.Context, f *file, src io.Reader, name string) (*Document, error) {
	in := bufio.NewReaderSize(&ratioReader{r: src, packed: f.size}, 1024)
	head, _ := in.Peek(512) // an error comes again
	if isTAR(head) {
		doc, err := addTAR(ctx, f, in)
		if err == nil {
			err = readToEnd(ctx, in)
		}
		return doc, err
	}
	if base := path.Base(strings.ReplaceAll(f.name, `\`, "/")); uncompressedName(base) != base {
		name = uncompressedName(base)
	}
	if name = path.Base(strings.ReplaceAll(name, `\`, "/")); name == "." || name == "/" {
		name = "content"
	}
	if err := f.spool.add(ctx, name, in); err != nil {
		return nil, err
	}
	return &Document{}, nil
}

// readToEnd reads what is left of a compressed file, whose checksum comes last. Nothing that was taken
// out of it before counts when that is wrong: it is not known where the damage begins.
func readToEnd(ctx context.Context, r io.Reader) error {
	_, err := io.Copy(io.Discard, &contextReader{ctx, r})
	if isSyntaxError(err) {
		return damaged("the compressed file is cut off or was changed: it does not have its checksum")
	}
	return err
}

// uncompressedName takes the ending off that a compressed file has.
func uncompressedName(name string) string {
	for _, ending := range []string{".gz", ".bz2", ".bz", ".tgz", ".tbz", ".tbz2"} {
		if rest := name[:max(0, len(name)-len(ending))]; rest != "" && strings.EqualFold(name[len(rest):], ending) {
			return rest
		}
	}
	return name
}

// isTAR recognises the header of the first file in a tar archive: by its magic, or for the oldest
// ones by its checksum.
func isTAR(head []byte) bool {
	if len(head) < 512 {
		return false
	}
	if string(head[257:262]) == "ustar" {
		return true
	}
	_, err := tar.NewReader(bytes.NewReader(head)).Next()
	return err == nil && head[0] != 0
}

// ratioReader fails with a TooLarge error where what a file unpacks to is out of proportion.
type ratioReader struct {
	r         io.Reader
	packed, n int64
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n += int64(n)
	if r.n > unpackRatioAfter && r.n > unpackRatio*r.packed {
		return n, tooLarge("it unpacks to more than %d times its size", unpackRatio)
	}
	return n, err
}
