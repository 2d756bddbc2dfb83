// Package pgsql runs the store's SQL, which is written for SQLite, on PostgreSQL. It is a driver for
// database/sql around that of pgx. It changes three things:
//
//   - The placeholders ? and ?1 become $1.
//   - The comment /* lock */ becomes FOR UPDATE. SQLite has one writer at a time and needs no locks.
//   - Text may hold any bytes, as in SQLite; see Encode.
//
// Both databases understand everything else in the same way.
package pgsql

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// NewConnector returns a connector for sql.OpenDB. All connectors to one server share its state.
func NewConnector(config pgx.ConnConfig, server *Server) driver.Connector {
	return &connector{server: server, Connector: stdlib.GetConnector(config, stdlib.OptionShouldPing(
		func(context.Context, stdlib.ShouldPingParams) bool { return false }))} // ResetSession checks the connection instead
}

type connector struct {
	driver.Connector
	server *Server
}

func (c *connector) connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	pg, ok := inner.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("connect: unexpected type %T", inner)
	}
	return &conn{Conn: pg, server: c.server, translated: map[string]string{}}, nil
}

// conn is a connection. database/sql does not use it concurrently.
type conn struct {
	*stdlib.Conn
	server     *Server
	translated map[string]string // SQLite's SQL to PostgreSQL's
	inside     bool              // in a transaction
}

// maxTranslated is the number of statements that a connection remembers. Few have text that varies.
const maxTranslated = 512

func (c *conn) translate(query string) string {
	if t, ok := c.translated[query]; ok {
		return t
	}
	if len(c.translated) >= maxTranslated {
		clear(c.translated)
	}
	t := Translate(query)
	c.translated[query] = t
	return t
}

// ResetSession implements driver.SessionResetter. It finds out whether the server has ended the connection since it
// was used last, without a round trip.
func (c *conn) ResetSession(ctx context.Context) error {
	if heard(c.Conn.Conn().PgConn().Conn()) {
		return driver.ErrBadConn
	}
	c.server.answered()
	return c.Conn.ResetSession(ctx)
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.Conn.PrepareContext(ctx, c.translate(query))
	if err != nil {
		return nil, again(err)
	}
	pg, ok := inner.(*stdlib.Stmt)
	if !ok {
		return nil, fmt.Errorf("prepare: unexpected type %T", inner)
	}
	return stmt{pg, c, reads(query)}, nil
}

// BeginTx begins a transaction. If the connection turns out to be lost, database/sql begins it on
// another one.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	inner, err := c.Conn.BeginTx(ctx, o)
	if err != nil {
		return nil, again(err)
	}
	c.inside = true
	return tx{inner, c}, nil
}

type tx struct {
	driver.Tx
	conn *conn
}

func (t tx) Commit() error {
	t.conn.inside = false
	return t.Tx.Commit()
}

func (t tx) Rollback() error {
	t.conn.inside = false
	return t.Tx.Rollback()
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(ctx, c.translate(query), args)
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.decoded(reads(query))(c.Conn.QueryContext(ctx, c.translate(query), args))
}

// CheckNamedValue converts an argument as database/sql does for other drivers, and encodes text.
func (c *conn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
		return err
	}
	if s, ok := v.Value.(string); ok {
		v.Value = Encode(s)
	}
	return nil
}

type stmt struct {
	*stdlib.Stmt
	conn  *conn
	reads bool
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.decoded(s.reads)(s.Stmt.QueryContext(ctx, args))
}

// decoded returns a function that converts the result of a query to a result of this driver. A query that only reads is
// repeated if the connection is lost before its first row.
func (c *conn) decoded(reads bool) func(driver.Rows, error) (driver.Rows, error) {
	return func(inner driver.Rows, err error) (driver.Rows, error) {
		if err != nil && reads && !c.inside {
			return nil, again(err)
		}
		if err != nil {
			return nil, err
		}
		return rows{inner}, nil
	}
}

type rows struct{ driver.Rows }

func (r rows) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err != nil {
		return err
	}
	for i, v := range dest {
		if s, ok := v.(string); ok {
			dest[i] = Decode(s)
		}
	}
	return nil
}
