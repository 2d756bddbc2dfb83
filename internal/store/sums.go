package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"parley/internal/store/pagesum"
)

// addSumsLimit is the size in bytes above which a database is not rewritten when it is opened.
// Rewriting takes about a second for 100 MiB.
const addSumsLimit = 256 << 20

// markSums marks a database as having checksums on its pages.
var markSums = fmt.Sprintf("PRAGMA application_id = %d", pagesum.ApplicationID)

// addSums adds checksums to a database that was created without them. It leaves a database as it is
// that is too large, has another page size, has no WAL (which some network folders do not support,
// and which pagesum needs), or is in use.
func (d *database) addSums(ctx context.Context, log *slog.Logger) error {
	s, err := d.sums(ctx)
	if err != nil {
		return d.openError(err)
	}
	if s.marked {
		return nil
	}
	if !s.reserved {
		if s.size > addSumsLimit || s.pageSize != pagesum.PageSize || !s.logged {
			log.Info("an old database has no checksums and is too large to add them", "path", d.path)
			return nil
		}
		log.Info("adding checksums to a database", "path", d.path)
		if _, err := d.write.ExecContext(ctx, "VACUUM"); err != nil {
			err = d.fail("add checksums", err)
			if _, damaged := errors.AsType[*DamagedError](err); damaged || ctx.Err() != nil {
				return d.openError(err)
			}
			log.Warn("cannot add checksums to a database now", "path", d.path, "error", err)
			return nil
		}
		if s, err = d.sums(ctx); err != nil {
			return d.openError(err)
		}
		if !s.reserved { // marking it would make it unreadable
			log.Warn("cannot add checksums to a database", "path", d.path)
			return nil
		}
	}
	if _, err = d.write.ExecContext(ctx, markSums); err != nil {
		return d.openError(d.fail("add checksums", err))
	}
	return nil
}

// sums is the state of a database's checksums.
type sums struct {
	marked bool // it is marked as having checksums

	// Set only if the database is not marked.
	reserved bool  // pages have room for checksums, and so have them
	logged   bool  // it is in WAL mode
	size     int64 // in bytes
	pageSize int64
}

func (d *database) sums(ctx context.Context) (s sums, err error) {
	err = d.view(ctx, "look for checksums", func(tx *sql.Tx) error {
		var id int
		if err := tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil || id == pagesum.ApplicationID {
			s.marked = err == nil
			return err
		}
		var header []byte
		err := tx.QueryRowContext(ctx, `SELECT substr(p.data, 1, 100), c.page_count * s.page_size, s.page_size
			FROM sqlite_dbpage p, pragma_page_count c, pragma_page_size s WHERE p.pgno = 1`).Scan(&header, &s.size, &s.pageSize)
		const writeVersion, wal = 18, 2 // SQLite's file format, section 1.3.3
		s.reserved, s.logged = pagesum.Reserved(header), len(header) > writeVersion && header[writeVersion] == wal
		return err
	})
	return s, err
}
