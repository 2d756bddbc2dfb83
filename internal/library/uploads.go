package library

import (
	"context"
	"crypto/md5" //nolint:gosec // the API's checksum, which protects from nobody
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"parley/internal/documents"
	"parley/internal/shelf"
)

// The limits of uploads in parts.
const (
	MaxPending     = 100       // of an owner
	MaxParts       = 1000      // of an upload
	UploadLifetime = time.Hour // from its creation to its completion
	uploadPrefix   = "upload_"
	partPrefix     = "part_"
)

// Pending is the state of an upload that is neither Completed nor Cancelled.
const Pending = "pending"

// Errors of uploads.
var (
	ErrState    = errors.New("the upload is not pending")
	ErrSize     = errors.New("the parts do not have the size of the upload")
	ErrPart     = errors.New("an id belongs to no part of the upload, or is given twice")
	ErrChecksum = errors.New("the parts do not have the checksum")
)

// Upload is a file that comes in parts.
type Upload struct {
	ID        string        `json:"-"`
	Owner     string        `json:"-"`
	State     string        `json:"-"`
	Size      int64         `json:"-"` // of the whole file
	CreatedAt time.Time     `json:"-"`
	Name      string        `json:"name"`
	Purpose   string        `json:"purpose"`
	Lifetime  time.Duration `json:"lifetime,omitempty"` // of the file; 0 means for ever
}

// ExpiresAt returns the time until which an upload can be completed.
func (u Upload) ExpiresAt() time.Time { return u.CreatedAt.Add(UploadLifetime) }

func uploadKey(owner, id string) shelf.Key {
	return shelf.Key{Kind: shelf.Uploads, Owner: owner, ID: id}
}

func uploadOf(i shelf.Item) (u Upload, err error) {
	err = json.Unmarshal(i.Body, &u)
	u.ID, u.Owner, u.State, u.Size, u.CreatedAt = i.ID, i.Owner, i.State, i.Size, i.CreatedAt
	return u, err
}

func (l *Library) upload(ctx context.Context, owner, id string) (Upload, error) {
	i, err := l.cfg.Items.Item(ctx, uploadKey(owner, id))
	if err != nil {
		return Upload{}, err
	}
	return uploadOf(i)
}

// Upload returns an upload that has not expired.
func (l *Library) Upload(ctx context.Context, owner, id string) (Upload, error) {
	u, err := l.upload(ctx, owner, id)
	if err == nil && l.isOver(u.ExpiresAt()) {
		err = ErrNotFound
	}
	return u, err
}

// AddUpload begins an upload. It uses the fields Name, Purpose, Lifetime and Size of u. The name must be a result of
// upload.Clean.
func (l *Library) AddUpload(ctx context.Context, owner string, u Upload) (Upload, error) {
	if err := l.room(ctx, shelf.List{Kind: shelf.Uploads, Owner: owner, State: Pending}, 1, MaxPending); err != nil {
		return u, err
	}
	body, err := json.Marshal(u)
	if err != nil {
		return u, fmt.Errorf("encode an upload: %w", err)
	}
	key, now := uploadKey(owner, uploadPrefix+l.cfg.NewID()), l.cfg.Now()
	if err := l.expireAt(ctx, key, now.Add(UploadLifetime)); err != nil {
		return u, err
	}
	i, err := l.cfg.Items.Save(ctx, key, func(i *shelf.Item, _ bool) error {
		i.State, i.Size, i.CreatedAt, i.Body = Pending, u.Size, now, body
		return nil
	})
	if err != nil {
		return u, err
	}
	return uploadOf(i)
}

// pending returns an upload that can get parts and be completed, or ErrState.
func (l *Library) pending(ctx context.Context, owner, id string) (Upload, error) {
	u, err := l.Upload(ctx, owner, id)
	if err == nil && u.State != Pending {
		err = ErrState
	}
	return u, err
}

func partsOf(u Upload) shelf.List { return shelf.List{Kind: shelf.Parts, Owner: u.Owner, Parent: u.ID} }

// AddPart stores a part of an upload, and returns its id and time. The error is ErrSize if the parts are larger than the
// upload by then.
func (l *Library) AddPart(ctx context.Context, owner, upload string, r io.Reader) (id string, at time.Time, err error) {
	u, err := l.pending(ctx, owner, upload)
	if err != nil {
		return "", at, err
	}
	if err := l.room(ctx, partsOf(u), 1, MaxParts); err != nil {
		return "", at, err
	}
	key := shelf.Key{Kind: shelf.Parts, Owner: owner, Parent: u.ID, ID: partPrefix + l.cfg.NewID()}
	// The part is known before its content is there, so that it is deleted with its upload whatever happens.
	i, err := l.cfg.Items.Save(ctx, key, func(i *shelf.Item, _ bool) error {
		i.CreatedAt = l.cfg.Now()
		return nil
	})
	if err != nil {
		return "", at, err
	}
	size, err := l.cfg.Documents.Keep(ctx, owner, key.ID, io.LimitReader(r, u.Size+1))
	if err == nil {
		err = l.count(ctx, u, key, size)
	}
	if err != nil {
		return "", at, errors.Join(err, l.cfg.Documents.Drop(owner, key.ID), l.cfg.Items.Delete(context.WithoutCancel(ctx), key))
	}
	return key.ID, i.CreatedAt, nil
}

