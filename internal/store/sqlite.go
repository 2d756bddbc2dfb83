package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/store/pagesum"
	"parley/internal/store/pgsql"
)

// maxReaders is the number of concurrent reads of a large database, which wait for the disk.
const maxReaders = 10

// readers returns the number of concurrent reads of a database that the system keeps in memory. Its
// reads compete for processors only; further ones queue.
func readers() int { return min(maxReaders, max(4, 2*runtime.GOMAXPROCS(0))) }

// pragmas are set on every connection. WAL lets readers and one writer work at once, across
// processes. synchronous=FULL syncs the log at every commit; without it, a power failure could lose
// the last commits. Small caches and no memory map keep the resident size small; frequent reads are
// cached above the store or by the system.
var pragmas = []string{
	"busy_timeout(30000)", // milliseconds; first, because the next pragma may have to wait
	"journal_mode(WAL)",
	"synchronous(FULL)",
	"foreign_keys(1)",
	"trusted_schema(0)",
	"cache_size(-2048)",            // KiB; see cachedPages
	"mmap_size(0)",                 // bytes
	"journal_size_limit(16777216)", // size of the log in bytes after a checkpoint
}

// readPragmas are set on connections that read, after pragmas. A cache over 512 KiB did not make
// searches faster.
var readPragmas = []string{"cache_size(-512)", "query_only(1)"}

// dialect holds the differences between the kinds of databases.
type dialect struct {
	reading   sql.TxOptions    // of transactions that read
	updating  sql.TxOptions    // of update
	oneWriter bool             // there is one connection for writing: transactions share it
	lock      string           // the first statement of update; optional
	again     func(error) bool // reports whether a transaction may be tried again after this error; optional
}

// database is one SQLite file with one connection for writing and a pool for reading, or one schema
// of a PostgreSQL database.
type database struct {
	path    string
	dialect dialect
	write   *sql.DB
	read    *sql.DB

	statements statements // of the read pool
	writing    statements // of the write connection
	commits    commits

	grown atomic.Int64 // see DB.Grown
}

