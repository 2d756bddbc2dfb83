package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"

	"github.com/jackc/pgx/v5"

	"parley/internal/lazyregexp"
)

// migratePostgres creates the schema or brings it up to date. Processes that start at the same time
// take turns.
func (d *database) migratePostgres(ctx context.Context, schema, part string, log *slog.Logger) error {
	all, err := postgresMigrations(part)
	if err != nil {
		return err
	}
	want := all[len(all)-1].version
	have, err := postgresVersion(ctx, d.read, schema)
	if err == nil {
		err = checkEncoding(ctx, d.read)
	}
	if err == nil && have < want {
		err = d.transaction(ctx, sql.TxOptions{}, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext(?))", schema); err != nil {
				return err
			}
			if have, err = postgresVersion(ctx, tx, schema); err != nil || have >= want {
				return err
			}
			if have == 0 {
				if _, err := tx.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize()); err != nil {
					return err
				}
			}
			return applyMigrations(ctx, tx, after(all, have))
		})
		log.Debug("database migrated", "path", d.path, "from", have, "to", want)
	}
	if err != nil {
		return &ServerError{Err: err}
	}
	if have > want {
		return &NewerError{Path: d.path, Server: true, Have: have, Want: want}
	}
	return nil
}

// checkEncoding returns an error if the database cannot hold text of all languages.
func checkEncoding(ctx context.Context, db *sql.DB) error {
	var encoding string
	err := db.QueryRowContext(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding)
	if err == nil && encoding != "UTF8" {
		err = fmt.Errorf("its encoding is %s: create one with ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return err
}

// after returns the migrations after a version.
func after(all []migration, version int) []migration {
	for i, m := range all {
		if m.version > version {
			return all[i:]
		}
	}
	return nil
}

// postgresVersion returns the number of the last applied migration, or 0 for an empty schema.
// It names the schema because a session may remember that the schema does not exist.
func postgresVersion(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, schema string) (version int, err error) {
	var migrated bool
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'migrations')", schema).Scan(&migrated)
	if err == nil && migrated {
		err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM migrations").Scan(&version)
	}
	return version, err
}

// postgresMigrations returns the migrations of a part of a PostgreSQL database in order. The first one
// replaces all of SQLite's up to its number. The others are SQLite's, unless there is a file of the same
// number for PostgreSQL.
func postgresMigrations(part string) ([]migration, error) {
	shared, err := readMigrations(part)
	if err != nil {
		return nil, err
	}
	own, err := fs.Glob(migrationFiles, path.Join("migrations/postgres", part, "*.sql"))
	if err != nil || len(own) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no migrations for the %s on PostgreSQL", part))
	}
	first := 0
	for i, file := range own {
		var version int
		if _, err := fmt.Sscanf(path.Base(file), "%04d_", &version); err != nil || version < 1 || version > len(shared) {
			return nil, fmt.Errorf("migration %s: no migration of SQLite has its number", file)
		}
		script, err := migrationFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", file, err)
		}
		shared[version-1] = migration{version: version, name: path.Base(file), script: string(script)}
		if i == 0 {
			first = version - 1
		}
	}
	all := shared[first:]
	for i := range all {
		all[i].script = portable(all[i].script)
	}
	return all, nil
}

var (
	textType = lazyregexp.New(`\bTEXT\b`)
	blobType = lazyregexp.New(`\bBLOB\b`)
)

// portable replaces the names of SQLite's types in statements that create tables. Text is compared
// by its bytes, as SQLite does, whatever the locale of the database.
func portable(script string) string {
	return blobType.ReplaceAllString(textType.ReplaceAllString(script, `TEXT COLLATE "C"`), "BYTEA")
}
