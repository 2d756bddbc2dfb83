package pagesum

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Short names of SQLite's structures. They, and all memory that SQLite reads, lie outside Go's
// heap.
type (
	vfs  = sqlite3.Tsqlite3_vfs
	file = sqlite3.Tsqlite3_file
)

// methods is the method table of a wrapped file: the system's methods, with a few replaced.
type methods struct {
	sqlite3.Tsqlite3_io_methods                              // first, because SQLite reads it as this type
	system                      *sqlite3.Tsqlite3_io_methods // the original table
}

// Signatures of the replaced methods.
type (
	opener   = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	transfer = func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32
)

// stateSize is the extra room after the system's part of a file. It records whether the file has
// checksums: 1 when it is known to have them. They may begin at any time, because another
// connection may recreate the database, and end only when a page 1 without them is written.
const stateSize = 8

func state(f uintptr) *int32 { return at[int32](f + uintptr(system.FszOsFile)) }

// open opens a file as the system does. For the main file of a database it installs our methods.
func open(tls *libc.TLS, _, name, f uintptr, flags int32, outFlags uintptr) int32 {
	code := function[opener](system.FxOpen)(tls, address(system), name, f, flags, outFlags)
	if code == sqlite3.SQLITE_OK && flags&sqlite3.SQLITE_OPEN_MAIN_DB != 0 {
		*state(f) = 0
		at[file](f).FpMethods = address(wrap(tls, at[file](f).FpMethods))
	}
	return code
}

// wrapped caches our method tables by the system's; there is one for each way of locking.
var wrapped struct {
	mu  sync.Mutex
	all map[uintptr]*methods
}

func wrap(tls *libc.TLS, of uintptr) *methods {
	wrapped.mu.Lock()
	defer wrapped.mu.Unlock()
	if m, ok := wrapped.all[of]; ok {
		return m
	}
	m := create[methods](tls)
	m.system = at[sqlite3.Tsqlite3_io_methods](of)
	m.Tsqlite3_io_methods = *m.system
	m.FxRead, m.FxWrite = pointer(read), pointer(write)
	m.FiVersion = min(m.FiVersion, 2) // version 3 can map the file into memory, which bypasses read
	if wrapped.all == nil {
		wrapped.all = map[uintptr]*methods{}
	}
	wrapped.all[of] = m
	return m
}

func systemOf(f uintptr) *sqlite3.Tsqlite3_io_methods {
	return at[methods](at[file](f).FpMethods).system
}

// read reads from the main file of a database.
func read(tls *libc.TLS, f, buffer uintptr, n int32, offset int64) int32 {
	with := function[transfer](systemOf(f).FxRead)
	if offset < PageSize && n < PageSize {
		return with(tls, f, buffer, n, offset) // the header, which is verified with its page
	}
	is, code := summed(tls, f)
	switch {
	case code != sqlite3.SQLITE_OK:
		return code
	case !is:
		return with(tls, f, buffer, n, offset)
	case n > PageSize || offset%PageSize != 0:
		return Damage // a page of another size
	case n < PageSize:
		return readPart(tls, f, unsafe.Slice(at[byte](buffer), n), offset)
	}
	return readPage(tls, f, buffer, offset, false)
}

// readPage reads and verifies a page and zeroes its checksum. A page in use must not be blank.
func readPage(tls *libc.TLS, f, buffer uintptr, offset int64, inUse bool) int32 {
	page := unsafe.Slice(at[byte](buffer), PageSize)
	code := function[transfer](systemOf(f).FxRead)(tls, f, buffer, PageSize, offset)
	if code != sqlite3.SQLITE_OK && code != sqlite3.SQLITE_IOERR_SHORT_READ {
		return code
	}
	switch blank := empty(page); {
	case blank && inUse,
		code == sqlite3.SQLITE_IOERR_SHORT_READ && !blank, // the file ends within this page
		code == sqlite3.SQLITE_OK && !whole(page, offset/PageSize+1):
		return Damage
	}
	clear(page[sumAt:])
	return code
}

// empty reports whether a page is all zero: SQLite does not write a page that was allocated and
// freed.
func empty(page []byte) bool {
	for _, b := range page {
		if b != 0 {
			return false
		}
	}
	return true
}

// readPart reads the beginning of a page, as SQLite does for the overflow of a long value.
func readPart(tls *libc.TLS, f uintptr, into []byte, offset int64) int32 {
	page := tls.Alloc(PageSize)
	defer tls.Free(PageSize)
	code := readPage(tls, f, page, offset, true)
	copy(into, unsafe.Slice(at[byte](page), PageSize))
	return code
}

// write writes to the main file of a database. The page in the buffer has its checksum during the
// write only.
func write(tls *libc.TLS, f, buffer uintptr, n int32, offset int64) int32 {
	with := function[transfer](systemOf(f).FxWrite)
	if n != PageSize || offset%PageSize != 0 {
		return with(tls, f, buffer, n, offset)
	}
	page := unsafe.Slice(at[byte](buffer), PageSize)
	if offset == 0 { // page 1 decides about the pages behind it, whatever the file still says
		is, fits := marked(page)
		switch {
		case is && !fits:
			return Damage
		case is:
			*state(f) = 1
		default:
			*state(f) = 0
			return with(tls, f, buffer, n, offset)
		}
	}
	is, code := summed(tls, f)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	if !is {
		return with(tls, f, buffer, n, offset)
	}
	binary.BigEndian.PutUint32(page[sumAt:], sum(page, offset/PageSize+1))
	code = with(tls, f, buffer, n, offset)
	clear(page[sumAt:])
	return code
}

// summed reports whether the pages of a file have checksums. The code is Damage if the file claims
// to have them but cannot.
func summed(tls *libc.TLS, f uintptr) (bool, int32) {
	known := state(f)
	if *known != 0 {
		return true, sqlite3.SQLITE_OK
	}
	header := tls.Alloc(headerSize)
	defer tls.Free(headerSize)
	code := function[transfer](systemOf(f).FxRead)(tls, f, header, headerSize, 0)
	if code != sqlite3.SQLITE_OK {
		return false, sqlite3.SQLITE_OK // an empty file; SQLite handles it
	}
	is, fits := marked(unsafe.Slice(at[byte](header), headerSize))
	if !is {
		return false, sqlite3.SQLITE_OK
	}
	if !fits {
		return true, Damage
	}
	*known = 1
	return true, sqlite3.SQLITE_OK
}

// at returns the value at an address of SQLite's memory.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// address is the inverse of at.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// create returns a zero value that lives as long as the process.
func create[T any](tls *libc.TLS) *T {
	return at[T](libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(*new(T)))))
}

// function converts one of SQLite's function pointers to a Go function, and pointer is its inverse:
// the driver stores Go function values in those pointers.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }

func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }
