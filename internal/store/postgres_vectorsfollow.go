package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"parley/internal/retrieval"
	"parley/internal/store/pgsql"
)

// longestIndexed is the greatest length of vectors that HNSW takes in half precision.
const longestIndexed = 4000

// Suits reports whether vectors of a length can be indexed.
func (x *VectorIndex) Suits(length int) bool { return length <= longestIndexed }

// Follow brings the index of a namespace up to date with the committed links, and creates it if necessary. An interrupted
// Follow keeps its progress. It writes the whole table before it builds the HNSW index, which is faster than adding to an
// index.
func (x *VectorIndex) Follow(ctx context.Context, namespace string, g retrieval.Generation) error {
	doing := "index the vectors of " + namespace
	if err := x.create(ctx); err != nil {
		return x.db.fail(doing, err)
	}
	v, err := x.begin(ctx, namespace, g)
	if err != nil {
		return x.db.fail(doing, err)
	}
	for raced := 0; ; {
		n, err := x.add(ctx, v, namespace, g)
		switch {
		case hasCode(err, codeForeignKey) && raced < maxRaces: // a document was deleted while its vectors were copied
			raced++
		case err != nil:
			return x.db.fail(doing, err)
		case n == 0:
			return x.db.fail(doing, x.finish(ctx, v))
		default:
			raced = 0
		}
	}
}

// maxRaces is the maximum number of consecutive documents that may be deleted while a batch is copied.
const maxRaces = 100

// create creates the extension and the list of tables.
func (x *VectorIndex) create(ctx context.Context) error {
	var exists bool
	err := x.db.read.QueryRowContext(ctx, "SELECT to_regclass('"+vectorSchema+".indexes') IS NOT NULL AND EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')").Scan(&exists)
	if err != nil {
		return err
	}
	if exists {
		return x.locate(ctx)
	}
	x.mu.Lock()
	x.schema = ""
	x.mu.Unlock()
	for _, statement := range []string{
		"CREATE SCHEMA IF NOT EXISTS " + vectorSchema,
		"CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA " + vectorSchema,
		"CREATE TABLE IF NOT EXISTS " + vectorSchema + `.indexes (
			id         BIGINT GENERATED ALWAYS AS IDENTITY,
			namespace  TEXT COLLATE "C" NOT NULL,
			generation BIGINT NOT NULL,
			length     INTEGER NOT NULL, -- of the vectors
			ready      BOOLEAN NOT NULL, -- searches may use it
			version    BIGINT NOT NULL,  -- of the last link that is in it, with the two below
			revision   BIGINT NOT NULL,
			ordinal    INTEGER NOT NULL,
			PRIMARY KEY (namespace, generation))`,
	} {
		if _, err := x.db.read.ExecContext(ctx, statement); err != nil {
			if hasCode(err, codeForbidden) {
				return fmt.Errorf("%w: have an administrator run CREATE EXTENSION vector in the database, and let the user create schemas (GRANT CREATE ON DATABASE)", err)
			}
			return err
		}
	}
	return x.locate(ctx)
}

// begin returns the table of a namespace. It creates the table if necessary, for example if somebody has dropped it.
func (x *VectorIndex) begin(ctx context.Context, namespace string, g retrieval.Generation) (v vectors, err error) {
	v.length = g.Length
	err = x.db.retry(ctx, func() error {
		return x.writing(ctx, func(tx *sql.Tx, _ *sql.Conn) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM "+vectorSchema+".indexes WHERE namespace = ? AND generation = ? AND to_regclass('"+vectorSchema+".v' || id) IS NULL",
				namespace, g.ID)
			if err != nil {
				return err
			}
			var added bool
			err = tx.QueryRowContext(ctx, `INSERT INTO `+vectorSchema+`.indexes AS i (namespace, generation, length, ready, version, revision, ordinal)
				VALUES (?, ?, ?, FALSE, 0, 0, 0) ON CONFLICT (namespace, generation) DO UPDATE SET length = i.length RETURNING id, xmax = 0`,
				namespace, g.ID, g.Length).Scan(&v.id, &added)
			if err != nil || !added {
				return err
			}
			_, err = tx.ExecContext(ctx, fmt.Sprintf(`CREATE TABLE %s (revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
				ordinal INTEGER NOT NULL, v %s.halfvec(%d) NOT NULL, PRIMARY KEY (revision, ordinal))`, v, x.schemaName(), g.Length))
			return err
		})
	})
	return v, err
}

