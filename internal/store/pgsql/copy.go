package pgsql

import (
	"context"
	"database/sql"
	"fmt"
	"io"
)

// Copy runs a COPY … FROM STDIN in the transaction of a connection, if there is one. The statement is PostgreSQL's own.
func Copy(ctx context.Context, c *sql.Conn, statement string, from io.Reader) error {
	return c.Raw(func(driver any) error {
		pg, ok := driver.(*conn)
		if !ok {
			return fmt.Errorf("copy: unexpected type %T", driver)
		}
		_, err := pg.Conn.Conn().PgConn().CopyFrom(ctx, from, statement)
		return err
	})
}
