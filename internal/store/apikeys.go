package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
)

// APIKeys keeps the keys with which programs sign in. It implements apikey.Store.
type APIKeys struct {
	db *database
}

var _ apikey.Store = (*APIKeys)(nil)

const keyColumns = `id, name, role, namespaces, routes, hash, created_at, expires_at, revoked_at, used_at`

func scanKey(r row) (k apikey.Key, err error) {
	var role, namespaces, routes, hash string
	var created, expires, revoked, used int64
	err = r.Scan(&k.ID, &k.Name, &role, &namespaces, &routes, &hash, &created, &expires, &revoked, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return apikey.Key{}, apikey.ErrNotFound
	}
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(namespaces), &k.Namespaces), json.Unmarshal([]byte(routes), &k.Routes))
	}
	if err != nil {
		return apikey.Key{}, err
	}
	if n, err := hex.Decode(k.Hash[:], []byte(hash)); err != nil || n != len(k.Hash) {
		return apikey.Key{}, fmt.Errorf("malformed hash of key %s", k.ID)
	}
	k.Role = access.Role(role)
	k.CreatedAt, k.ExpiresAt = fromMicros(created), fromMicros(expires)
	k.RevokedAt, k.UsedAt = fromMicros(revoked), fromMicros(used)
	return k, nil
}

// AddKey stores a new key.
func (s *APIKeys) AddKey(ctx context.Context, k apikey.Key) error {
	namespaces, err := json.Marshal(k.Namespaces)
	if err != nil {
		return fmt.Errorf("encode namespaces: %w", err)
	}
	routes, err := json.Marshal(k.Routes)
	if err != nil {
		return fmt.Errorf("encode routes: %w", err)
	}
	return s.db.updateOne(ctx, "add key", `INSERT INTO api_keys (`+keyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.Name, string(k.Role), string(namespaces), string(routes), hex.EncodeToString(k.Hash[:]),
		micros(k.CreatedAt), micros(k.ExpiresAt), micros(k.RevokedAt), micros(k.UsedAt))
}

// Key returns a key, or apikey.ErrNotFound.
func (s *APIKeys) Key(ctx context.Context, id string) (apikey.Key, error) {
	one, err := s.db.prepared(`SELECT ` + keyColumns + ` FROM api_keys WHERE id = ?`)
	if err != nil {
		return apikey.Key{}, s.db.fail("read key", err)
	}
	k, err := scanKey(one.QueryRowContext(ctx, id))
	return k, s.db.fail("read key", err)
}

// Keys returns all keys, the newest first.
func (s *APIKeys) Keys(ctx context.Context) (all []apikey.Key, err error) {
	rows, err := s.db.read.QueryContext(ctx, `SELECT `+keyColumns+` FROM api_keys ORDER BY created_at DESC, id DESC`)
	all, err = scanList(rows, err, func(r *sql.Rows, k *apikey.Key) (err error) {
		*k, err = scanKey(r)
		return err
	})
	return all, s.db.fail("list keys", err)
}

// HasValidKey reports whether there is a key that can be used at a time.
func (s *APIKeys) HasValidKey(ctx context.Context, at time.Time) (has bool, err error) {
	err = s.db.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at = 0 AND expires_at = 0)
		OR EXISTS (SELECT 1 FROM api_keys WHERE revoked_at = 0 AND expires_at > ?)`, micros(at)).Scan(&has)
	return has, s.db.fail("look for keys", err)
}

// RevokeKey revokes a key, or returns apikey.ErrNotFound. Revoking a key again changes nothing.
func (s *APIKeys) RevokeKey(ctx context.Context, id string, at time.Time) error {
	return s.db.commit(ctx, "revoke key", func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE api_keys SET revoked_at = CASE revoked_at WHEN 0 THEN ? ELSE revoked_at END WHERE id = ?`,
			micros(at), id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, apikey.ErrNotFound)
		}
		return nil
	})
}

// UsedKeys stores when keys were used last.
func (s *APIKeys) UsedKeys(ctx context.Context, used map[string]time.Time) error {
	return s.db.commit(ctx, "note the use of keys", func(ctx context.Context, tx *sql.Tx) error {
		for id, at := range used {
			_, err := tx.ExecContext(ctx, `UPDATE api_keys SET used_at = ? WHERE id = ? AND used_at < ?`, micros(at), id, micros(at))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
