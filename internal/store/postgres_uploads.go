package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/internal/documents/upload"
	"parley/internal/durable"
	"parley/internal/ident"
)

// sharedUploads keeps uploaded files in a PostgreSQL database, in parts. It implements upload.Files. A
// folder on this machine has copies of those that are read.
type sharedUploads struct {
	db     *database
	folder string
	local  sync.Mutex // held while files are copied to the folder
}

// uploadAge is longer than any upload takes.
const uploadAge = 24 * time.Hour

// uploadPatience limits one statement about uploaded files. Those that read or write their bytes have
// the limits of their callers.
const uploadPatience = time.Minute

func uploadContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), uploadPatience)
}

// Write stores the parts first, each in a transaction of its own, because a slow client must not keep a
// transaction open.
func (u *sharedUploads) Write(ctx context.Context, name string, r io.Reader, modified time.Time) (size int64, err error) {
	if modified.IsZero() {
		modified = time.Now()
	}
	body := ident.New()
	if size, err = u.writeParts(ctx, body, r); err == nil {
		err = u.db.update(ctx, "store an uploaded file", func(tx *sql.Tx) error {
			added, err := affects(tx.ExecContext(ctx, `INSERT INTO upload_files (name, body, size, modified_at) VALUES (?, ?, ?, ?)
				ON CONFLICT DO NOTHING`, name, body, size, micros(modified)))
			if err == nil && !added {
				err = fs.ErrExist
			}
			return err
		})
	}
	if err != nil {
		ctx, cancel := uploadContext() // the caller's has perhaps ended
		defer cancel()
		_, gone := u.db.write.ExecContext(ctx, deleteParts, body)
		return size, errors.Join(err, u.db.fail("remove an uploaded file", gone))
	}
	return size, nil
}

// deleteParts deletes the bytes of a body that has no name any more.
const deleteParts = `DELETE FROM upload_parts WHERE body = ?1 AND NOT EXISTS (SELECT 1 FROM upload_files WHERE body = ?1)`

