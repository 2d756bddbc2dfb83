// Package pagesum keeps a checksum with every page of a SQLite database's main file, so that a byte that
// has changed there is an error when its page is read, and never an answer. Pages that are still in the
// log are not checked when they are read: SQLite checks the log when it is recovered, and then takes it
// as far as it is whole.
//
// It is a file system of SQLite's (a VFS), named VFS, that hands all work to the one of the operating
// system and looks at what is read from and written to the main file of a database: the last four
// bytes of a page, which SQLite leaves alone, hold the CRC-32C of the bytes before them and of the
// page's number. SQLite's own checksum VFS works likewise; it is a part of no Go build.
//
//	if err := pagesum.Register(); err != nil { … }
//	db, err := sql.Open("sqlite", "file:/tmp/a.db?vfs="+pagesum.VFS)
//
// A new database has checksums from its first page on, an older one after VACUUM. It must be in WAL
// mode: a reader then never reads a page that is being written, and a page that a crash has left half
// written is read from the log, which has checksums of SQLite's, until it is whole. A VACUUM without a log
// is taken back from a journal that begins with page 1, so that the pages behind it are left as they were.
//
// A checksum of zero stands for none: that is what pages have in memory and in the log, and so other
// programs may read, copy, back up and checkpoint the database. What they change counts as damage,
// because nothing tells it from damage, until they run VACUUM, which takes all checksums away; pages
// get theirs when they are written the next time.
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
	// VFS is the name under which Register makes the file system known.
	VFS = "parley"
	// ApplicationID marks a database that has checksums, as does the number of bytes that its pages
	// reserve: damage to one of the two leaves the other. It is PRAGMA application_id.
	ApplicationID = 0x50524c59
	// Damage is the extended code of the error that reading a damaged page gives.
	Damage = sqlite3.SQLITE_IOERR_DATA
	// PageSize is the size of pages that can have checksums, in bytes; it is SQLite's default.
	PageSize = 4096
)

// A file's header and its pages.
const (
	sumSize     = 4
	headerSize  = 100
	sizeAt      = 16 // of a page, two bytes
	reservedAt  = 20 // how many bytes a page reserves
	markAt      = 68 // the application's id
	sumAt       = PageSize - sumSize
	unsummed    = 0 // no checksum
	substituted = 1 // stands for a checksum that happens to be zero
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// headerParts are the parts of page 1 that its checksum is of. It leaves out what SQLite's backup, or
// another program that only opens a database, writes there: the mode of the journal, the counters of
// changes and of schemas, and the writer's version. No answer depends on any.
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

// whole reports whether a page is as it was written, or has no checksum.
func whole(page []byte, number int64) bool {
	stored := binary.BigEndian.Uint32(page[sumAt:])
	return stored == unsummed || stored == sum(page, number)
}

// marked reports whether the header is that of a database with checksums, and whether that can be:
// nothing may be written to the end of pages that do not reserve it.
func marked(header []byte) (is, fits bool) {
	fits = Reserved(header)
	return fits || binary.BigEndian.Uint32(header[markAt:]) == ApplicationID, fits
}

// Reserved reports whether the pages of a database with that header have room for checksums.
func Reserved(header []byte) bool {
	return len(header) >= headerSize && header[reservedAt] == sumSize &&
		binary.BigEndian.Uint16(header[sizeAt:]) == PageSize
}

// Register makes the file system known to SQLite, once for the process.
var Register = sync.OnceValue(register)

// system is the file system of the operating system, and ours a copy of it with another way to open.
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
	name, err := libc.CString(VFS) // for as long as the process lives
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

// reserve is called for every connection of the process that is opened, and has those that are ours
// leave room for checksums in databases that they make, or make anew with VACUUM.
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