// openDatabase opens or creates the file at path and applies the named migrations.
func openDatabase(ctx context.Context, path, migrations string, log *slog.Logger) (*database, error) {
	d := &database{path: path, dialect: sqliteDialect}
	if err := allocatePageCache(); err != nil && !errors.Is(err, errCacheLate) {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := pagesum.Register(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	err := createPrivate(path)
	if err != nil {
		return nil, &FolderError{Path: filepath.Dir(path), Err: err}
	}
	if d.write, err = sql.Open("sqlite", dsn(path, pragmas)+"&_txlock=immediate"); err != nil {
		return nil, d.fail("open", err)
	}
	// With one connection, writers queue here, where the context ends a wait. At SQLite's lock they
	// would poll.
	d.write.SetMaxOpenConns(1)
	if d.read, err = sql.Open("sqlite", dsn(path, slices.Concat(pragmas, readPragmas))); err != nil {
		return nil, errors.Join(d.fail("open", err), d.write.Close())
	}
	d.admitReaders(readers())
	d.read.SetConnMaxIdleTime(time.Minute)
	d.read.SetConnMaxLifetime(readerLifetime)
	if err := d.migrate(ctx, migrations, log); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if err := d.addSums(ctx, log); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// readerLifetime is the lifetime of a connection that reads. Each connection caches its own
// statements, and those that are rarely used would accumulate over hours like a leak. Opening a
// connection takes a millisecond.
const readerLifetime = 2 * time.Minute

// admitReaders sets the number of concurrent reads.
func (d *database) admitReaders(n int) {
	d.read.SetMaxOpenConns(n)
	d.read.SetMaxIdleConns(n)
}

// createPrivate creates an empty file that only this user may read, unless the file exists. SQLite
// would let everybody read it, and gives the file's mode to the files beside it. An existing file
// is not opened: closing it would release SQLite's locks on it (POSIX, fcntl).
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn returns the data source name of the file at path, with pragmas in their order. Pages have
// checksums.
func dsn(path string, pragmas []string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a Windows drive: file:///C:/…
	}
	// url.URL escapes "?", "#" and "%", which would end the path early.
	u := url.URL{Scheme: "file", Path: path, OmitHost: true}
	return u.String() + "?vfs=" + pagesum.VFS + "&_pragma=" + strings.Join(pragmas, "&_pragma=")
}

// sqliteDialect is the dialect of SQLite.
var sqliteDialect = dialect{reading: sql.TxOptions{ReadOnly: true}, oneWriter: true}

func (d *database) close() error {
	return errors.Join(d.read.Close(), d.write.Close())
}

// shrink frees the cache of the write connection.
func (d *database) shrink(ctx context.Context) error {
	if !d.dialect.oneWriter {
		return nil
	}
	_, err := d.write.ExecContext(ctx, "PRAGMA shrink_memory")
	return d.fail("free the cache", err)
}

// update runs f in a write transaction, and commits unless f fails. "doing" says in errors what was
// attempted. It is for long transactions; short ones use commit, which shares them. If the dialect
// has again, f may run several times.
func (d *database) update(ctx context.Context, doing string, f func(*sql.Tx) error) error {
	return d.fail(doing, d.retry(ctx, func() error {
		return d.transaction(ctx, d.dialect.updating, func(tx *sql.Tx) error {
			if d.dialect.lock != "" {
				if _, err := tx.ExecContext(ctx, d.dialect.lock); err != nil {
					return err
				}
			}
			return f(tx)
		})
	}))
}

// transaction runs f in a write transaction, and commits unless f fails.
func (d *database) transaction(ctx context.Context, o sql.TxOptions, f func(*sql.Tx) error) error {
	tx, err := d.write.BeginTx(ctx, &o)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return d.committed(tx.Commit())
}

// committed returns the error of a commit.
func (d *database) committed(err error) error {
	if err == nil || d.dialect.oneWriter {
		return err
	}
	return committed(err)
}

// view runs f in a read transaction, so that all its queries see one state. f runs again from its beginning when the
// connection to a server is lost.
func (d *database) view(ctx context.Context, doing string, f func(*sql.Tx) error) error {
	return d.fail(doing, d.retry(ctx, func() error { return d.reading(ctx, f) }))
}

// viewOnce is view for an f that cannot run twice.
func (d *database) viewOnce(ctx context.Context, doing string, f func(*sql.Tx) error) error {
	return d.fail(doing, d.reading(ctx, f))
}

func (d *database) reading(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.read.BeginTx(ctx, &d.dialect.reading)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing was written
	return f(tx)
}

// prepared returns a cached statement for the read pool. Use it for queries of constant text only.
// It may wait for a connection, so call it before view, not inside: otherwise all connections could
// be held by callers that wait for one.
func (d *database) prepared(query string) (*sql.Stmt, error) {
	return d.statements.of(context.Background(), d.read, query)
}

// preparedWrite is prepared for the write connection. It may wait for that connection, so call it
// before update, not inside.
func (d *database) preparedWrite(ctx context.Context, query string) (*sql.Stmt, error) {
	return d.writing.of(ctx, d.write, query)
}

// statements caches compiled queries by their text. The zero value is empty.
type statements struct {
	mu  sync.Mutex
	all map[string]*sql.Stmt
}

func (s *statements) of(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	if stmt := s.get(query); stmt != nil {
		return stmt, nil
	}
	// The lock is not held here. A transaction that holds the connection may ask for another query.
	stmt, err := db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.all[query]; ok {
		// Another goroutine was faster. Closing stmt now could wait for a transaction that waits for the caller's, so stmt is
		// closed with the database. Only the first requests after the start make such statements.
		return first, nil
	}
	if s.all == nil {
		s.all = map[string]*sql.Stmt{}
	}
	s.all[query] = stmt
	return stmt, nil
}

// get returns a query that is compiled already, or nil. It does not wait.
func (s *statements) get(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[query]
}

// fail adds to err what was attempted. It turns damage into a *DamagedError and a full disk into a
// *chat.Error.
func (d *database) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	if isDamage(err) {
		if isBadSum(err) {
			err = errSum
		}
		err = &DamagedError{Path: d.path, Server: !d.dialect.oneWriter, Err: err}
	}
	if !d.dialect.oneWriter && pgsql.Lost(err) {
		err = unreachable(err)
	}
	err = hampered(err)
	if IsFull(err) {
		err = &chat.Error{Kind: chat.Full, Err: err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isDamage reports whether err says that the file is corrupt.
func isDamage(err error) bool {
	if _, ok := errors.AsType[*DamagedError](err); ok {
		return false // already converted
	}
	if errors.Is(err, errLayout) || errors.Is(err, retrieval.ErrDamaged) || hasCode(err, codeDamaged, codeIndexDamaged) {
		return true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || isBadSum(err)
}

// errSum is the readable form of the error for which isBadSum is true; SQLite says "disk I/O
// error".
var errSum = errors.New("a page does not match its checksum")

// isBadSum reports whether err says that a page does not match its checksum.
func isBadSum(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == pagesum.Damage
}

// isUnopenable reports whether err says that a database file cannot be opened, or not for writing.
func isUnopenable(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_PERM
}

// isBusy reports whether err says that another connection holds the database.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// isFull reports whether err says that a database cannot grow.
func isFull(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_FULL || hasCode(err, codeDiskFull)
}

// isUnique reports whether err says that a row violates a unique index or primary key.
func isUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE ||
		e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) || hasCode(err, codeUnique)
}

// hasTables reports whether the database has any table, and whether it has one with that name.
func hasTables(ctx context.Context, tx *sql.Tx, name string) (anyTable, named bool, err error) {
	var tables, match int
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(name = ?), 0)
		FROM sqlite_master WHERE type = 'table'`, name).Scan(&tables, &match)
	return tables > 0, match > 0, err
}

// scanAll calls row for every row and closes rows.
func scanAll(rows *sql.Rows, err error, row func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanList returns a value for each row, which scan reads.
func scanList[T any](rows *sql.Rows, err error, scan func(*sql.Rows, *T) error) (all []T, _ error) {
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var v T
		err := scan(r, &v)
		all = append(all, v)
		return err
	})
	return all, err
}

// column reads the only column of a query.
func column[T any](rows *sql.Rows, err error) ([]T, error) {
	return scanList(rows, err, func(r *sql.Rows, v *T) error { return r.Scan(v) })
}

// pairs reads a query of two columns, the first of which is unique.
func pairs[K comparable, V any](rows *sql.Rows, err error) (map[K]V, error) {
	all := map[K]V{}
	return all, scanAll(rows, err, func(r *sql.Rows) error {
		var k K
		var v V
		err := r.Scan(&k, &v)
		all[k] = v
		return err
	})
}
