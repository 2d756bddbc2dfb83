package store

import (
	"context"
	"database/sql"
	"fmt"

	"parley/internal/retrieval"
)

// PutVectors commits vectors and then links, and returns how many chunks it linked.
func (c *Corpus) PutVectors(ctx context.Context, b retrieval.VectorBatch) (linked int, err error) {
	err = c.db.update(ctx, "put vectors", func(tx *sql.Tx) error {
		a := applier{ctx: context.WithoutCancel(ctx), tx: tx}
		if err := a.claimLength(b); err != nil {
			return err
		}
		if err := a.putVectors(ctx, b); err != nil {
			return err
		}
		version, err := advance(a.ctx, tx, "vectors", 1)
		if err == nil {
			linked, err = a.linkVectors(ctx, b, version)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return linked, nil
}

// claimLength checks that the vectors have the generation's length. The first vectors determine it.
func (a applier) claimLength(b retrieval.VectorBatch) error {
	g, err := liveGeneration(a.ctx, a.tx, b.Generation)
	if err != nil || b.Length == 0 || g.Length == b.Length {
		return err
	}
	if g.Length != 0 {
		return fmt.Errorf("vectors of %d dimensions beside others of %d: %w", b.Length, g.Length, retrieval.ErrConflict)
	}
	_, err = a.exec("UPDATE generations SET length = ? WHERE id = ?", b.Length, g.ID)
	return err
}

func (a applier) putVectors(ctx context.Context, b retrieval.VectorBatch) error {
	if len(b.Vectors) == 0 {
		return nil
	}
	last, err := advance(a.ctx, a.tx, "vector", len(b.Vectors))
	if err != nil {
		return fmt.Errorf("number vectors: %w", err)
	}
	stmt, err := a.tx.PrepareContext(a.ctx, `INSERT INTO vectors (id, generation, hash, body) VALUES (?, ?, ?, ?)
		ON CONFLICT (generation, hash) DO NOTHING`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for i := range b.Vectors {
		v := &b.Vectors[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := len(v.Data); n != 0 && n != 4*b.Length {
			return fmt.Errorf("a vector has %d bytes, which does not fit %d dimensions", n, b.Length)
		}
		body := v.Data
		if body == nil {
			body = []byte{} // nil would be stored as NULL
		}
		id := last - int64(len(b.Vectors)) + 1 + int64(i)
		if _, err := stmt.ExecContext(a.ctx, id, b.Generation, v.Hash[:], body); err != nil {
			return err
		}
	}
	return nil
}

func (a applier) linkVectors(ctx context.Context, b retrieval.VectorBatch, version int64) (linked int, err error) {
	stmt, err := a.tx.PrepareContext(a.ctx, `INSERT INTO chunk_vectors
			(revision, ordinal, generation, namespace, vector, version)
		SELECT c.revision, c.ordinal, v.generation, d.namespace, v.id, ?
		FROM chunks c JOIN documents d ON d.revision = c.revision
			JOIN vectors v ON v.generation = ? AND v.hash = ?
		WHERE c.id = ?
		ON CONFLICT (revision, ordinal, generation) DO NOTHING`)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	for i := range b.Links {
		l := &b.Links[i]
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		r, err := stmt.ExecContext(a.ctx, version, b.Generation, l.Hash[:], chunkID(l.Key))
		if err != nil {
			return 0, err
		}
		n, err := r.RowsAffected()
		if err != nil {
			return 0, err
		}
		linked += int(n)
	}
	return linked, nil
}

// SweepVectors deletes up to limit rows that no search needs.
func (c *Corpus) SweepVectors(ctx context.Context, keep, limit int) (deleted int, err error) {
	err = c.db.update(ctx, "sweep vectors", func(tx *sql.Tx) error {
		a := applier{ctx: ctx, tx: tx}
		deleted = 0
		for _, sweep := range []func(keep, limit int) (int, error){
			a.sweepLinks, a.sweepRetired, a.sweepGenerations, a.sweepCache,
		} {
			n, err := sweep(keep, limit-deleted)
			if err != nil {
				return err
			}
			if deleted += n; deleted >= limit {
				return nil
			}
		}
		return nil
	})
	return deleted, err
}

// retired selects the retired generations.
const retired = "(SELECT id FROM generations WHERE state = 'retired')"

func (a applier) sweepLinks(_, limit int) (int, error) {
	return a.deleteSome(`DELETE FROM chunk_vectors WHERE (revision, ordinal, generation) IN (
		SELECT revision, ordinal, generation FROM chunk_vectors WHERE generation IN `+retired+` LIMIT ?)`, limit)
}

func (a applier) sweepRetired(_, limit int) (int, error) {
	return a.deleteSome("DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE generation IN "+retired+" LIMIT ?)", limit)
}

// sweepGenerations deletes the retired generations. Nothing refers to them any more.
func (a applier) sweepGenerations(_, limit int) (int, error) {
	return a.deleteSome(`DELETE FROM generations WHERE id IN (
		SELECT id FROM generations WHERE state = 'retired' LIMIT ?)`, limit)
}

// sweepCache deletes the oldest unlinked vectors and keeps the newest ones, as many as keep says.
func (a applier) sweepCache(keep, limit int) (int, error) {
	const free = "FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM chunk_vectors l WHERE l.vector = v.id)"
	var n int
	if err := a.tx.QueryRowContext(a.ctx, "SELECT COUNT(*) "+free).Scan(&n); err != nil {
		return 0, err
	}
	if n <= keep {
		return 0, nil
	}
	return a.deleteSome("DELETE FROM vectors WHERE id IN (SELECT v.id "+free+" ORDER BY v.id LIMIT ?)", min(limit, n-keep))
}

// deleteSome runs a statement that deletes up to limit rows.
func (a applier) deleteSome(statement string, limit int) (int, error) {
	n, err := a.exec(statement, limit)
	return int(n), err
}
