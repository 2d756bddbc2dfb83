package extract

import (
	"archive/zip"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds on archives, against bombs: how many entries, how long their directory, and how much one
// entry may expand to in bytes.
const (
	zipEntries   = 10_000
	zipDirectory = 16 << 20
	zipPartBytes = 256 << 20
)

// zipEncrypted is the flag of an encrypted entry.
const zipEncrypted = 1

func openZIP(f *file) (*zip.Reader, error) {
	directory := &boundedReader{r: f.r, left: zipDirectory}
	archive, err := zip.NewReader(directory, f.size)
	if errors.Is(err, errDirectory) || archive != nil && len(archive.File) > zipEntries {
		return nil, tooLarge("the archive has more than %d entries", zipEntries)
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are looked at before they are used
		return nil, damaged("the archive that the document is stored in is cut off or broken")
	}
	directory.left = -1
	archive.RegisterDecompressor(12, func(r io.Reader) io.ReadCloser { return io.NopCloser(bzip2.NewReader(r)) })
	return archive, nil
}

// boundedReader bounds what is read while an archive opens: its directory can claim to be short
// and go on for ever.
type boundedReader struct {
	r    io.ReaderAt
	left int64 // bytes; negative for no bound
}

var errDirectory = errors.New("the directory of the archive is too long")

func (b *boundedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.r.ReadAt(p, off)
	if b.left >= 0 {
		if b.left -= int64(n); b.left < 0 {
			return 0, errDirectory
		}
	}
	return n, err
}

// openPart opens an entry of an archive for reading once. The reader fails with a TooLarge error
// at the bounds, whatever sizes the archive claims. A missing part is nil. Names of parts do not
// differ by their case alone (ECMA-376 part 2, section 6.2.2).
func openPart(archive *zip.Reader, name string) (io.ReadCloser, error) {
	entry := entryNamed(archive, name)
	if entry == nil {
		return nil, nil
	}
	if entry.Flags&zipEncrypted != 0 {
		return nil, &Error{Reason: Encrypted, Detail: "the archive needs a password"}
	}
	r, err := entry.Open()
	if err != nil {
		return nil, damaged("the part %q of the document cannot be read", shownName(name))
	}
	return &partReader{ReadCloser: r, packed: int64(entry.CompressedSize64)}, nil
}

func entryNamed(archive *zip.Reader, name string) *zip.File {
	var alike *zip.File
	for _, entry := range archive.File {
		if entry.Name == name {
			return entry
		}
		if alike == nil && len(entry.Name) == len(name) && strings.EqualFold(strings.ReplaceAll(entry.Name, `\`, "/"), name) {
			alike = entry
		}
	}
	return alike
}

// partReader counts what an entry expands to.
type partReader struct {
	io.ReadCloser
	packed, n int64
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.n += int64(n)
	if p.n > zipPartBytes || p.n > unpackRatioAfter && p.n > unpackRatio*p.packed {
		return n, tooLarge("a part of the document expands to more than %s", megabytes(p.n))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("inflate: %w", err)
	}
	return n, err
}
