package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"

	"parley/internal/retrieval"
)

// VectorIndex searches the vectors of large namespaces with pgvector: one table of half-precision vectors
// for each namespace and generation, with an HNSW index. The tables are derived from the corpus, are in a
// schema of their own, and may be dropped at any time. The transaction that adds vectors to a table also updates
// its row in the table "indexes", so that an interrupted Follow continues where it stopped.
type VectorIndex struct {
	db *database // the corpus

	mu     sync.Mutex
	schema string               // of the extension, quoted; "" before it is known
	tables map[indexKey]vectors // tables that are ready
}

var _ retrieval.VectorIndex = (*VectorIndex)(nil)

type indexKey struct {
	namespace  string
	generation int64
}

// vectors is a table of vectors.
type vectors struct {
	id     int64
	length int // of the vectors
}

func (v vectors) String() string { return fmt.Sprintf("%s.v%d", vectorSchema, v.id) }

// vectorSchema is the schema of the tables, and of the extension if Parley creates it.
const vectorSchema = "parley_vectors"

// VectorIndex returns the index of vectors of a PostgreSQL database, and which pgvector it uses. It is nil
// for a data folder, where about is empty, and without a suitable pgvector, where about says why. It changes
// nothing yet.
func (d *DB) VectorIndex(ctx context.Context) (ix *VectorIndex, about string, err error) {
	if d.peers == nil {
		return nil, "", nil
	}
	var installed, available string
	err = d.corpus.db.read.QueryRowContext(ctx, `SELECT COALESCE((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
		COALESCE((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), '')`).Scan(&installed, &available)
	if err != nil {
		return nil, "", d.corpus.db.fail("look for pgvector", err)
	}
	switch {
	case installed == "" && available == "":
		return nil, "the PostgreSQL server has no pgvector", nil
	case installed != "" && !sufficesVector(installed):
		return nil, "the database has pgvector " + installed + ", and 0.8.0 or later is needed (ALTER EXTENSION vector UPDATE)", nil
	case installed == "" && !sufficesVector(available):
		return nil, "the PostgreSQL server has pgvector " + available + ", and 0.8.0 or later is needed", nil
	case installed == "":
		installed = available
	}
	return &VectorIndex{db: d.corpus.db, tables: map[indexKey]vectors{}}, "pgvector " + installed, nil
}

// sufficesVector reports whether a version of pgvector has iterative scans: 0.8 or later.
func sufficesVector(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major > 0 || minor >= 8)
}

// Sizes returns how many chunks each namespace has.
func (x *VectorIndex) Sizes(ctx context.Context) (map[string]int, error) {
	rows, err := x.db.read.QueryContext(ctx, "SELECT namespace, SUM(chunks) FROM segments WHERE namespace < ? GROUP BY namespace", retrieval.EndOfNames)
	sizes, err := pairs[string, int](rows, err)
	return sizes, x.db.fail("count chunks", err)
}

