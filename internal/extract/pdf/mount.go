package pdf

import (
	"io"
	"io/fs"
	"time"

	"parley/internal/extract"
)

// pdfMount is the file system that PDFium sees: the one document that is being read. PDFium
// reads the parts it needs, so that a large file costs no memory.
type pdfMount struct{ document *extract.File }

const mountedName = "document.pdf"

func (m *pdfMount) Open(name string) (fs.File, error) {
	switch {
	case name == ".":
		return mountedRoot{}, nil
	case name == mountedName && m.document != nil:
		return &mountedFile{io.NewSectionReader(m.document.Content, 0, m.document.Size)}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// mountedFile reads, seeks, and reads at an offset. WASI requires all of these of a file.
type mountedFile struct{ *io.SectionReader }

func (f *mountedFile) Stat() (fs.FileInfo, error) {
	return mountedInfo{mountedName, f.Size(), 0o444}, nil
}
func (f *mountedFile) Close() error { return nil }

type mountedRoot struct{}

func (mountedRoot) Stat() (fs.FileInfo, error) { return mountedInfo{".", 0, fs.ModeDir | 0o555}, nil }
func (mountedRoot) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (mountedRoot) Close() error               { return nil }

type mountedInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i mountedInfo) Name() string       { return i.name }
func (i mountedInfo) Size() int64        { return i.size }
func (i mountedInfo) Mode() fs.FileMode  { return i.mode }
func (i mountedInfo) ModTime() time.Time { return time.Time{} }
func (i mountedInfo) IsDir() bool        { return i.mode.IsDir() }
func (i mountedInfo) Sys() any           { return nil }
