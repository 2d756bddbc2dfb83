package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/internal/store/pagesum"
)

// cachedPages is the number of database pages that the process keeps in memory, over all connections: 4.3
// MiB.
//
// This build of SQLite has one page cache for all connections. Its limit is the sum of their
// cache_size. A busy connection takes over the least recently used pages, whichever connection read
// them; the others allocate new pages when they need theirs again. With the allocator alone, the
// cache would grow towards that sum over hours, in blocks of 8 KiB for a page of 4 KiB. With a
// preallocated array, SQLite reuses pages when the array is used up, and allocates more only while
// all are in use.
const cachedPages = 1024

// errCacheLate says that a database was opened before the page cache was allocated. Pages then come
// from the allocator.
var errCacheLate = errors.New("the page cache must be allocated before the first database is opened")

// allocatePageCache allocates the pages once per process. It must run before SQLite is initialized.
var allocatePageCache = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	const int32Size = 4
	header := libc.Xcalloc(tls, 1, int32Size) // SQLite's own header of a cached page
	defer libc.Xfree(tls, header)
	if err := configure(tls, sqlite3.SQLITE_CONFIG_PCACHE_HDRSZ, header); err != nil {
		return err
	}
	size := pagesum.PageSize + int32(binary.NativeEndian.Uint32(libc.GoBytes(header, int32Size)))
	pages := libc.Xmalloc(tls, libc.Tsize_t(size)*cachedPages) // never freed
	if pages == 0 {
		return errors.New("no memory for the page cache")
	}
	err := configure(tls, sqlite3.SQLITE_CONFIG_PAGECACHE, pages, size, int32(cachedPages))
	if err != nil {
		libc.Xfree(tls, pages)
	}
	return err
})

// configure calls sqlite3_config.
func configure(tls *libc.TLS, option int32, args ...any) error {
	list := libc.NewVaList(args...)
	defer libc.Xfree(tls, list)
	switch code := sqlite3.Xsqlite3_config(tls, option, list); code {
	case sqlite3.SQLITE_OK:
		return nil
	case sqlite3.SQLITE_MISUSE:
		return errCacheLate
	default:
		return fmt.Errorf("configure SQLite: code %d", code)
	}
}