// Ready reports whether the vectors of a namespace can be searched here.
func (x *VectorIndex) Ready(ctx context.Context, namespace string, generation int64) (bool, error) {
	var v vectors
	var ready bool
	err := x.db.read.QueryRowContext(ctx, "SELECT id, length, ready FROM "+vectorSchema+".indexes WHERE generation = ? AND namespace = ?", generation, namespace).
		Scan(&v.id, &v.length, &ready)
	if errors.Is(err, sql.ErrNoRows) || hasCode(err, codeNoTable, codeNoSchema) {
		ready, err = false, nil
	}
	if err == nil && ready {
		err = x.locate(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if key := (indexKey{namespace, generation}); err == nil && ready {
		x.tables[key] = v
	} else {
		delete(x.tables, key)
	}
	return ready, x.db.fail("look for an index of vectors", err)
}

// locate finds the quoted schema of the extension, which need not be in the search path, and keeps it in x.schema.
func (x *VectorIndex) locate(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.schema != "" {
		return nil
	}
	var schema string
	err := x.db.read.QueryRowContext(ctx, "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'").Scan(&schema)
	if err == nil {
		x.schema = pgx.Identifier{schema}.Sanitize()
	}
	return err
}

// scanTuples is the maximum number of vectors that a search examines to find enough that its filter admits. If the
// filter admits fewer than 10,000 vectors, the search is exact instead: see retrieval.NearQuery.Only.
const scanTuples = 200_000

// Nearest returns the chunks that are probably most like a vector, with the mean likeness of all of them. If
// q.Only confines the search, the result is exact.
func (x *VectorIndex) Nearest(ctx context.Context, q retrieval.NearQuery) (near retrieval.Near, err error) {
	x.mu.Lock()
	v, ok := x.tables[indexKey{q.Filter.Namespace, q.Generation}]
	schema := x.schema
	x.mu.Unlock()
	if !ok {
		return near, fmt.Errorf("search vectors: %w: they are not indexed", retrieval.ErrNotFound)
	}
	literal := fmt.Sprintf("?::text::%s.halfvec(%d)", schema, v.length)
	query, args := "", []any{string(appendVector(nil, q.Vector))}
	if q.Only != nil {
		// PostgreSQL does not use the HNSW index for this query, and must not: the index does not find everything.
		ids, err := json.Marshal(q.Only)
		if err != nil {
			return near, err
		}
		query = fmt.Sprintf(`WITH seen AS MATERIALIZED (SELECT revision, ordinal, -(v OPERATOR(%s.<#>) %s) AS likeness FROM %s
			WHERE revision IN (SELECT value FROM json_each(?)))
			SELECT revision, ordinal, (SELECT AVG(likeness) FROM seen) FROM seen ORDER BY likeness DESC LIMIT ?`, schema, literal, v)
		args = append(args, string(ids), q.K)
	} else {
		condition, more := visible(q.Filter)
		query = fmt.Sprintf(`SELECT revision, ordinal, 0 FROM %s WHERE revision IN (SELECT revision FROM documents WHERE %s)
			ORDER BY v OPERATOR(%s.<#>) `, v, condition, schema)
		args = append(append(more, args...), q.K)
		query += literal + " LIMIT ?"
	}
	err = x.db.view(ctx, "search vectors", func(tx *sql.Tx) error {
		near = retrieval.Near{}
		if q.Only == nil {
			if err := scanFor(ctx, tx, q.K); err != nil {
				return err
			}
		}
		rows, err := tx.QueryContext(ctx, query, args...)
		return scanAll(rows, err, func(r *sql.Rows) error {
			var key retrieval.ChunkKey
			err := r.Scan(&key.Revision, &key.Ordinal, &near.Mean)
			near.Keys = append(near.Keys, key)
			return err
		})
	})
	return near, err
}

// scanFor prepares a transaction for a search for k vectors in the order of HNSW. That order is nearly
// right, which is enough: the likeness is computed again from the whole vectors. Without it, PostgreSQL
// would sometimes sort all vectors that the filter lets through.
func scanFor(ctx context.Context, tx *sql.Tx, k int) error {
	_, err := tx.ExecContext(ctx, `SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', ?, true),
		set_config('hnsw.max_scan_tuples', ?, true), set_config('hnsw.scan_mem_multiplier', '4', true), set_config('enable_sort', 'off', true)`,
		strconv.Itoa(min(max(2*k, 200), 1000)), strconv.Itoa(scanTuples))
	return err
}

// appendVector appends a vector in the syntax of pgvector, with more digits than half precision has.
func appendVector(b []byte, v []float32) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', 5, 32)
	}
	return append(b, ']')
}

// VectorsOf ranges over the whole vectors of some chunks, in no particular order. An error is the last item.
func (x *VectorIndex) VectorsOf(ctx context.Context, generation int64, keys []retrieval.ChunkKey) iter.Seq2[retrieval.LinkedVector, error] {
	ids := make([]int64, len(keys))
	for i, key := range keys {
		ids[i] = chunkID(key)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return func(yield func(retrieval.LinkedVector, error) bool) { yield(retrieval.LinkedVector{}, err) }
	}
	return x.db.linked(ctx, `SELECT l.revision, l.ordinal, v.body FROM json_each(?) k
		JOIN chunk_vectors l ON l.revision = k.value >> 24 AND l.ordinal = (k.value & 16777215)::INTEGER AND l.generation = ?
		JOIN vectors v ON v.id = l.vector`, string(list), generation)
}

// SampledVectors is LinkedVectors for one of every n vectors.
func (x *VectorIndex) SampledVectors(ctx context.Context, namespace string, generation, after, until int64, of int) iter.Seq2[retrieval.LinkedVector, error] {
	return x.db.linked(ctx, linkedAfter+" AND l.vector % ? = 0 "+byVersion, generation, namespace, after, until, of)
}
