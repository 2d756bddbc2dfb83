package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/internal/lazyregexp"
	"parley/internal/retrieval"
	"parley/internal/shelf"
)

// ids are the ids of files that clients may choose. They are safe as names of files.
var ids = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// ErrBadID means that a client has chosen an id that no file can have.
var ErrBadID = errors.New("the id of a file must be 1 to 128 letters, digits, dots, dashes and underscores")

// ErrTaken means that somebody else has shared a file with this id in the group.
var ErrTaken = errors.New("the group has a file of somebody else with this id")

// AddNamed stores a file under an id that its client has chosen, in place of the file with that id. It uses
// the fields ID, Name and Purpose of f.
func (l *Library) AddNamed(ctx context.Context, owner string, f File, r io.Reader) (File, error) {
	if !ids.MatchString(f.ID) {
		return f, ErrBadID
	}
	if err := l.DeleteFile(ctx, owner, f.ID); err != nil && !errors.Is(err, ErrNotFound) {
		return f, err
	}
	return l.add(ctx, owner, File{ID: f.ID, Name: f.Name, Purpose: f.Purpose}, r)
}

// Share lets everyone who knows a group and the id of a file find it by OwnerIn, until the file is deleted. The error
// is ErrTaken if the group has a file of somebody else with the id.
func (l *Library) Share(ctx context.Context, owner, id, group string) error {
	_, err := l.cfg.Items.Save(ctx, fileKey(owner, id), func(i *shelf.Item, found bool) error {
		if !found {
			return ErrNotFound
		}
		f, err := fileOf(*i)
		if err != nil {
			return err
		}
		f.Group = group
		i.Body, err = json.Marshal(f)
		return err
	})
	if err != nil {
		return err
	}
	body, err := json.Marshal(share{owner})
	if err != nil {
		return fmt.Errorf("encode a share: %w", err)
	}
	_, err = l.cfg.Items.Save(ctx, shareKey(group, id), func(i *shelf.Item, found bool) error {
		if found && string(i.Body) != string(body) {
			return ErrTaken
		}
		i.CreatedAt, i.Body = l.cfg.Now(), body
		return nil
	})
	return err
}

// unshare ends a Share, if it is the owner's.
func (l *Library) unshare(ctx context.Context, owner string, f File) error {
	found, err := l.OwnerIn(ctx, f.Group, f.ID)
	if err == nil && found == owner {
		err = l.cfg.Items.Delete(ctx, shareKey(f.Group, f.ID))
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// share says to whom a file of a group belongs.
type share struct {
	Owner string `json:"owner"`
}

// shareKey is the key of a group's entry, which has no owner.
func shareKey(group, id string) shelf.Key {
	return shelf.Key{Kind: shelf.Shares, Parent: group, ID: id}
}

// OwnerIn returns the owner of a file of a group.
func (l *Library) OwnerIn(ctx context.Context, group, id string) (string, error) {
	i, err := l.cfg.Items.Item(ctx, shareKey(group, id))
	if err != nil {
		return "", err
	}
	var s share
	err = json.Unmarshal(i.Body, &s)
	return s.Owner, err
}

// Home returns the store in which a protocol keeps the files of an owner. It creates the store if there is
// none.
func (l *Library) Home(ctx context.Context, owner, protocol string) (Store, error) {
	sum := sha256.Sum256([]byte(owner))
	key := storeKey(owner, StorePrefix+protocol+"_"+hex.EncodeToString(sum[:12]))
	s, err := l.Store(ctx, owner, key.ID)
	if !errors.Is(err, ErrNotFound) {
		return s, err
	}
	if err := l.room(ctx, shelf.List{Kind: shelf.Stores, Owner: owner}, 1, MaxStores); err != nil {
		return s, err
	}
	return l.save(ctx, key, true, func(s *Store) {
		if s.CreatedAt.IsZero() {
			s.Name, s.CreatedAt, s.ActiveAt = protocol, l.cfg.Now(), l.cfg.Now().UTC()
		}
	})
}

// Await returns a file of a store when it has been read.
func (l *Library) Await(ctx context.Context, s Store, file string) (Member, error) {
	m, err := l.Member(ctx, s, file)
	if err != nil || m.State != InProgress {
		return m, err
	}
	for _, err := range l.cfg.Documents.Jobs().Watch(ctx, s.Owner, m.Job, time.Minute) {
		if err != nil && ctx.Err() == nil {
			return m, fmt.Errorf("wait until a file is read: %w", err)
		}
	}
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	return l.Member(ctx, s, file)
}

// Revisions returns the documents that were made from some files of a store. The error is ErrNotFound if one of
// the files is not in the store.
func (l *Library) Revisions(ctx context.Context, s Store, files []string) ([]int64, error) {
	revisions, err := l.cfg.Documents.UploadRevisions(ctx, s.scope())
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, file := range files {
		m, err := l.Member(ctx, s, file)
		if err != nil {
			return nil, err
		}
		all = append(all, revisions[m.Name]...)
	}
	return all, nil
}

// WithinFiles returns the documents of some files of a store, for searches.
func (l *Library) WithinFiles(ctx context.Context, s Store, files []string) (*retrieval.Revisions, error) {
	all, err := l.Revisions(ctx, s, files)
	return retrieval.NewRevisions(all), err
}