func (x *VectorIndex) schemaName() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.schema
}

// writing runs f in a transaction of its own, beside the writers of the corpus. Time limits of the server, which
// are meant for requests, do not hold for it.
func (x *VectorIndex) writing(ctx context.Context, f func(*sql.Tx, *sql.Conn) error) error {
	conn, err := x.db.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	if _, err := tx.ExecContext(ctx, "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)"); err != nil {
		return err
	}
	if err := f(tx, conn); err != nil {
		return err
	}
	return committed(tx.Commit())
}

// A batch has up to batchVectors vectors of batchBytes bytes in all.
const (
	batchVectors = 5000
	batchBytes   = 8 << 20
)

// add copies the next vectors to a table, and returns how many links there were.
func (x *VectorIndex) add(ctx context.Context, v vectors, namespace string, g retrieval.Generation) (n int, err error) {
	err = x.writing(ctx, func(tx *sql.Tx, conn *sql.Conn) error {
		var version, revision, ordinal int64
		err := tx.QueryRowContext(ctx, "SELECT version, revision, ordinal FROM "+vectorSchema+".indexes WHERE id = ? /* lock */", v.id).
			Scan(&version, &revision, &ordinal)
		if err != nil {
			return err
		}
		var lines bytes.Buffer
		rows, err := tx.QueryContext(ctx, `SELECT l.version, l.revision, l.ordinal, w.body FROM chunk_vectors l JOIN vectors w ON w.id = l.vector
			WHERE l.generation = ? AND l.namespace = ? AND (l.version, l.revision, l.ordinal) > (?, ?, ?)
			ORDER BY l.version, l.revision, l.ordinal LIMIT ?`, g.ID, namespace, version, revision, ordinal, max(1, min(batchVectors, batchBytes/4/v.length)))
		err = scanAll(rows, err, func(r *sql.Rows) error {
			var body sql.RawBytes
			if err := r.Scan(&version, &revision, &ordinal, &body); err != nil {
				return err
			}
			n++
			writeLine(&lines, revision, ordinal, body, v.length)
			return nil
		})
		if err != nil || n == 0 {
			return err
		}
		if err := pgsql.Copy(ctx, conn, fmt.Sprintf("COPY %s (revision, ordinal, v) FROM STDIN", v), &lines); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE "+vectorSchema+".indexes SET version = ?, revision = ?, ordinal = ? WHERE id = ?", version, revision, ordinal, v.id)
		return err
	})
	return n, err
}

// writeLine writes a row for COPY. The vectors of refused texts, which are empty, and damaged ones are left out, as
// they are in memory.
func writeLine(to *bytes.Buffer, revision, ordinal int64, body []byte, length int) {
	if len(body) != 4*length {
		return
	}
	v := make([]float32, length)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
		if !(v[i] >= -2 && v[i] <= 2) { // also NaN
			return
		}
	}
	b := strconv.AppendInt(to.AvailableBuffer(), revision, 10)
	b = strconv.AppendInt(append(b, '\t'), ordinal, 10)
	to.Write(append(appendVector(append(b, '\t'), v), '\n'))
}