// count stores the size of a part.
func (l *Library) count(ctx context.Context, u Upload, key shelf.Key, size int64) error {
	_, err := l.cfg.Items.Save(ctx, key, func(i *shelf.Item, found bool) error {
		if !found {
			return ErrNotFound // the upload was cancelled meanwhile
		}
		i.Size = size
		return nil
	})
	if err != nil {
		return err
	}
	tallies, err := l.cfg.Items.Count(ctx, partsOf(u))
	if err == nil && tallies[""].Size > u.Size {
		err = ErrSize
	}
	return err
}

// CompleteUpload makes a file of the parts of an upload, in the given order. The checksum is the MD5 of the file in
// hexadecimal digits, or "". The error is ErrSize or ErrChecksum if the file is not the one that was announced: the
// upload is then still pending.
func (l *Library) CompleteUpload(ctx context.Context, owner, id string, parts []string, checksum string) (u Upload, f File, err error) {
	if u, err = l.pending(ctx, owner, id); err != nil {
		return u, f, err
	}
	contents, size, err := l.contents(ctx, u, parts)
	defer func() {
		for _, c := range contents {
			err = errors.Join(err, c.Close())
		}
	}()
	if err != nil {
		return u, f, err
	}
	if size != u.Size {
		return u, f, ErrSize
	}
	sum := md5.New() //nolint:gosec // see above
	readers := make([]io.Reader, len(contents))
	for i, c := range contents {
		readers[i] = c
	}
	f, err = l.add(ctx, owner, File{ID: filePrefix + l.cfg.NewID(), Name: u.Name, Purpose: u.Purpose}, io.TeeReader(io.MultiReader(readers...), sum))
	if err != nil {
		return u, f, err
	}
	if checksum != "" && !strings.EqualFold(checksum, hex.EncodeToString(sum.Sum(nil))) {
		err = ErrChecksum
	}
	if err == nil && u.Lifetime > 0 {
		var finished File
		if finished, err = l.FinishFile(ctx, owner, f.ID, u.Purpose, u.Lifetime); err == nil {
			f = finished
		}
	}
	if err == nil {
		u, err = l.finishUpload(ctx, u, Completed)
	}
	if err != nil {
		return u, f, errors.Join(err, l.deleteFile(context.WithoutCancel(ctx), owner, f))
	}
	return u, f, nil
}

// contents opens the parts of an upload in the given order, and returns the sum of their sizes.
func (l *Library) contents(ctx context.Context, u Upload, parts []string) (all []io.ReadSeekCloser, size int64, err error) {
	seen := map[string]bool{}
	for _, id := range parts {
		i, err := l.cfg.Items.Item(ctx, shelf.Key{Kind: shelf.Parts, Owner: u.Owner, Parent: u.ID, ID: id})
		if errors.Is(err, ErrNotFound) || seen[id] {
			return all, 0, ErrPart
		}
		if err != nil {
			return all, 0, err
		}
		seen[id] = true
		c, err := l.cfg.Documents.Kept(u.Owner, id)
		if errors.Is(err, documents.ErrNotFound) {
			return all, 0, ErrPart
		}
		if err != nil {
			return all, 0, err
		}
		all = append(all, c)
		size += i.Size
	}
	return all, size, nil
}

// CancelUpload ends an upload, and deletes its parts.
func (l *Library) CancelUpload(ctx context.Context, owner, id string) (Upload, error) {
	u, err := l.pending(ctx, owner, id)
	if err != nil {
		return u, err
	}
	return l.finishUpload(ctx, u, Cancelled)
}

// finishUpload gives an upload its last state and deletes its parts. Only one caller succeeds.
func (l *Library) finishUpload(ctx context.Context, u Upload, state string) (Upload, error) {
	i, err := l.cfg.Items.Save(ctx, uploadKey(u.Owner, u.ID), func(i *shelf.Item, found bool) error {
		if !found || i.State != Pending {
			return ErrState
		}
		i.State = state
		return nil
	})
	if err != nil {
		return u, err
	}
	u.State = i.State
	_ = l.dropParts(context.WithoutCancel(ctx), u) // if this fails, Sweep does it
	return u, nil
}

func (l *Library) dropParts(ctx context.Context, u Upload) error {
	parts, err := l.cfg.Items.Items(ctx, partsOf(u))
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := l.cfg.Documents.Drop(u.Owner, p.ID); err != nil {
			return err
		}
		if err := l.cfg.Items.Delete(ctx, p.Key); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// deleteUpload deletes an upload with its parts.
func (l *Library) deleteUpload(ctx context.Context, u Upload) error {
	if err := l.dropParts(ctx, u); err != nil {
		return err
	}
	return l.cfg.Items.Delete(ctx, uploadKey(u.Owner, u.ID))
}
