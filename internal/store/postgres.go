package store

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parley/internal/chat"
	"parley/internal/interrupt"
	"parley/internal/store/pgsql"
)

// IsURL reports whether a setting names a PostgreSQL database.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// OpenPostgres opens the PostgreSQL database at url, and creates or migrates its tables if
// necessary. They are in the schemas parley_corpus and parley_state. Any number of processes may
// have the database open at once. dir is a folder on this machine; see DB.Folder.
//
// Beside the parameters of libpq, url may have those of pgxpool, such as pool_max_conns. They apply
// to the corpus and to the state each. A process needs twice as many connections and three more.
//
// The error is a *ServerError, *NewerError, *CopyingError or *FolderError where the user can act on it.
func OpenPostgres(ctx context.Context, url, dir string, log *slog.Logger) (*DB, error) {
	db, err := openPostgres(ctx, url, dir, log)
	if err != nil {
		return nil, err
	}
	from, err := db.copying(ctx)
	if err == nil && from != "" {
		err = &CopyingError{From: from, To: db.String()}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openPostgres is OpenPostgres for the target of a Copy.
func openPostgres(ctx context.Context, url, dir string, log *slog.Logger) (*DB, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &ServerError{Err: err} // the error of pgx hides the password
	}
	prepareFailover(config.ConnConfig)
	server := &pools{config: config}
	corpus, err := openSchema(ctx, server, "corpus", postgresCorpus, log)
	if err != nil {
		return nil, err
	}
	state, err := openSchema(ctx, server, "state", postgresState, log)
	if err != nil {
		return nil, errors.Join(err, corpus.close())
	}
	db := newDB(corpus, state, nil)
	db.needed = 2*int(config.MaxConns) + 3
	db.server = nameOf(config)
	db.peers = &Peers{state, &turnLocks{db: server.pool(schemaOf("state"), 1), held: map[int64]int{}}}
	db.locks = &locks{db: server.pool(schemaOf("state"), 1), log: log, held: map[string]lockWay{}}
	if db.blobs, db.folder, err = openFolder(ctx, state, dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.blobs.shared = &sharedBlobs{corpus}
	if db.corpus.cache, err = openSegmentCache(segmentsIn(db.folder)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	uploads := &sharedUploads{db: state, folder: filepath.Join(db.folder, "uploads-copies")}
	if err := uploads.adopt(ctx, filepath.Join(db.folder, UploadsDir)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.uploads = uploads
	return db, nil
}

// longestConnect is the time limit for connecting to one of several hosts, unless the URL sets another.
const longestConnect = 5 * time.Second

// prepareFailover makes connections go to the writable host if there are several, without waiting for hosts whose
// machine does not answer.
func prepareFailover(server *pgx.ConnConfig) {
	if server.ValidateConnect == nil {
		server.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
			if err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn); err != nil {
				return fmt.Errorf("%w: %w", errNoChanges, err)
			}
			return nil
		}
	}
	if server.ConnectTimeout == 0 {
		server.ConnectTimeout = longestConnect
	}
}

// openFolder creates the folder of a database in dir, and opens its cache of originals.
func openFolder(ctx context.Context, state *database, dir string) (blobs *Blobs, folder string, err error) {
	var id string
	err = state.read.QueryRowContext(ctx, "SELECT value FROM about WHERE name = 'id'").Scan(&id)
	if err == nil && !filepath.IsLocal(id) {
		err = errors.New("it has no id")
	}
	if err != nil {
		return nil, "", &ServerError{Err: err}
	}
	if folder, err = PrepareFolder(dir); err != nil {
		return nil, "", err
	}
	if folder, err = PrepareFolder(filepath.Join(folder, "postgres-"+id)); err != nil {
		return nil, "", err
	}
	blobs, err = openBlobs(filepath.Join(folder, "blobs"))
	return blobs, folder, err
}

// The dialects of the two parts of a PostgreSQL database. Writers of the corpus take turns, as in
// SQLite: versions must be committed in their order. Writers of the state run side by side. update
// is serializable there, so that code which reads before it writes needs no more care than with
// SQLite. commit is not, because calls of the same account would keep failing: its functions lock
// what they read, with /* lock */.
var (
	postgresCorpus = dialect{reading: postgresRead, again: isTransient,
		lock: "SELECT value FROM counters WHERE name = 'version' /* lock */"}
	postgresState = dialect{reading: postgresRead, again: isTransient,
		updating: sql.TxOptions{Isolation: sql.LevelSerializable}}

	postgresRead = sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
)

func nameOf(config *pgxpool.Config) string {
	return config.ConnConfig.Database + " on " + config.ConnConfig.Host
}

func schemaOf(part string) string { return "parley_" + part }

// openSchema opens and migrates one part of a PostgreSQL database.
func openSchema(ctx context.Context, server *pools, part string, d dialect, log *slog.Logger) (*database, error) {
	schema := schemaOf(part)
	db := &database{path: fmt.Sprintf("%s, schema %s", nameOf(server.config), schema), dialect: d,
		read: server.pool(schema, int(server.config.MaxConns))}
	if db.write = db.read; d.lock != "" {
		db.write = server.pool(schema, 1) // writers that wait for each other need no more
	}
	if err := db.migratePostgres(ctx, schema, part, log); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// pools makes the pools of connections to one server.
type pools struct {
	config *pgxpool.Config
	server pgsql.Server
}

// pool returns up to limit connections that find the tables of a schema.
func (p *pools) pool(schema string, limit int) *sql.DB {
	config := p.config.ConnConfig.Copy()
	config.RuntimeParams["search_path"] = schema
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "parley"
	}
	db := sql.OpenDB(pgsql.NewConnector(*config, &p.server))
	db.SetMaxOpenConns(limit)
	db.SetMaxIdleConns(limit)
	db.SetConnMaxIdleTime(p.config.MaxConnIdleTime)
	db.SetConnMaxLifetime(p.config.MaxConnLifetime)
	return db
}

// Server is the state of a PostgreSQL server.
type Server struct {
	Version     string
	RoundTrip   time.Duration // of a query
	Clock       time.Duration // the time by which its clock is ahead of the clock of this machine
	Durable     bool          // a commit that it has acknowledged is never lost
	Connections int           // connections left for this user and database, including the one that asks
	Needed      int           // maximum number of connections that a process opens
	Limits      string        // times after which it ends statements or sessions, as "statement_timeout = 1min"; "" for none
}

// Server returns the state of the server of a PostgreSQL database.
func (d *DB) Server(ctx context.Context) (s Server, err error) {
	var now int64
	err = d.state.db.read.QueryRowContext(ctx, `WITH others AS (SELECT usesysid, datid FROM pg_stat_activity
			WHERE COALESCE(backend_type, 'client backend') = 'client backend' -- NULL for the sessions of others, unless one may see them
			AND usesysid IS NOT NULL AND datid IS NOT NULL AND pid <> pg_backend_pid())
		SELECT current_setting('server_version'), (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT,
		current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AND current_setting('synchronous_commit') <> 'off',
		LEAST(current_setting('max_connections')::INTEGER - current_setting('superuser_reserved_connections')::INTEGER - (SELECT COUNT(*) FROM others),
			(SELECT rolconnlimit - (SELECT COUNT(*) FROM others WHERE usesysid = r.oid) FROM pg_roles r
				WHERE rolname = session_user AND rolconnlimit >= 0 AND NOT rolsuper),
			(SELECT datconnlimit - (SELECT COUNT(*) FROM others WHERE datid = d.oid) FROM pg_database d
				WHERE datname = current_database() AND datconnlimit >= 0 AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user))),
		(SELECT COALESCE(string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name), '') FROM pg_settings
			WHERE name IN ('idle_session_timeout', 'lock_timeout', 'statement_timeout', 'transaction_timeout') AND setting <> '0')`).
		Scan(&s.Version, &now, &s.Durable, &s.Connections, &s.Limits)
	if err != nil {
		return s, d.state.db.fail("look at the server", err)
	}
	s.Clock, s.Needed = time.Until(fromMicros(now)), d.needed
	s.Version, _, _ = strings.Cut(s.Version, " ")
	began := time.Now()
	_, err = d.state.db.read.ExecContext(ctx, "SELECT 1")
	s.RoundTrip = time.Since(began)
	return s, d.state.db.fail("look at the server", err)
}

// errNoChanges means that a connection is not used because it takes no changes.
var errNoChanges = errors.New("it cannot be written to")

// ServerError says that a PostgreSQL database cannot be used. Its text may be shown to users.
type ServerError struct{ Err error }

func (e *ServerError) Error() string {
	remedy := "check --database, and that the server runs and lets this user in"
	refused, ok := errors.AsType[*pgconn.PgError](e.Err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](e.Err)
	switch {
	case ok && remedies[refused.Code] != "":
		remedy = remedies[refused.Code]
	case untrusted:
		remedy = "renew the certificate of the server, or correct sslrootcert and the host in --database"
	case errors.Is(e.Err, errNoChanges):
		remedy = "name the host that can be written to in --database, or find out why it is read-only (default_transaction_read_only, a standby)"
	}
	return fmt.Sprintf("the PostgreSQL database cannot be used (%v): %s", e.Err, remedy)
}

// remedies holds instructions for users, by the code of PostgreSQL's error.
var remedies = map[string]string{
	"28000": "check the user in --database, and pg_hba.conf of the server",
	"28P01": "check the user and the password in --database",
	"3D000": "create the database, with the encoding UTF-8, or correct --database",
	"42P01": "let the user own parley_corpus and parley_state, which another user seems to have created, or restore the database",
	"42501": "let the user create schemas (GRANT CREATE ON DATABASE), and own parley_corpus and parley_state if they exist",
	"53300": "raise max_connections of the server or the CONNECTION LIMIT of the role or the database, or lower pool_max_conns in --database",
	"57P03": "wait until the server has started",
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// Classes and codes of PostgreSQL's errors, appendix A of its manual.
const (
	codeUnique        = "23505"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006" // the server has become a standby, or protects a disk that is nearly full
	codeTooLong       = "57014" // statement_timeout
	codeLockTimeout   = "55P03"
	codeDiskFull      = "53100"
	codeNoMemory      = "53200"
	codeForeignKey    = "23503"
	codeForbidden     = "42501"
	codeNoTable       = "42P01"
	codeNoSchema      = "3F000"
	codeDamaged       = "XX001"
	codeIndexDamaged  = "XX002"
)

// hasCode reports whether err is an error of PostgreSQL with one of these codes.
func hasCode(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}

// errRaced says that another transaction has just added what this one was about to add.
var errRaced = errors.New("added by another transaction at the same time")

// isTransient reports whether a transaction failed only because of others at the same time, or because
// the connection broke before it could be committed. A failure to connect is not transient: the driver has already
// waited long enough.
func isTransient(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || errors.Is(err, errUnknown) {
		return false
	}
	return errors.Is(err, errRaced) || hasCode(err, codeSerialization, codeDeadlock) || pgsql.Lost(err)
}

// errUnknown says that the connection broke during a commit.
var errUnknown = errors.New("the connection broke during the commit, which may or may not have taken place")

// committed returns the error of a commit, or of a statement that is committed by itself.
func committed(err error) error {
	if pgsql.Lost(err) && !pgsql.Refused(err) {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

// unreachable is the error for clients while the connection to the server is lost.
func unreachable(err error) error {
	return &chat.Error{Kind: chat.Unavailable, Msg: "The database cannot be reached at the moment. Try again.", RetryAfter: time.Second, Err: err}
}

// hampered returns an error that tells clients to try again, if err says that the server refuses because of its state or of a
// limit that its administrator has set. Otherwise it returns err.
func hampered(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	msg := map[string]string{
		codeReadOnly:    "The database takes no changes at the moment. Try again.",
		codeTooLong:     "The database takes too long at the moment. Try again.",
		codeLockTimeout: "The database is busy at the moment. Try again.",
	}[e.Code]
	if msg == "" {
		return err
	}
	return &chat.Error{Kind: chat.Unavailable, Msg: msg, RetryAfter: time.Second, Err: err}
}

// patience is the time for which a transaction in conflict with others is retried, like busy_timeout
// of SQLite.
const patience = 30 * time.Second

// retry calls do until it succeeds, or fails for a reason of its own.
func (d *database) retry(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := do()
		if err == nil || d.dialect.again == nil || !d.dialect.again(err) || time.Now().After(deadline) {
			return err
		}
		if interrupt.Sleep(ctx, rand.N(pause)) != nil { // random, so that waiters do not all come back at the same moment
			return err
		}
	}
}
