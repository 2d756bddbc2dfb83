package extract

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
)

// Bounds on archives, against bombs: how many entries, how much one entry may expand to in bytes
// and, beyond a size where that is telling, in relation to its compressed size.
const (
	zipEntries    = 10_000
	zipPartBytes  = 256 << 20
	zipRatio      = 200
	zipRatioAfter = 8 << 20
)

func openZIP(f *file) (*zip.Reader, error) {
	archive, err := zip.NewReader(f.r, f.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are only compared, never opened
		return nil, damaged("the archive that the document is stored in is cut off or broken")
	}
	if len(archive.File) > zipEntries {
		return nil, tooLarge("the archive has %d entries, and at most %d are read", len(archive.File), zipEntries)
	}
	return archive, nil
}

// openPart opens an entry of an archive for reading once. The reader fails with a TooLarge error
// at the bounds above, whatever sizes the archive claims. A missing part is nil.
func openPart(archive *zip.Reader, name string) (io.ReadCloser, error) {
	for _, entry := range archive.File {
		if entry.Name != name {
			continue
		}
		if entry.Flags&1 != 0 {
			return nil, &Error{Reason: Encrypted, Detail: "the archive needs a password"}
		}
		r, err := entry.Open()
		if err != nil {
			return nil, damaged("the part %q of the document cannot be read", name)
		}
		return &partReader{ReadCloser: r, packed: int64(entry.CompressedSize64)}, nil
	}
	return nil, nil
}

// partReader counts what an entry expands to.
type partReader struct {
	io.ReadCloser
	packed, n int64
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.n += int64(n)
	if p.n > zipPartBytes || p.n > zipRatioAfter && p.n > zipRatio*p.packed {
		return n, tooLarge("a part of the document expands to more than %s", megabytes(p.n))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("inflate: %w", err)
	}
	return n, err
}
