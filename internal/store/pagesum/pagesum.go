// Package pagesum keeps a checksum with every page of a SQLite database's main file, so that
// reading a changed byte gives an error instead of a wrong answer. Pages that are still in the log
// are not verified when they are read: SQLite verifies the log during recovery and uses its intact
// part.
//
// It is a SQLite file system (a VFS, named by VFS) on top of the operating system's. It intercepts
// reads and writes of a database's main file: the last four bytes of a page, which SQLite leaves
// unused, hold the CRC-32C of the other bytes and of the page's number. SQLite's own checksum VFS
// works likewise, but no Go build includes it.
//
//	if err := pagesum.Register(); err != nil { … }
//	db, err := sql.Open("sqlite", "file:/tmp/a.db?vfs="+pagesum.VFS)
//
// A new database has checksums from its first page on, an older one after VACUUM. It must be in WAL
// mode: a reader then never reads a page during its write, and a page that a crash left half
// written is read from the log, which has SQLite's own checksums, until the page is rewritten.
// Without a log, the journal of a VACUUM begins with page 1, so that a rollback leaves the other
// pages as they were.
//
// A checksum of zero means that there is none. Pages in memory and in the log have zero, so other
// programs may read, copy, back up and checkpoint the database. Their changes look like damage
// until they run VACUUM, which removes all checksums; each page gets its checksum when it is next
// written.
package pagesum

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// VFS is the name under which Register registers the file system.
	VFS = "parley"
	// ApplicationID (PRAGMA application_id) marks a database that has checksums. So does the number
	// of bytes that its pages reserve; damage to one mark leaves the other.
	ApplicationID = 0x50524c59
	// Damage is the extended error code for reading a damaged page.
	Damage = sqlite3.SQLITE_IOERR_DATA
	// PageSize is the size in bytes of pages that can have checksums. It is SQLite's default.
	PageSize = 4096
)

// The layout of a file's header and its pages.
const (
	sumSize     = 4
	headerSize  = 100
	sizeAt      = 16 // page size, two bytes
	reservedAt  = 20 // reserved bytes of a page
	markAt      = 68 // application id
	sumAt       = PageSize - sumSize
	unsummed    = 0 // no checksum
	substituted = 1 // replaces a checksum that happens to be zero
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// headerParts are the parts of page 1 that its checksum covers. It omits the fields that SQLite's
// backup, or a program that only opens the database, writes: journal mode, change and schema
// counters, and writer's version. No answer depends on them.
var headerParts = [][2]int{{0, 18}, {20, 24}, {28, 40}, {44, 92}, {headerSize, sumAt}}

// sum returns the checksum of a page.
func sum(page []byte, number int64) uint32 {
	s := uint32(number)
	if number == 1 {
		for _, part := range headerParts {
			s = crc32.Update(s, castagnoli, page[part[0]:part[1]])
		}
	} else {
		s = crc32.Update(s, castagnoli, page[:sumAt])
	}
	if s == unsummed {
		return substituted
	}
	return s
}

// Seal writes a page's checksum into it, as a write to the main file of a database with checksums
// does. Pages count from 1.
func Seal(page []byte, number int64) {
	if len(page) == PageSize && !empty(page) {
		binary.BigEndian.PutUint32(page[sumAt:], sum(page, number))
	}
}

// whole reports whether a page matches its checksum or has none.
func whole(page []byte, number int64) bool {
	stored := binary.BigEndian.Uint32(page[sumAt:])
	return stored == unsummed || stored == sum(page, number)
}

// marked reports whether the header marks a database with checksums, and whether its pages have
// room for them: without reserved bytes, nothing may be written to the end of a page.
func marked(header []byte) (is, fits bool) {
	fits = Reserved(header)
	return fits || binary.BigEndian.Uint32(header[markAt:]) == ApplicationID, fits
}

// Reserved reports whether the pages of a database with that header have room for checksums.
func Reserved(header []byte) bool {
	return len(header) >= headerSize && header[reservedAt] == sumSize &&
		binary.BigEndian.Uint16(header[sizeAt:]) == PageSize
}

// Register registers the file system with SQLite, once per process.
var Register = sync.OnceValue(register)

// system is the operating system's file system. ours is a copy of it with another open function.
var system, ours *vfs

func register() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if code := sqlite3.Xsqlite3_initialize(tls); code != sqlite3.SQLITE_OK {
		return fmt.Errorf("initialize SQLite: code %d", code)
	}
	system = at[vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	if system == nil {
		return fmt.Errorf("SQLite has no file system")
	}
	name, err := libc.CString(VFS) // never freed
	if err != nil {
		return err
	}
	ours = create[vfs](tls)
	*ours = *system
	ours.FzName = name
	ours.FszOsFile = system.FszOsFile + stateSize
	ours.FxOpen = pointer(open)
	if code := sqlite3.Xsqlite3_vfs_register(tls, address(ours), 0); code != sqlite3.SQLITE_OK {
		return fmt.Errorf("register the file system %s: code %d", VFS, code)
	}
	if code := sqlite3.Xsqlite3_auto_extension(tls, pointer(reserve)); code != sqlite3.SQLITE_OK {
		return fmt.Errorf("watch for new databases: code %d", code)
	}
	return nil
}

// reserve is called for every new connection of the process. For our connections it reserves room
// for checksums in databases that they create, or rewrite with VACUUM.
func reserve(tls *libc.TLS, db, _, _ uintptr) int32 {
	const size = 8
	arg := tls.Alloc(size)
	defer tls.Free(size)
	code := sqlite3.Xsqlite3_file_control(tls, db, 0, sqlite3.SQLITE_FCNTL_VFS_POINTER, arg)
	if code != sqlite3.SQLITE_OK || *at[uintptr](arg) != address(ours) {
		return sqlite3.SQLITE_OK
	}
	*at[int32](arg) = sumSize
	return sqlite3.Xsqlite3_file_control(tls, db, 0, sqlite3.SQLITE_FCNTL_RESERVE_BYTES, arg)
}
