package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"parley/internal/retrieval"
)

// VectorVersion returns a number that grows with every change to links and generations.
func (c *Corpus) VectorVersion(ctx context.Context) (int64, error) {
	v, err := c.number(ctx, "SELECT value FROM counters WHERE name = 'vectors'")
	return v, c.db.fail("read version of the vectors", err)
}

// Generations returns all generations, ascending by ID, and the version of the vectors at which
// they were read.
func (c *Corpus) Generations(ctx context.Context) (all []retrieval.Generation, version int64, err error) {
	err = c.db.view(ctx, "read generations", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT value FROM counters WHERE name = 'vectors'").Scan(&version)
		if err == nil {
			all, err = generations(ctx, tx)
		}
		return err
	})
	return all, version, err
}

func generations(ctx context.Context, tx *sql.Tx) (all []retrieval.Generation, err error) {
	rows, err := tx.QueryContext(ctx,
		"SELECT id, model, dimensions, recipe, length, state FROM generations ORDER BY id")
	all, err = scanList(rows, err, func(r *sql.Rows, g *retrieval.Generation) error {
		return r.Scan(&g.ID, &g.Model, &g.Dimensions, &g.Recipe, &g.Length, &g.State)
	})
	return all, err
}

// BeginGeneration returns the live generation with g's model, dimensions and recipe, or a new one.
func (c *Corpus) BeginGeneration(ctx context.Context, g retrieval.Generation) (begun retrieval.Generation, err error) {
	err = c.db.update(ctx, "begin a generation of vectors", func(tx *sql.Tx) error {
		all, err := generations(ctx, tx)
		if err != nil {
			return err
		}
		begun = retrieval.Generation{}
		changed := false
		for _, have := range all {
			switch {
			case have.State == retrieval.Retired:
			case have.Model == g.Model && have.Dimensions == g.Dimensions && have.Recipe == g.Recipe:
				begun = have
			case have.State == retrieval.Building:
				changed = true
				if err := setState(ctx, tx, have.ID, retrieval.Retired); err != nil {
					return err
				}
			}
		}
		if begun.ID == 0 {
			changed = true
			if begun, err = addGeneration(ctx, tx, g); err != nil {
				return err
			}
		}
		if changed {
			_, err = advance(ctx, tx, "vectors", 1)
		}
		return err
	})
	return begun, err
}

func addGeneration(ctx context.Context, tx *sql.Tx, g retrieval.Generation) (retrieval.Generation, error) {
	g.Length, g.State = 0, retrieval.Building
	id, err := advance(ctx, tx, "generation", 1)
	if err != nil {
		return g, err
	}
	g.ID = id
	_, err = tx.ExecContext(ctx, `INSERT INTO generations (id, model, dimensions, recipe, length, state)
		VALUES (?, ?, ?, ?, ?, ?)`, g.ID, g.Model, g.Dimensions, g.Recipe, g.Length, g.State)
	return g, err
}

func setState(ctx context.Context, tx *sql.Tx, id int64, s retrieval.GenerationState) error {
	_, err := tx.ExecContext(ctx, "UPDATE generations SET state = ? WHERE id = ?", s, id)
	return err
}

// SwitchGeneration makes a complete generation current and retires the previous one.
func (c *Corpus) SwitchGeneration(ctx context.Context, id int64) error {
	return c.db.update(ctx, "switch the generation of vectors", func(tx *sql.Tx) error {
		g, err := liveGeneration(ctx, tx, id)
		if err != nil || g.State == retrieval.Current {
			return err
		}
		var missing bool
		err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM documents d WHERE "+lacking+")", id).Scan(&missing)
		if err != nil {
			return err
		}
		if missing {
			return retrieval.ErrIncomplete
		}
		_, err = tx.ExecContext(ctx, "UPDATE generations SET state = ? WHERE state = ?", retrieval.Retired, retrieval.Current)
		if err == nil {
			err = setState(ctx, tx, id, retrieval.Current)
		}
		if err == nil {
			_, err = advance(ctx, tx, "vectors", 1)
		}
		return err
	})
}

// lacking is the condition that a document d has chunks without a link to a generation. It does not
// read chunks, which are most of the database.
const lacking = `d.chunks > (SELECT COUNT(*) FROM chunk_vectors l
	WHERE l.revision = d.revision AND l.generation = ?)`

// liveGeneration returns a generation, or ErrConflict if it is retired.
func liveGeneration(ctx context.Context, tx *sql.Tx, id int64) (retrieval.Generation, error) {
	all, err := generations(ctx, tx)
	if err != nil {
		return retrieval.Generation{}, err
	}
	for _, g := range all {
		if g.ID == id && g.State != retrieval.Retired {
			return g, nil
		}
	}
	return retrieval.Generation{}, fmt.Errorf("generation %d: %w", id, retrieval.ErrConflict)
}

