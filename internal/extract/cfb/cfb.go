// Package cfb reads compound files (MS-CFB 1.9): a file system in one file, in which Outlook and the
// old Office formats keep their streams. A broken file never makes it panic or loop: its tables are
// believed only as far as the file reaches.
package cfb

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
)

// File is an open compound file.
type File struct {
	r          io.ReaderAt
	size       int64
	sector     int64 // bytes
	cutoff     int64 // streams below it lie in the mini stream
	fat        []uint32
	miniFAT    []uint32
	miniStart  uint32 // of the mini stream
	miniLength int64
	homes      []uint32 // the sectors of the mini stream; nil until it is used
	cached     []byte   // one of these
	cachedHome int64
	entries    []Entry
}

// Entry is a storage or a stream of a file.
type Entry struct {
	Name string

	file               *File
	kind               byte
	left, right, child uint32
	start              uint32
	size               int64
	children           []*Entry
	listed             bool // children are complete
}

// The kinds of entry.
const (
	storage     = 1
	stream      = 2
	rootStorage = 5
)

// Values in tables that do not name a sector.
const (
	lastSector = 0xfffffffa // sector numbers end before it
	noEntry    = 0xffffffff
)

const (
	miniSector = 64
	maxEntries = 100_000
)

var errBroken = errors.New("the compound file is broken")

// Magic begins each compound file.
const Magic = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// Open reads the tables of a compound file.
func Open(r io.ReaderAt, size int64) (*File, error) {
	head := make([]byte, 512)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), head); err != nil || string(head[:8]) != Magic {
		return nil, errBroken
	}
	c := &File{r: r, size: size, cutoff: int64(le32(head[56:]))}
	switch binary.LittleEndian.Uint16(head[30:]) {
	case 9:
		c.sector = 512
	case 12:
		c.sector = 4096
	default:
		return nil, errBroken
	}
	if err := c.readFAT(head); err != nil {
		return nil, err
	}
	var err error
	if c.miniFAT, err = c.table(le32(head[60:])); err != nil {
		return nil, err
	}
	return c, c.readDirectory(le32(head[48:]))
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// sectors returns the maximum number of sectors in the file.
func (c *File) sectors() int64 { return (c.size-1)/c.sector + 1 }

// readSector returns a sector; the last one may be cut.
func (c *File) readSector(n uint32) ([]byte, error) {
	off := (int64(n) + 1) * c.sector
	if n >= lastSector || off >= c.size {
		return nil, errBroken
	}
	b := make([]byte, c.sector)
	if got, err := c.r.ReadAt(b, off); got == 0 {
		return nil, errors.Join(errBroken, err)
	}
	return b, nil
}

// readFAT reads the table of sectors, whose own sectors are listed in the header and in a chain of
// further lists.
func (c *File) readFAT(head []byte) error {
	list, next := head[76:512], le32(head[68:])
	for range c.sectors() + 1 {
		for i := 0; i+4 <= len(list); i += 4 {
			n := le32(list[i:])
			if n >= lastSector || int64(len(c.fat)) >= c.sectors() {
				continue
			}
			sector, err := c.readSector(n)
			if err != nil {
				continue // this part of the table is missing; the rest may be enough
			}
			c.fat = appendWords(c.fat, sector)
		}
		if next >= lastSector {
			return nil
		}
		sector, err := c.readSector(next)
		if err != nil {
			return nil //nolint:nilerr // the rest of the list is missing; what was read may be enough
		}
		list, next = sector[:c.sector-4], le32(sector[c.sector-4:])
	}
	return errBroken
}

func appendWords(words []uint32, b []byte) []uint32 {
	for i := 0; i+4 <= len(b); i += 4 {
		words = append(words, le32(b[i:]))
	}
	return words
}

// table reads a chain of sectors as numbers.
func (c *File) table(start uint32) ([]uint32, error) {
	var words []uint32
	err := c.chain(start, func(sector []byte) bool {
		words = appendWords(words, sector)
		return true
	})
	return words, err
}

// chain calls visit for the sectors of a chain until it returns false. A chain that leads nowhere
// just ends; one that goes in a circle is an error.
func (c *File) chain(start uint32, visit func([]byte) bool) error {
	for range c.sectors() + 1 {
		if start >= lastSector {
			return nil
		}
		sector, err := c.readSector(start)
		if err != nil || !visit(sector) {
			return nil //nolint:nilerr // the chain ends with the file
		}
		if int64(start) >= int64(len(c.fat)) {
			return nil
		}
		start = c.fat[start]
	}
	return errBroken
}

func (c *File) readDirectory(start uint32) error {
	err := c.chain(start, func(sector []byte) bool {
		for i := 0; i+128 <= len(sector); i += 128 {
			c.entries = append(c.entries, c.entry(sector[i:i+128]))
		}
		return len(c.entries) < maxEntries
	})
	if err != nil {
		return err
	}
	if len(c.entries) == 0 || c.entries[0].kind != rootStorage {
		return errBroken
	}
	c.miniStart, c.miniLength = c.entries[0].start, c.entries[0].size
	return nil
}