// finish builds the HNSW index of a table that holds all vectors, and has searches use it.
func (x *VectorIndex) finish(ctx context.Context, v vectors) error {
	var ready bool
	if err := x.db.read.QueryRowContext(ctx, "SELECT ready FROM "+vectorSchema+".indexes WHERE id = ?", v.id).Scan(&ready); err != nil || ready {
		return err
	}
	err := x.build(ctx, v, true)
	if hasCode(err, codeDiskFull, codeNoMemory) { // there is too little shared memory for several workers
		err = x.build(ctx, v, false)
	}
	if err != nil {
		return err
	}
	if _, err := x.db.read.ExecContext(ctx, "ANALYZE "+v.String()); err != nil {
		return err
	}
	return x.mark(ctx, v.id, true)
}

// The memory for building an index, in bytes: the overhead of each vector, and the limit that every server allows. The limit is half of the
// server's memory for data, as its administrator states it (effective_cache_size), if that is more. When an index no longer fits, the
// rest of it is built twenty times more slowly.
const (
	buildOverhead = 600
	buildLeast    = 1 << 30
)

// build builds the index concurrently: documents may be replaced and deleted meanwhile, with their rows of the table. An
// interrupted build leaves an index that is not valid, which the next one replaces.
func (x *VectorIndex) build(ctx context.Context, v vectors, together bool) error {
	conn, err := x.db.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var valid bool
	err = conn.QueryRowContext(ctx, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(?::text)", fmt.Sprintf("%s.v%d_hnsw", vectorSchema, v.id)).Scan(&valid)
	if valid || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var rows int64
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+v.String()).Scan(&rows); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "RESET ALL") //nolint:errcheck // a connection that is broken is not used again
	_, err = conn.ExecContext(ctx, `SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
		set_config('maintenance_work_mem', GREATEST(pg_size_bytes(current_setting('maintenance_work_mem')),
			LEAST(?, GREATEST(?, pg_size_bytes(current_setting('effective_cache_size')) / 2))) / 1024 || 'kB', false)`,
		rows*int64(2*v.length+buildOverhead), int64(buildLeast))
	if err == nil && !together {
		_, err = conn.ExecContext(ctx, "SET max_parallel_maintenance_workers = 0")
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("DROP INDEX IF EXISTS %s.v%d_hnsw", vectorSchema, v.id))
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("CREATE INDEX CONCURRENTLY v%d_hnsw ON %s USING hnsw (v %s.halfvec_ip_ops)", v.id, v, x.schemaName()))
	}
	return err
}

// mark records whether searches may use a table. All processes notice it by the version of the vectors.
func (x *VectorIndex) mark(ctx context.Context, id int64, ready bool) error {
	return x.db.update(ctx, "switch an index of vectors", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+vectorSchema+".indexes SET ready = ? WHERE id = ?", ready, id)
		if err == nil {
			_, err = advance(ctx, tx, "vectors", 1)
		}
		return err
	})
}

// Keep removes all indexes except those to keep. A first call takes them out of use. A later call, when no search uses
// them any more, drops them.
func (x *VectorIndex) Keep(ctx context.Context, keep []retrieval.IndexKey) error {
	type index struct {
		vectors
		ready bool
	}
	var unwanted []index
	rows, err := x.db.read.QueryContext(ctx, "SELECT id, namespace, generation, ready FROM "+vectorSchema+".indexes")
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var key retrieval.IndexKey
		var i index
		err := r.Scan(&i.id, &key.Namespace, &key.Generation, &i.ready)
		if !slices.Contains(keep, key) {
			unwanted = append(unwanted, i)
		}
		return err
	})
	if hasCode(err, codeNoTable, codeNoSchema) {
		return nil
	}
	for _, i := range unwanted {
		if err != nil {
			break
		}
		if i.ready {
			err = x.mark(ctx, i.id, false)
			continue
		}
		err = x.writing(ctx, func(tx *sql.Tx, _ *sql.Conn) error {
			_, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+i.String())
			if err == nil {
				_, err = tx.ExecContext(ctx, "DELETE FROM "+vectorSchema+".indexes WHERE id = ?", i.id)
			}
			return err
		})
	}
	return x.db.fail("remove indexes of vectors", err)
}
