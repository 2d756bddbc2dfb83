package archive

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/bodgit/sevenzip"
	"github.com/ulikunitz/xz/lzma"

	"parley/internal/extract"
)

var _ = extract.Register("7-Zip archive", extract.Reader{Read: readSevenZip})

// maxDictionary bounds what a decompressor allocates before its first byte. 7-Zip and xz use 64 MiB at
// their highest levels.
const maxDictionary = 128 << 20

// errDictionary is the error of a file that needs a larger dictionary.
var errDictionary = extract.TooLargef("unpacking it needs more than %s of memory", extract.Megabytes(maxDictionary))

// useOwnDecompressors replaces the decompressors of the library that allocate whatever size the archive asks for
// (identifiers: Methods.txt of 7-Zip).
var useOwnDecompressors = sync.OnceFunc(func() {
	sevenzip.RegisterDecompressor([]byte{3, 1, 1}, openLZMA)
	sevenzip.RegisterDecompressor([]byte{0x21}, openLZMA2)
	sevenzip.RegisterDecompressor([]byte{3, 4, 1}, refusePPMd)
	sevenzip.RegisterDecompressor([]byte{6, 0xf1, 7, 1}, openAES)
})

// refusePPMd refuses a method whose implementation does not limit its memory.
func refusePPMd([]byte, uint64, []io.ReadCloser) (io.ReadCloser, error) { return nil, unknownMethod() }

func openLZMA(properties []byte, size uint64, packed []io.ReadCloser) (io.ReadCloser, error) {
	if len(properties) != lzmaProperties || len(packed) != 1 {
		return nil, errors.New("the properties of LZMA are broken")
	}
	if binary.LittleEndian.Uint32(properties[1:]) > maxDictionary {
		return nil, errDictionary
	}
	head := binary.LittleEndian.AppendUint64(properties[:lzmaProperties:lzmaProperties], size)
	r, err := lzma.ReaderConfig{DictCap: maxDictionary}.NewReader(io.MultiReader(strings.NewReader(string(head)), packed[0]))
	return decompressor{r, packed[0]}, err
}

// lzmaProperties is the number of bytes before the length in the head of an LZMA stream.
const lzmaProperties = 5

func openLZMA2(properties []byte, _ uint64, packed []io.ReadCloser) (io.ReadCloser, error) {
	if len(properties) != 1 || len(packed) != 1 {
		return nil, errors.New("the properties of LZMA2 are broken")
	}
	size, err := lzma.DecodeDictCap(properties[0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the size of the dictionary: %w", err)
	case size > maxDictionary:
		return nil, errDictionary
	}
	r, err := lzma.Reader2Config{DictCap: int(max(size, lzma.MinDictCap))}.NewReader2(packed[0])
	return decompressor{r, packed[0]}, err
}

// decompressor closes the reader from which it reads.
type decompressor struct {
	io.Reader
	io.Closer
}

// readSevenZip extracts the files of a 7-Zip archive.
func readSevenZip(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := openSevenZip(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() || !entry.Mode().IsRegular() || isJunk(entry.Name) {
			continue
		}
		if err := f.Spool.Add(ctx, entry.Name, &sevenZipEntry{file: entry}); err != nil {
			return nil, err
		}
	}
	return &extract.Document{}, nil
}

// openSevenZip opens an archive without a password, or with the first one that fits.
func openSevenZip(ctx context.Context, f *extract.File) (*sevenzip.Reader, error) {
	useOwnDecompressors()
	encrypted := false
	for _, password := range append([]string{""}, f.Passwords...) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		archive, err := sevenzip.NewReaderWithPassword(f.Content, f.Size, password)
		if err == nil && len(archive.File) > 2*f.Limits.Parts { // folders count too
			return nil, extract.TooLargef("more than %d files are in it", f.Limits.Parts)
		}
		if err == nil {
			err = tryEntry(archive)
		}
		refused := (*extract.Error)(nil)
		switch {
		case err == nil:
			return archive, nil
		case errors.Is(err, errNoPassword):
			encrypted = true
		case encrypted: // after a wrong password, the content seems to be broken
		case errors.As(err, &refused) && archive == nil:
			return nil, refused
		case archive != nil:
			return archive, nil // reading each file reports what is wrong with it
		default:
			return nil, extract.Damagedf("the archive is cut off or broken")
		}
	}
	return nil, errNoPassword
}

// tryEntry reads the smallest file, which needs the password if there is one.
func tryEntry(archive *sevenzip.Reader) error {
	var smallest *sevenzip.File
	for _, entry := range archive.File {
		if entry.UncompressedSize > 0 && (smallest == nil || entry.UncompressedSize < smallest.UncompressedSize) {
			smallest = entry
		}
	}
	if smallest == nil {
		return nil
	}
	entry := &sevenZipEntry{file: smallest}
	_, err := io.Copy(io.Discard, entry)
	return err
}

// sevenZipEntry opens a file of an archive at the first read and compares its checksum at the end.
type sevenZipEntry struct {
	file *sevenzip.File
	open io.ReadCloser
	sum  uint32
	left int64
}

func (e *sevenZipEntry) Read(p []byte) (int, error) {
	if e.open == nil {
		var err error
		if e.open, err = e.file.Open(); err != nil {
			return 0, err
		}
		e.left = int64(e.file.UncompressedSize)
	}
	n, err := e.open.Read(p)
	e.sum = crc32.Update(e.sum, crc32.IEEETable, p[:n])
	e.left -= int64(n)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return n, err
	case err != nil || e.left <= 0:
		if err := e.open.Close(); err != nil {
			return n, err
		}
		if e.left > 0 || e.file.CRC32 != 0 && e.sum != e.file.CRC32 {
			return n, errChecksum
		}
		return n, io.EOF
	}
	return n, nil
}

var errChecksum = errors.New("the file does not have its checksum")