func (u *sharedUploads) writeParts(ctx context.Context, body string, r io.Reader) (size int64, err error) {
	part := make([]byte, blobPart)
	for position := 0; ; position++ {
		if err := ctx.Err(); err != nil {
			return size, err
		}
		n, err := io.ReadFull(r, part)
		size += int64(n)
		if n > 0 {
			_, err := u.db.write.ExecContext(ctx, "INSERT INTO upload_parts (body, position, part) VALUES (?, ?, ?)", body, position, part[:n])
			if err != nil {
				return size, u.db.fail("store an uploaded file", err)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

// change runs a short transaction.
func (u *sharedUploads) change(doing string, f func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := uploadContext()
	defer cancel()
	return u.db.update(ctx, doing, func(tx *sql.Tx) error { return f(ctx, tx) })
}

// Sync does nothing: commits are durable.
func (u *sharedUploads) Sync(...string) error { return nil }

// Tidy does nothing: there are no empty folders.
func (u *sharedUploads) Tidy(string) {}

// Rename renames a file.
func (u *sharedUploads) Rename(from, to string) error {
	return u.change("rename an uploaded file", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := bodyOf(ctx, tx, from); err != nil || from == to {
			return err
		}
		if err := removeUpload(ctx, tx, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE upload_files SET name = ? WHERE name = ?", to, from)
		return err
	})
}

// bodyOf locks a file and returns its body.
func bodyOf(ctx context.Context, tx *sql.Tx, name string) (body string, err error) {
	err = tx.QueryRowContext(ctx, "SELECT body FROM upload_files WHERE name = ? /* lock */", name).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		err = fs.ErrNotExist
	}
	return body, err
}

func removeUpload(ctx context.Context, tx *sql.Tx, name string) error {
	body, err := bodyOf(ctx, tx, name)
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM upload_files WHERE name = ?", name)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, deleteParts, body)
	}
	return err
}

// Link gives the body of a file a second name.
func (u *sharedUploads) Link(from, to string) error {
	return u.change("link an uploaded file", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := bodyOf(ctx, tx, from); err != nil {
			return err
		}
		added, err := affects(tx.ExecContext(ctx, `INSERT INTO upload_files (name, body, size, modified_at)
			SELECT ?, body, size, modified_at FROM upload_files WHERE name = ? ON CONFLICT DO NOTHING`, to, from))
		if err == nil && !added {
			err = fs.ErrExist
		}
		return err
	})
}

// Remove removes a file.
func (u *sharedUploads) Remove(name string) error {
	return u.change("remove an uploaded file", func(ctx context.Context, tx *sql.Tx) error { return removeUpload(ctx, tx, name) })
}

// below is the condition for the files below a folder. Its arguments come from belowArgs. Text is
// compared by its bytes.
const below = "name > ?1 AND name < ?2"

func belowArgs(folder string) []any {
	if folder == upload.Top {
		return []any{"", string(unicode.MaxRune)}
	}
	return []any{folder + "/", folder + "0"} // 0 follows the slash
}

// RemoveAll removes a folder.
func (u *sharedUploads) RemoveAll(folder string) error {
	return u.change("remove uploaded files", func(ctx context.Context, tx *sql.Tx) error {
		names, err := column[string](tx.QueryContext(ctx, "SELECT name FROM upload_files WHERE "+below, belowArgs(folder)...))
		for _, name := range names {
			if err == nil {
				err = removeUpload(ctx, tx, name)
			}
		}
		return err
	})
}

// Stat returns the size and the time of a file.
func (u *sharedUploads) Stat(name string) (upload.File, error) {
	ctx, cancel := uploadContext()
	defer cancel()
	f := upload.File{Name: path.Base(name)}
	var modified int64
	err := u.db.read.QueryRowContext(ctx, "SELECT size, modified_at FROM upload_files WHERE name = ?", name).Scan(&f.Size, &modified)
	if errors.Is(err, sql.ErrNoRows) {
		return f, fs.ErrNotExist
	}
	f.Modified = fromMicros(modified)
	return f, u.db.fail("look for an uploaded file", err)
}

// List returns the files in a folder.
func (u *sharedUploads) List(folder string) ([]upload.File, error) {
	return u.entries(`SELECT substr(name, ?3), size, modified_at FROM upload_files
		WHERE `+below+` AND strpos(substr(name, ?3), '/') = 0 ORDER BY name`, folder)
}

// Folders returns the folders in a folder.
func (u *sharedUploads) Folders(folder string) ([]upload.File, error) {
	return u.entries(`SELECT split_part(substr(name, ?3), '/', 1) AS entry, 0, MAX(modified_at) FROM upload_files
		WHERE `+below+` AND strpos(substr(name, ?3), '/') > 0 GROUP BY entry ORDER BY entry`, folder)
}

func (u *sharedUploads) entries(query, folder string) (all []upload.File, err error) {
	ctx, cancel := uploadContext()
	defer cancel()
	first := utf8.RuneCountInString(folder) + 2 // character of a name, after the slash
	if folder == upload.Top {
		first = 1
	}
	rows, err := u.db.read.QueryContext(ctx, query, append(belowArgs(folder), first)...)
	all, err = scanList(rows, err, func(r *sql.Rows, f *upload.File) error {
		var modified int64
		err := r.Scan(&f.Name, &f.Size, &modified)
		f.Modified = fromMicros(modified)
		return err
	})
	return all, u.db.fail("list uploaded files", err)
}

// Open copies a file to this machine, and opens the copy.
func (u *sharedUploads) Open(name string) (io.ReadSeekCloser, error) {
	if err := os.MkdirAll(u.folder, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	f, err := os.CreateTemp(u.folder, tempPrefix)
	if err != nil {
		return nil, err
	}
	opened := &openUpload{f}
	if err = u.copyTo(ctx, name, f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// openUpload is a private copy of an upload.
type openUpload struct{ *os.File }

func (o *openUpload) Close() error { return errors.Join(o.File.Close(), os.Remove(o.Name())) }

// copyTo writes a file to w. If the file is replaced meanwhile, the old one is written, or an error returned.
func (u *sharedUploads) copyTo(ctx context.Context, name string, w io.Writer) error {
	var body string
	var size int64
	err := u.db.read.QueryRowContext(ctx, "SELECT body, size FROM upload_files WHERE name = ?", name).Scan(&body, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return fs.ErrNotExist
	}
	for position := int64(0); err == nil && position < (size+blobPart-1)/blobPart; position++ {
		var part []byte
		err = u.db.read.QueryRowContext(ctx, "SELECT part FROM upload_parts WHERE body = ? AND position = ?", body, position).Scan(&part)
		if errors.Is(err, sql.ErrNoRows) {
			return errUploadChanged
		}
		if err == nil {
			_, err = w.Write(part)
		}
	}
	return u.db.fail("read an uploaded file", err)
}

// errUploadChanged says that a file was removed or replaced while it was read.
var errUploadChanged = fmt.Errorf("the file was changed while it was read: %w", fs.ErrNotExist)

// Local makes a folder on this machine equal to a folder of the database.
func (u *sharedUploads) Local(ctx context.Context, folder string) (string, error) {
	u.local.Lock()
	defer u.local.Unlock()
	dir := filepath.Join(u.folder, filepath.FromSlash(folder))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	rows, err := u.List(folder)
	if err != nil {
		return "", err
	}
	wanted := map[string]bool{}
	for _, f := range rows {
		err := u.copyLocal(ctx, path.Join(folder, f.Name), filepath.Join(dir, f.Name), f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has gone meanwhile
		}
		if err != nil {
			return "", err
		}
		wanted[f.Name] = true
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !wanted[e.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return dir, err
}

// copyLocal copies a file to this machine, unless it is there.
func (u *sharedUploads) copyLocal(ctx context.Context, name, to string, f upload.File) error {
	if st, err := os.Lstat(to); err == nil && st.Mode().IsRegular() && st.Size() == f.Size && st.ModTime().Equal(f.Modified) {
		return nil
	}
	temp, err := os.CreateTemp(u.folder, tempPrefix)
	if err != nil {
		return err
	}
	err = errors.Join(u.copyTo(ctx, name, temp), temp.Close())
	if err == nil {
		err = os.Chtimes(temp.Name(), f.Modified, f.Modified)
	}
	if err == nil {
		err = os.Rename(temp.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// sweep removes bytes that a crash left without a name, and files that dead processes left in the
// folder, if they are older than a time.
func (u *sharedUploads) sweep(ctx context.Context, before time.Time) error {
	_, err := u.db.write.ExecContext(ctx, `DELETE FROM upload_parts WHERE body < ?
		AND NOT EXISTS (SELECT 1 FROM upload_files f WHERE f.body = upload_parts.body)`, ident.At(before))
	err = u.db.fail("sweep uploaded files", err)
	temps, _ := filepath.Glob(filepath.Join(u.folder, tempPrefix+"*"))
	for _, temp := range temps {
		if st, statErr := os.Lstat(temp); statErr == nil && st.ModTime().Before(before) {
			err = errors.Join(err, durable.IgnoreMissing(os.Remove(temp)))
		}
	}
	return err
}

// adopt moves the uploaded files of a folder into the database. Earlier versions kept them in the folder.
func (u *sharedUploads) adopt(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return durable.IgnoreMissing(err)
	}
	if err := copyUploads(ctx, u, upload.Disk(dir)); err != nil {
		return fmt.Errorf("move the uploaded files in %s into the database: %w", dir, err)
	}
	return os.Rename(dir, strings.TrimSuffix(dir, "/")+"-moved-"+ident.New())
}
