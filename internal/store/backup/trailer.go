package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// The trailer is a skippable frame of Zstandard (RFC 8878, section 3.1.2): its number, the length of
// its content, and as content a mark and the SHA-256 of all bytes before the frame.
const (
	skippable   = 0x184D2A50
	mark        = "parley-1"
	contentSize = len(mark) + sha256.Size
	trailerSize = 8 + contentSize
)

func appendTrailer(to, sum []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, skippable)
	to = binary.LittleEndian.AppendUint32(to, uint32(contentSize))
	return append(append(to, mark...), sum...)
}

// DamagedError says that a file is not a whole backup. Its text may be shown to users.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return "the backup " + e.Path + " cannot be restored: " + e.Err.Error() + "; use another backup"
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

var (
	errNoTrailer = errors.New("it is not a backup of Parley, or its end is missing")
	errSum       = errors.New("it is damaged: its bytes do not match its checksum")
)

// readTrailer returns the size of the data before the trailer, and its SHA-256 as the trailer says.
func readTrailer(f *os.File) (size int64, sum []byte, err error) {
	st, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	size = st.Size() - int64(trailerSize)
	trailer := make([]byte, trailerSize)
	if size < 0 {
		return 0, nil, errNoTrailer
	}
	if _, err := f.ReadAt(trailer, size); err != nil {
		return 0, nil, err
	}
	sum = trailer[trailerSize-sha256.Size:]
	if !bytes.Equal(trailer, appendTrailer(nil, sum)) {
		return 0, nil, errNoTrailer
	}
	return size, sum, nil
}

// check compares the file with the checksum in its trailer, and returns the data before the trailer.
func check(ctx context.Context, f *os.File, progress Progress) (*io.SectionReader, error) {
	size, want, err := readTrailer(f)
	if err != nil {
		return nil, &DamagedError{f.Name(), err}
	}
	packed := io.NewSectionReader(f, 0, size)
	sum := sha256.New()
	if _, err := io.Copy(sum, &watched{ctx: ctx, r: packed, total: size, progress: progress}); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return nil, &DamagedError{f.Name(), errSum}
	}
	_, err = packed.Seek(0, io.SeekStart)
	return packed, err
}

// watched is a reader that counts and ends when its context does.
type watched struct {
	ctx         context.Context
	r           io.Reader
	done, total int64
	progress    Progress
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.done += int64(n)
	if w.progress != nil {
		w.progress(w.done, w.total)
	}
	return n, err
}
