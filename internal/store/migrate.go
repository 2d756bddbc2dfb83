package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// migrationFiles holds NNNN_name.sql for each database, numbered from 0001 without gaps. Released
// files never change.
//
//go:embed migrations
var migrationFiles embed.FS

type migration struct {
	version int
	name    string
	script  string
}

// migrate brings the schema up to date in one transaction, so that a crash, or another process that
// opens the folder at the same moment, sees the old schema or the new one.
func (d *database) migrate(ctx context.Context, name string, log *slog.Logger) error {
	all, err := readMigrations(name)
	if err != nil {
		return err
	}
	want := all[len(all)-1].version
	have, err := d.schemaVersion(ctx)
	if err != nil {
		return d.openError(err)
	}
	if have == want {
		return nil
	}
	if have > want {
		return &NewerError{Path: d.path, Have: have, Want: want}
	}
	if info, err := os.Stat(d.path); err == nil && info.Size() > longMigration {
		log.Info("upgrading a database of an older version of Parley; this may take a minute for each GiB",
			"path", d.path)
	}
	err = d.update(ctx, "migrate "+d.path, func(tx *sql.Tx) error {
		have, err := schemaVersion(ctx, tx) // again, under the write lock
		if err != nil {
			return err
		}
		if have > want {
			return &NewerError{Path: d.path, Have: have, Want: want}
		}
		return applyMigrations(ctx, tx, all[have:])
	})
	if err != nil {
		return d.openError(err)
	}
	log.Debug("database migrated", "path", d.path, "from", have, "to", want)
	return nil
}

// longMigration is the size in bytes from which a log message announces a migration.
const longMigration = 64 << 20

// openError turns err into a message for users where one fits.
func (d *database) openError(err error) error {
	if e, ok := errors.AsType[*NewerError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*DamagedError](err); ok {
		return e
	}
	if isUnopenable(err) {
		err = fmt.Errorf("this user cannot open %s in it: %w", filepath.Base(d.path), err)
		return &FolderError{Path: filepath.Dir(d.path), Err: err}
	}
	if errors.Is(err, errForeign) {
		return &FolderError{Path: filepath.Dir(d.path), Err: err}
	}
	return fmt.Errorf("open %s: %w", d.path, err)
}

// schemaVersion returns the number of the last applied migration. It is the first query on a
// database that other processes may be opening or closing. SQLite does not wait for a process that
// changes the mode of the log, so this method retries.
func (d *database) schemaVersion(ctx context.Context) (version int, err error) {
	for deadline := time.Now().Add(openPatience); ; {
		err = d.view(ctx, "read schema version", func(tx *sql.Tx) error {
			version, err = schemaVersion(ctx, tx)
			return err
		})
		if !isBusy(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return version, err
		}
		time.Sleep(openPause)
	}
}

const (
	openPatience = 30 * time.Second
	openPause    = 10 * time.Millisecond
)

// errForeign says that another program made the file.
var errForeign = errors.New("it holds a database of another program")

// schemaVersion returns the number of the last applied migration, 0 for an empty database.
func schemaVersion(ctx context.Context, tx *sql.Tx) (int, error) {
	tables, migrated, err := hasTables(ctx, tx, "migrations")
	if err != nil || !tables {
		return 0, err
	}
	if !migrated {
		return 0, errForeign
	}
	var version int
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM migrations").Scan(&version)
	return version, err
}

func applyMigrations(ctx context.Context, tx *sql.Tx, pending []migration) error {
	const table = `CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)`
	if _, err := tx.ExecContext(ctx, table); err != nil {
		return err
	}
	for _, m := range pending {
		if _, err := tx.ExecContext(ctx, m.script); err != nil {
			return fmt.Errorf("apply %s: %w", m.name, err)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO migrations (version, applied_at) VALUES (?, ?)",
			m.version, micros(time.Now()))
		if err != nil {
			return fmt.Errorf("record %s: %w", m.name, err)
		}
	}
	return nil
}

// readMigrations returns the migrations of a database in order.
func readMigrations(database string) ([]migration, error) {
	dir := path.Join("migrations", database)
	entries, err := migrationFiles.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []migration
	for i, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", e.Name(), i+1)
		}
		script, err := migrationFiles.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", e.Name(), err)
		}
		all = append(all, migration{version: version, name: e.Name(), script: string(script)})
	}
	return all, nil
}