func (c *File) entry(b []byte) Entry {
	var name []uint16
	for i := 0; i+2 < min(int(binary.LittleEndian.Uint16(b[64:])), 64); i += 2 {
		name = append(name, binary.LittleEndian.Uint16(b[i:]))
	}
	size := int64(binary.LittleEndian.Uint64(b[120:]))
	if c.sector == 512 {
		size &= 0xffffffff // the upper half may hold anything (section 2.6.1)
	}
	return Entry{
		file: c, Name: string(utf16.Decode(name)), kind: b[66], start: le32(b[116:]),
		left: le32(b[68:]), right: le32(b[72:]), child: le32(b[76:]), size: min(max(size, 0), c.size),
	}
}

// Root returns the storage that holds all others.
func (c *File) Root() *Entry { return &c.entries[0] }

// IsStorage reports whether the entry holds others, as a folder does. Otherwise it is a stream.
func (e *Entry) IsStorage() bool { return e.kind == storage }

// List returns the entries of a storage.
func (e *Entry) List() []*Entry {
	if e.listed || e.kind == stream {
		return e.children
	}
	e.listed = true
	open, seen := []uint32{e.child}, map[uint32]bool{}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n == noEntry || int64(n) >= int64(len(e.file.entries)) || n == 0 || seen[n] {
			continue
		}
		seen[n] = true
		child := &e.file.entries[n]
		open = append(open, child.left, child.right)
		if child.kind == storage || child.kind == stream {
			e.children = append(e.children, child)
		}
	}
	return e.children
}

// Named returns the entry of that name in a storage, or nil if there is none. It ignores case (section 2.6.4), since
// some programs write all names in capitals.
func (e *Entry) Named(name string) *Entry {
	for _, c := range e.List() {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// Open returns the content of a stream.
func (e *Entry) Open() io.Reader {
	if e.size < e.file.cutoff && e.kind != rootStorage {
		return io.LimitReader(&miniReader{c: e.file, next: e.start}, e.size)
	}
	return io.LimitReader(&chainReader{c: e.file, next: e.start}, e.size)
}

// Bytes returns the content of a stream of at most limit bytes, nil if it is longer or cannot be read.
func (e *Entry) Bytes(limit int64) []byte {
	if e == nil || e.size > limit {
		return nil
	}
	data, err := io.ReadAll(e.Open())
	if err != nil {
		return nil
	}
	return data
}

// chainReader reads the sectors of a chain one after the other.
type chainReader struct {
	c       *File
	next    uint32
	pending []byte
	count   int64
}

func (r *chainReader) Read(p []byte) (int, error) {
	if len(r.pending) == 0 {
		if r.next >= lastSector {
			return 0, io.ErrUnexpectedEOF
		}
		if r.count++; r.count > r.c.sectors() {
			return 0, errBroken
		}
		var err error
		if r.pending, err = r.c.readSector(r.next); err != nil {
			return 0, err
		}
		if int64(r.next) >= int64(len(r.c.fat)) {
			r.next = noEntry
		} else {
			r.next = r.c.fat[r.next]
		}
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

// miniReader reads a chain of the small sectors that lie in the mini stream.
type miniReader struct {
	c       *File
	next    uint32
	pending []byte
	count   int64
}

func (r *miniReader) Read(p []byte) (int, error) {
	if len(r.pending) == 0 {
		if int64(r.next) >= int64(len(r.c.miniFAT)) {
			return 0, io.ErrUnexpectedEOF
		}
		if r.count++; r.count > int64(len(r.c.miniFAT)) {
			return 0, errBroken
		}
		var err error
		if r.pending, err = r.c.miniSector(r.next); err != nil {
			return 0, err
		}
		r.next = r.c.miniFAT[r.next]
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

// miniSector returns a small sector.
func (c *File) miniSector(n uint32) ([]byte, error) {
	off := int64(n) * miniSector
	home := off / c.sector
	if off >= c.miniLength || home >= int64(len(c.miniHomes())) {
		return nil, errBroken
	}
	if c.cached == nil || c.cachedHome != home {
		sector, err := c.readSector(c.homes[home])
		if err != nil {
			return nil, err
		}
		c.cached, c.cachedHome = sector, home
	}
	at := off % c.sector
	return c.cached[at : at+miniSector], nil
}

// miniHomes returns the sectors of the mini stream.
func (c *File) miniHomes() []uint32 {
	if c.homes != nil {
		return c.homes
	}
	for next := c.miniStart; next < lastSector && int64(len(c.homes)) < c.sectors(); next = c.fat[next] {
		c.homes = append(c.homes, next)
		if int64(next) >= int64(len(c.fat)) {
			break
		}
	}
	return c.homes
}
