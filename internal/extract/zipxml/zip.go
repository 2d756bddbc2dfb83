// Package zipxml reads documents that are ZIP archives of XML parts, and XML as a stream of tokens. It
// bounds what an archive expands to, and compares checksums before it hands out content.
package zipxml

import (
	"archive/zip"
	"compress/bzip2"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley/internal/extract"
)

// Bounds on archives, against bombs: the number of entries, the length of their directory, and the bytes to which one
// entry may expand.
const (
	MaxEntries   = 10_000
	zipDirectory = 16 << 20
	zipPartBytes = 256 << 20
)

// EncryptedEntry is the flag of an encrypted entry.
const EncryptedEntry = 1

// Archive is an open ZIP archive. It compares the checksum of a part before it returns the first byte,
// and bounds what all parts expand to together, counting a part each time it is opened.
type Archive struct {
	*zip.Reader
	size    int64 // of the archive
	left    int64 // bytes that parts may still expand to
	checked map[*zip.File]error
	r       io.ReaderAt
	named   bool // the names in front of the entries agree with the directory
}

// Open opens a file that is a ZIP archive. The error is an *extract.Error.
func Open(f *extract.File) (*Archive, error) {
	directory := &boundedReader{r: f.Content, left: zipDirectory}
	archive, err := zip.NewReader(directory, f.Size)
	if errors.Is(err, errDirectory) || archive != nil && len(archive.File) > MaxEntries {
		return nil, extract.TooLargef("the archive has more than %d entries", MaxEntries)
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked before they are used
		return nil, extract.Damagedf("the archive that the document is stored in is cut off or broken")
	}
	directory.left = -1
	archive.RegisterDecompressor(methodBzip2, func(r io.Reader) io.ReadCloser { return io.NopCloser(bzip2.NewReader(r)) })
	return &Archive{Reader: archive, size: f.Size, left: expandable(f.Size), checked: map[*zip.File]error{}, r: f.Content}, nil
}

// boundedReader bounds what is read while an archive is opened: its directory can be longer than it
// claims.
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

// OpenPart opens an entry of an archive, or returns nil if it is missing. Its reader fails with TooLarge at the bounds,
// whatever sizes the archive claims. Names are compared without case (ECMA-376 part 2, section 6.2.2).
func OpenPart(archive *Archive, name string) (io.ReadCloser, error) {
	if err := archive.agree(); err != nil {
		return nil, err
	}
	entry := entryNamed(archive, name)
	if entry == nil {
		return nil, nil
	}
	if entry.Flags&EncryptedEntry != 0 {
		return nil, &extract.Error{Reason: extract.Encrypted, Detail: "the archive needs a password"}
	}
	if err := archive.check(entry); err != nil {
		return nil, err
	}
	return archive.open(entry)
}

// check reads an entry to its end to compare its checksum, once for each entry. An entry with the wrong checksum is
// incomplete or was changed.
func (c *Archive) check(entry *zip.File) error {
	if err, ok := c.checked[entry]; ok {
		return err
	}
	r, err := c.open(entry)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		r.Close()
	}
	if IsSyntaxError(err) {
		err = extract.Damagedf("the part %q of the document is cut off or was changed: it does not have its checksum", extract.ShownName(entry.Name))
	}
	c.checked[entry] = err
	return err
}

func (c *Archive) open(entry *zip.File) (io.ReadCloser, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, extract.Damagedf("the part %q of the document cannot be read", extract.ShownName(entry.Name))
	}
	return c.Bounded(r, entry), nil
}

// Bounded bounds what an entry expands to. An archive may claim any packed size for an entry; no more
// than the size of the archive is believed.
func (c *Archive) Bounded(r io.ReadCloser, entry *zip.File) io.ReadCloser {
	return &partReader{ReadCloser: r, of: c, packed: int64(min(entry.CompressedSize64, uint64(c.size)))}
}

func entryNamed(archive *Archive, name string) *zip.File {
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

// partReader counts and bounds what an entry expands to.
type partReader struct {
	io.ReadCloser
	of        *Archive
	packed, n int64
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.n += int64(n)
	p.of.left -= int64(n)
	if p.n > zipPartBytes || p.n > extract.UnpackRatioAfter && p.n > extract.UnpackRatio*p.packed {
		return n, extract.TooLargef("a part of the document expands to more than %s", extract.Megabytes(p.n))
	}
	if p.of.left < 0 {
		return n, extract.TooLargef("its parts expand to more than %d times its size", extract.UnpackRatio)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("inflate: %w", err)
	}
	return n, err
}

// The methods of compression of PKWARE's APPNOTE, section 4.4.5, that archive/zip does not name.
const methodBzip2 = 12

// Decompress returns a reader of the decompressed content, or nil for an unknown method.
func Decompress(method uint16, packed io.Reader) io.Reader {
	switch method {
	case zip.Store:
		return packed
	case zip.Deflate:
		return flate.NewReader(packed)
	case methodBzip2:
		return bzip2.NewReader(packed)
	}
	return nil
}

// agree returns an error unless each entry has the same name in the directory and in front of its
// content. Otherwise a part could be missing from a document without anybody noticing.
func (c *Archive) agree() error {
	if c.named {
		return nil
	}
	for _, entry := range c.File {
		if !sameHeaders(c.r, entry) {
			return extract.Damagedf("the part %q of the document has two names", extract.ShownName(entry.Name))
		}
	}
	c.named = true
	return nil
}

// WholeZIP reports whether all checksums and names of an archive are right, and its end is complete. It is for decrypted
// documents: Office's standard encryption has no checksum of its own.
func WholeZIP(f *extract.File) bool {
	archive, err := Open(f)
	if err != nil || archive.agree() != nil {
		return false
	}
	const endBytes = 22 // of the end record of the directory, after which only its comment may follow
	var end [4]byte
	at := f.Size - endBytes - int64(len(archive.Comment))
	if _, err := f.Content.ReadAt(end[:], at); err != nil || string(end[:]) != "PK\x05\x06" {
		return false
	}
	for _, entry := range archive.File {
		if archive.check(entry) != nil {
			return false
		}
	}
	return true
}

// sameHeaders reports whether the header in front of an entry agrees with the directory.
func sameHeaders(r io.ReaderAt, entry *zip.File) bool {
	content, err := entry.DataOffset()
	if err != nil {
		return false
	}
	// The header ends with the name and an extra field of a length that only the header tells.
	const fixed, most = 30, 1<<16 - 1
	before := make([]byte, min(content, int64(fixed+len(entry.Name)+most)))
	if _, err := r.ReadAt(before, content-int64(len(before))); err != nil {
		return false
	}
	for at := len(before) - fixed - len(entry.Name); at >= 0; at-- {
		header := before[at:]
		word := func(at int) int { return int(binary.LittleEndian.Uint16(header[at:])) }
		extra := len(header) - fixed - len(entry.Name)
		if string(header[:4]) != "PK\x03\x04" || word(28) != extra || word(26) != len(entry.Name) {
			continue
		}
		sum := binary.LittleEndian.Uint32(header[14:]) // 0 if it follows the content
		return string(header[fixed:len(header)-extra]) == entry.Name && word(8) == int(entry.Method) &&
			(sum == entry.CRC32 || sum == 0)
	}
	return false
}

// expandable returns the total bytes to which the parts of a document of a size may expand, counting a part each time it
// is opened. Each part is opened twice: once for its checksum.
func expandable(size int64) int64 { return max(zipPartBytes, 2*extract.UnpackRatio*size) }
