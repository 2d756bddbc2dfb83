package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"parley/internal/interrupt"
)

// A file may unpack to UnpackRatio times its own size; the first UnpackRatioAfter bytes are always allowed. Documents
// reach about 50 times, bombs begin at 1,000.
const (
	UnpackRatio      = 200
	UnpackRatioAfter = 8 << 20
)

// Spool writes the files inside a file to a folder, one after the other.
type Spool struct {
	dir    string // "" to count the parts and drop their content
	limits Limits
	packed int64 // size of the enclosing file
	bytes  int64 // of the parts so far
	made   bool  // the folder exists
	names  map[string]int
	Parts  []Part
}

// maxPartName is the maximum length in bytes of the name of a part.
const maxPartName = 1024

// Add writes one file. A problem of only that file becomes its Refused. The error is ctx's, or says that all parts together
// exceed a limit or that the folder cannot be written to.
func (s *Spool) Add(ctx context.Context, name string, content io.Reader) error {
	name, ok := CleanName(name)
	if !ok {
		return s.Refuse(name, &Error{Reason: UnsafeName, Detail: "its name leads out of the archive"})
	}
	name = s.Unique(name)
	n, err := s.write(interrupt.Reader(ctx, content))
	var refused *Error
	var broken *spoolError
	switch {
	case err == nil:
		s.Parts = append(s.Parts, Part{Name: name, Size: n})
		return s.check()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &broken):
		return err
	case !errors.As(err, &refused):
		refused = Damagedf("its content in the archive is cut off or broken")
	}
	return s.Refuse(name, refused)
}

// Unique returns the name, with a number if another part has it.
func (s *Spool) Unique(name string) string {
	if s.names == nil {
		s.names = map[string]int{}
	}
	s.names[name]++
	n := s.names[name]
	if n == 1 {
		return name
	}
	ext := path.Ext(name)
	return s.Unique(fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext))
}

// Refuse records a file that cannot be extracted.
func (s *Spool) Refuse(name string, why *Error) error {
	s.Parts = append(s.Parts, Part{Name: name, Refused: why})
	return s.check()
}

// write copies content to the next file of the folder, and removes it when there is an error.
func (s *Spool) write(content io.Reader) (n int64, err error) {
	if s.dir == "" {
		return s.copy(io.Discard, content)
	}
	if !s.made {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return 0, &spoolError{err}
		}
		s.made = true
	}
	place := filepath.Join(s.dir, PartName(len(s.Parts)))
	file, err := os.OpenFile(place, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, &spoolError{err}
	}
	n, err = s.copy(spoolWriter{file}, content)
	if closed := file.Close(); err == nil && closed != nil {
		err = &spoolError{closed}
	}
	if err != nil {
		os.Remove(place)
	}
	return n, err
}

// spoolError is an error of the folder, not of the file.
type spoolError struct{ err error }

func (e *spoolError) Error() string { return fmt.Sprintf("take a file out of another: %v", e.err) }
func (e *spoolError) Unwrap() error { return e.err }

type spoolWriter struct{ w io.Writer }

func (s spoolWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		err = &spoolError{err}
	}
	return n, err
}

// copy copies content up to the limits for one part and for all parts.
func (s *Spool) copy(out io.Writer, content io.Reader) (int64, error) {
	n, err := io.Copy(out, io.LimitReader(content, min(s.limits.FileBytes, s.limits.PartsBytes-s.bytes)+1))
	s.bytes += n
	if err == nil && n > s.limits.FileBytes {
		err = TooLargef("it has more than %s", Megabytes(s.limits.FileBytes))
	}
	return n, err
}

// check reports whether the parts so far keep within the limits.
func (s *Spool) check() error {
	switch {
	case len(s.Parts) > s.limits.Parts:
		return TooLargef("more than %d files are in it", s.limits.Parts)
	case s.bytes > s.limits.PartsBytes:
		return TooLargef("it unpacks to more than %s", Megabytes(s.limits.PartsBytes))
	case s.bytes > UnpackRatioAfter && s.bytes > UnpackRatio*s.packed:
		return TooLargef("it unpacks to more than %d times its size", UnpackRatio)
	}
	return nil
}

// CleanName returns the name of a file in an archive in the form of fs.ValidPath, and reports whether it stays within the
// archive. Archives come from systems with different rules: backslashes also separate, and drive names lead out.
func CleanName(name string) (string, bool) {
	name = strings.ToValidUTF8(name, "_")
	slashed := strings.ReplaceAll(name, `\`, "/")
	var parts []string
	ok := !strings.HasPrefix(slashed, "/") && !hasDrive(slashed) && len(name) <= maxPartName
	for part := range strings.SplitSeq(slashed, "/") {
		switch part {
		case "", ".":
		case "..":
			ok = false
		default:
			parts = append(parts, part)
		}
	}
	clean := strings.Join(parts, "/")
	if !ok || clean == "" || strings.ContainsFunc(clean, unicode.IsControl) {
		return ShownName(name), false
	}
	return clean, true
}

func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// ShownName returns a name in the form for messages.
func ShownName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	if name == "" {
		name = "(no name)"
	}
	return name
}
