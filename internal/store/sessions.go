package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"parley/internal/auth/session"
)

// Sessions keeps people signed in on the web page. It implements session.Store.
type Sessions struct {
	db *database
}

var _ session.Store = (*Sessions)(nil)

const sessionColumns = `id, hash, subject, name, api_key, issuer, claims, sealed, created_at, expires_at`

func scanSession(r row) (s session.Session, err error) {
	var hash, claims, sealed string
	var created, expires int64
	err = r.Scan(&s.ID, &hash, &s.Subject, &s.Name, &s.Key, &s.Issuer, &claims, &sealed, &created, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Session{}, session.ErrNotFound
	}
	if err == nil {
		s.Sealed, err = base64.StdEncoding.DecodeString(sealed)
	}
	if err != nil {
		return session.Session{}, err
	}
	if n, err := hex.Decode(s.Hash[:], []byte(hash)); err != nil || n != len(s.Hash) {
		return session.Session{}, fmt.Errorf("malformed hash of session %s", s.ID)
	}
	s.Claims = []byte(claims)
	s.CreatedAt, s.ExpiresAt = fromMicros(created), fromMicros(expires)
	return s, nil
}

// AddSession stores a new session. It keeps at most the newest most sessions of the subject.
func (s *Sessions) AddSession(ctx context.Context, one session.Session, most int) error {
	user := writerOf(ctx, one.Subject)
	return s.db.commit(ctx, "begin session", func(ctx context.Context, tx *sql.Tx) error {
		if err := user.check(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO sessions (`+sessionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			one.ID, hex.EncodeToString(one.Hash[:]), one.Subject, one.Name, one.Key, one.Issuer, string(one.Claims),
			base64.StdEncoding.EncodeToString(one.Sealed), micros(one.CreatedAt), micros(one.ExpiresAt))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM sessions WHERE subject = ? AND id NOT IN
			(SELECT id FROM sessions WHERE subject = ? ORDER BY created_at DESC, id DESC LIMIT ?)`, one.Subject, one.Subject, most)
		return err
	})
}

// Session returns a session, or session.ErrNotFound.
func (s *Sessions) Session(ctx context.Context, id string) (session.Session, error) {
	one, err := s.db.prepared(`SELECT ` + sessionColumns + ` FROM sessions WHERE id = ?`)
	if err != nil {
		return session.Session{}, s.db.fail("read session", err)
	}
	found, err := scanSession(one.QueryRowContext(ctx, id))
	return found, s.db.fail("read session", err)
}

// Sessions returns the sessions that are valid at a time, the newest first. A subject other than "" selects
// theirs only.
func (s *Sessions) Sessions(ctx context.Context, subject string, at time.Time) (all []session.Session, err error) {
	rows, err := s.db.read.QueryContext(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE expires_at > ? AND (? = '' OR subject = ?)
		ORDER BY created_at DESC, id DESC`, micros(at), subject, subject)
	all, err = scanList(rows, err, func(r *sql.Rows, one *session.Session) (err error) {
		*one, err = scanSession(r)
		return err
	})
	return all, s.db.fail("list sessions", err)
}

// EndSession removes a session, or returns session.ErrNotFound.
func (s *Sessions) EndSession(ctx context.Context, id string) error {
	n, err := s.remove(ctx, "end session", `DELETE FROM sessions WHERE id = ?`, id)
	if err == nil && n == 0 {
		err = session.ErrNotFound
	}
	return err
}

// EndSessionsOf removes the sessions of a subject, and returns how many there were.
func (s *Sessions) EndSessionsOf(ctx context.Context, subject string) (int, error) {
	return s.remove(ctx, "end sessions", `DELETE FROM sessions WHERE subject = ?`, subject)
}

// ForgetSessions removes the sessions that have expired by a time, and returns how many.
func (s *Sessions) ForgetSessions(ctx context.Context, at time.Time) (int, error) {
	return s.remove(ctx, "forget sessions", `DELETE FROM sessions WHERE expires_at <= ?`, micros(at))
}

func (s *Sessions) remove(ctx context.Context, doing, query string, arg any) (removed int, err error) {
	err = s.db.commit(ctx, doing, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, arg)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		removed = int(n)
		return err
	})
	return removed, err
}