// Unembedded returns up to limit chunks without a link in a generation, ascending by key.
func (c *Corpus) Unembedded(ctx context.Context, generation int64, after retrieval.ChunkKey, limit int) (
	all []retrieval.Unembedded, err error) {
	rows, err := c.db.read.QueryContext(ctx, `SELECT c.tokens, c.layout, c.body, c.revision, c.ordinal, d.title
		FROM documents d CROSS JOIN chunks c
		WHERE c.id >= d.revision << 24 AND c.id < (d.revision + 1) << 24 AND d.revision >= ? AND `+lacking+` AND c.id > ? AND NOT EXISTS (SELECT 1 FROM chunk_vectors l
			WHERE l.revision = c.revision AND l.ordinal = c.ordinal AND l.generation = ?)
		ORDER BY d.revision, c.id LIMIT ?`, after.Revision, generation, chunkID(after), generation, limit)
	all, err = scanList(rows, err, func(r *sql.Rows, u *retrieval.Unembedded) error {
		var layout sql.RawBytes
		err := r.Scan(&u.Chunk.Tokens, &layout, &u.Chunk.Text, &u.Chunk.Key.Revision, &u.Chunk.Key.Ordinal, &u.Title)
		if err != nil {
			return err
		}
		u.Chunk.Spans, u.Chunk.Headings, err = decodeLayout(layout)
		return err
	})
	return all, c.db.fail("read chunks without a vector", err)
}

// hashBatch is the number of hashes that one query looks up.
const hashBatch = 500

// KnownVectors returns the hashes whose vectors the generation already has.
func (c *Corpus) KnownVectors(ctx context.Context, generation int64, hashes []retrieval.Hash) (map[retrieval.Hash]bool, error) {
	known := map[retrieval.Hash]bool{}
	for len(hashes) > 0 {
		n := min(len(hashes), hashBatch)
		args := []any{generation}
		for i := range hashes[:n] {
			args = append(args, hashes[i][:])
		}
		rows, err := c.db.read.QueryContext(ctx,
			"SELECT hash FROM vectors WHERE generation = ? AND hash IN ("+placeholders(n)+")", args...)
		err = scanAll(rows, err, func(r *sql.Rows) error {
			var raw sql.RawBytes
			var hash retrieval.Hash
			if err := r.Scan(&raw); err != nil {
				return err
			}
			if copy(hash[:], raw) != len(hash) || len(raw) != len(hash) {
				return errHash
			}
			known[hash] = true
			return nil
		})
		if err != nil {
			return nil, c.db.fail("look for vectors", err)
		}
		hashes = hashes[n:]
	}
	return known, nil
}

var errHash = fmt.Errorf("%w hash of a vector", retrieval.ErrDamaged)

// LinkedVectors ranges over the vectors of a namespace's chunks that were linked after one version,
// up to and including another.
func (c *Corpus) LinkedVectors(ctx context.Context, namespace string, generation, after, until int64) iter.Seq2[retrieval.LinkedVector, error] {
	return c.db.linked(ctx, linkedAfter+" "+byVersion, generation, namespace, after, until)
}

// linkedAfter and byVersion select the vectors of a generation and namespace that were linked after one
// version, up to and including another.
const (
	linkedAfter = `SELECT l.revision, l.ordinal, v.body
		FROM chunk_vectors l JOIN vectors v ON v.id = l.vector
		WHERE l.generation = ? AND l.namespace = ? AND l.version > ? AND l.version <= ?`
	byVersion = "ORDER BY l.version, l.revision, l.ordinal"
)

// linked ranges over the vectors that a query selects, without those of refused texts.
func (d *database) linked(ctx context.Context, query string, args ...any) iter.Seq2[retrieval.LinkedVector, error] {
	return func(yield func(retrieval.LinkedVector, error) bool) {
		rows, err := d.read.QueryContext(ctx, query, args...)
		err = scanAll(rows, err, func(r *sql.Rows) error {
			var v retrieval.LinkedVector
			if err := r.Scan(&v.Key.Revision, &v.Key.Ordinal, (*sql.RawBytes)(&v.Data)); err != nil {
				return err
			}
			if len(v.Data) > 0 && !yield(v, nil) {
				return errLeft
			}
			return nil
		})
		if err != nil && !errors.Is(err, errLeft) {
			yield(retrieval.LinkedVector{}, d.fail("read vectors", err))
		}
	}
}

// errLeft says that the consumer ended the range early.
var errLeft = errors.New("consumer left")
