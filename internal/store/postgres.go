package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parley/internal/store/pgsql"
)

// IsURL reports whether a setting names a PostgreSQL database.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// OpenPostgres opens the PostgreSQL database at url, and creates or migrates its tables if
// necessary. They are in the schemas parley_corpus and parley_state. Any number of processes may
// have the database open at once. dir is a folder on this machine for files that can be lost.
//
// Beside the parameters of libpq, url may have those of pgxpool, such as pool_max_conns. They apply
// to the corpus and to the state each.
func OpenPostgres(ctx context.Context, url, dir string, log *slog.Logger) (*DB, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &ServerError{Err: err} // the error of pgx hides the password
	}
	dir, err = PrepareFolder(dir)
	if err != nil {
		return nil, err
	}
	corpus, err := openSchema(ctx, config, "corpus", postgresCorpus, log)
	if err != nil {
		return nil, err
	}
	state, err := openSchema(ctx, config, "state", postgresState, log)
	if err != nil {
		return nil, errors.Join(err, corpus.close())
	}
	blobs, err := openBlobs(filepath.Join(dir, "blobs"))
	if err != nil {
		return nil, errors.Join(err, corpus.close(), state.close())
	}
	blobs.shared = &sharedBlobs{corpus}
	return newDB(corpus, state, blobs), nil
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

// openSchema opens and migrates one part of a PostgreSQL database.
func openSchema(ctx context.Context, config *pgxpool.Config, part string, d dialect, log *slog.Logger) (*database, error) {
	schema := "parley_" + part
	server := config.ConnConfig.Copy()
	server.RuntimeParams["search_path"] = schema
	if server.RuntimeParams["application_name"] == "" {
		server.RuntimeParams["application_name"] = "parley"
	}
	open := func(limit int) *sql.DB {
		db := sql.OpenDB(pgsql.NewConnector(*server))
		db.SetMaxOpenConns(limit)
		db.SetMaxIdleConns(limit)
		db.SetConnMaxIdleTime(config.MaxConnIdleTime)
		db.SetConnMaxLifetime(config.MaxConnLifetime)
		return db
	}
	db := &database{path: fmt.Sprintf("%s on %s, schema %s", server.Database, server.Host, schema), dialect: d,
		read: open(int(config.MaxConns))}
	if db.write = db.read; d.lock != "" {
		db.write = open(1) // writers that wait for each other need no more
	}
	if err := db.migratePostgres(ctx, schema, part, log); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// ErrClaimed says that another process has claimed a PostgreSQL database.
var ErrClaimed = errors.New("another process has claimed the database")

// ClaimServing makes this process the only one that serves a PostgreSQL database, until release is
// called or the connection to the database ends. The error is ErrClaimed if another process serves
// it. A data folder needs no claim: it has a lock of its own.
func (d *DB) ClaimServing(ctx context.Context) (release func(), err error) {
	if d.state.db.dialect.oneWriter {
		return func() {}, nil
	}
	conn, err := d.state.db.read.Conn(ctx)
	if err != nil {
		return nil, d.state.db.fail("claim the database", err)
	}
	var claimed bool
	err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(hashtext('parley serve'))").Scan(&claimed)
	if err == nil && !claimed {
		err = ErrClaimed
	}
	if err != nil {
		return nil, d.state.db.fail("claim the database", errors.Join(err, conn.Close()))
	}
	return func() {
		ctx := context.WithoutCancel(ctx)                        // it has ended when a server stops
		conn.ExecContext(ctx, "SELECT pg_advisory_unlock_all()") //nolint:errcheck // closing the pool ends the session too
		conn.Close()
	}, nil
}

// ServerError says that a PostgreSQL database cannot be used. Its text may be shown to users.
type ServerError struct{ Err error }

func (e *ServerError) Error() string {
	return fmt.Sprintf("the PostgreSQL database cannot be used (%v): check --database, and that the server runs and lets this user in", e.Err)
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// Classes and codes of PostgreSQL's errors, appendix A of its manual.
const (
	codeUnique        = "23505"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeDiskFull      = "53100"
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

// isTransient reports whether a transaction failed only because of others at the same time.
func isTransient(err error) bool {
	return errors.Is(err, errRaced) || hasCode(err, codeSerialization, codeDeadlock)
}

// patience is how long a transaction is tried that others keep from succeeding, like busy_timeout
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
		select {
		case <-time.After(rand.N(pause)): // other waiters should not come back at the same moment
		case <-ctx.Done():
			return err
		}
	}
}
