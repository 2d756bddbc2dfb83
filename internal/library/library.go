// Package library stores files for clients, and vector stores in which clients search them. A vector
// store is a namespace: files that are added to it are uploaded like any others (package documents) and
// read by a job. A file may have attributes in each store, by which searches can filter.
//
//	l := library.New(library.Config{Items: db.Shelf(), Documents: service})
//	file, err := l.AddFile(ctx, owner, "report.pdf", "assistants", body)
//	store, err := l.AddStore(ctx, owner, "Reports", nil)
//	members, err := l.Attach(ctx, store, []library.Attachment{{File: file.ID}}, "")
//
// Everything has an owner. Items of other owners are not found (ErrNotFound).
package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/upload"
	"parley/internal/ident"
	"parley/internal/shelf"
)

// Errors that callers distinguish, besides those of package documents.
var (
	ErrNotFound = shelf.ErrNotFound
	ErrTooMany  = errors.New("too many of them")
)

// The maximum numbers of an owner's items.
const (
	MaxFiles   = 10_000
	MaxStores  = 1_000
	MaxMembers = 10_000 // of one store
)

// Prefixes of ids.
const (
	filePrefix  = "file-"
	StorePrefix = "vs_"
	batchPrefix = "vsfb_"
)

// Items stores files, stores and their members durably. Implementations pass storetest.Shelf.
type Items interface {
	// Item returns an item, or shelf.ErrNotFound.
	Item(ctx context.Context, key shelf.Key) (shelf.Item, error)
	// Items lists items by their time and id. The error is shelf.ErrNotFound if After or Before does not
	// exist.
	Items(ctx context.Context, list shelf.List) ([]shelf.Item, error)
	// Count counts the items of a list by their states. It ignores Oldest, After, Before and Limit.
	Count(ctx context.Context, list shelf.List) (map[string]shelf.Tally, error)
	// Parents returns the ids of an owner's stores that contain a file, sorted.
	Parents(ctx context.Context, owner, file string) ([]string, error)
	// Save lets change edit the stored item, or fill a new one: then found is false and only the key is
	// set. If change fails, nothing is written and its error is returned.
	Save(ctx context.Context, key shelf.Key, change func(i *shelf.Item, found bool) error) (shelf.Item, error)
	// Delete deletes an item and its children, or returns shelf.ErrNotFound.
	Delete(ctx context.Context, key shelf.Key) error
}

// Config configures a Library. Items and Documents are required.
type Config struct {
	Items     Items
	Documents *documents.Service

	Now   func() time.Time // nil means time.Now
	NewID func() string    // nil means ident.New
}

// Library stores files and vector stores. It is safe for concurrent use.
type Library struct {
	cfg Config

	attaching  sync.Mutex             // held while files get their names in a store
	committing atomic.Pointer[string] // id of a job whose members are stored, but which may not be stored itself yet
}

// New returns a Library with the defaults of cfg filled in.
func New(cfg Config) *Library {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = ident.New
	}
	return &Library{cfg: cfg}
}

// File is a file of a client.
type File struct {
	ID        string    `json:"-"`
	Name      string    `json:"name"`
	Group     string    `json:"group,omitempty"`  // that finds the file too; see Share
	Expires   time.Time `json:"expires,omitzero"` // zero means never
	Purpose   string    `json:"-"`
	Size      int64     `json:"-"`
	CreatedAt time.Time `json:"-"`
}

func fileKey(owner, id string) shelf.Key {
	return shelf.Key{Kind: shelf.Files, Owner: owner, ID: id}
}

func fileOf(i shelf.Item) (f File, err error) {
	err = json.Unmarshal(i.Body, &f)
	f.ID, f.Purpose, f.Size, f.CreatedAt = i.ID, i.Group, i.Size, i.CreatedAt
	return f, err
}

// AddFile stores a file. The name must be a result of upload.Clean.
func (l *Library) AddFile(ctx context.Context, owner, name, purpose string, r io.Reader) (f File, err error) {
	return l.add(ctx, owner, File{ID: filePrefix + l.cfg.NewID(), Name: name, Purpose: purpose}, r)
}

// add stores a file with the fields of f that a client sets, and its id.
func (l *Library) add(ctx context.Context, owner string, f File, r io.Reader) (File, error) {
	if err := l.room(ctx, shelf.List{Kind: shelf.Files, Owner: owner}, 1, MaxFiles); err != nil {
		return f, err
	}
	size, err := l.cfg.Documents.Keep(ctx, owner, f.ID, r)
	if err != nil {
		return f, err
	}
	body, err := json.Marshal(f)
	if err == nil {
		var i shelf.Item
		i, err = l.cfg.Items.Save(ctx, fileKey(owner, f.ID), func(i *shelf.Item, _ bool) error {
			i.Group, i.Size, i.CreatedAt, i.Body = f.Purpose, size, l.cfg.Now(), body
			return nil
		})
		if err == nil {
			return fileOf(i)
		}
	}
	return f, errors.Join(err, l.cfg.Documents.Drop(owner, f.ID))
}

// FinishFile sets the purpose of a file, and how long it lives; 0 means for ever.
func (l *Library) FinishFile(ctx context.Context, owner, id, purpose string, lifetime time.Duration) (File, error) {
	key := fileKey(owner, id)
	if lifetime > 0 { // before the file says so: what has a deadline and does not expire stays
		if err := l.expireAt(ctx, key, l.cfg.Now().Add(lifetime)); err != nil {
			return File{}, err
		}
	}
	i, err := l.cfg.Items.Save(ctx, key, func(i *shelf.Item, found bool) error {
		if !found {
			return ErrNotFound
		}
		f, err := fileOf(*i)
		if err == nil && lifetime > 0 {
			f.Expires = i.CreatedAt.Add(lifetime).UTC()
			i.Body, err = json.Marshal(f)
		}
		i.Group = purpose
		return err
	})
	if err != nil {
		return File{}, err
	}
	return fileOf(i)
}

// room returns ErrTooMany if a list has no room for n more items.
func (l *Library) room(ctx context.Context, list shelf.List, n, most int) error {
	tallies, err := l.cfg.Items.Count(ctx, list)
	if err != nil {
		return err
	}
	for _, t := range tallies {
		n += t.N
	}
	if n > most {
		return ErrTooMany
	}
	return nil
}

// File returns a file that has not expired.
func (l *Library) File(ctx context.Context, owner, id string) (File, error) {
	f, err := l.storedFile(ctx, owner, id)
	if err == nil && l.isOver(f.Expires) {
		return File{}, ErrNotFound
	}
	return f, err
}

func (l *Library) storedFile(ctx context.Context, owner, id string) (File, error) {
	i, err := l.cfg.Items.Item(ctx, fileKey(owner, id))
	if err != nil {
		return File{}, err
	}
	return fileOf(i)
}

// Files lists files. It uses only the selecting and sorting fields of list.
func (l *Library) Files(ctx context.Context, owner string, list shelf.List) ([]File, error) {
	list.Kind, list.Owner = shelf.Files, owner
	return decoded(fileOf)(l.cfg.Items.Items(ctx, list))
}

// decoded returns a function that converts items to values.
func decoded[T any](of func(shelf.Item) (T, error)) func([]shelf.Item, error) ([]T, error) {
	return func(items []shelf.Item, err error) ([]T, error) {
		if err != nil {
			return nil, err
		}
		all := make([]T, len(items))
		for n, i := range items {
			if all[n], err = of(i); err != nil {
				return nil, fmt.Errorf("decode %s %s: %w", i.Kind, i.ID, err)
			}
		}
		return all, nil
	}
}

// Open opens the content of a file.
func (l *Library) Open(ctx context.Context, owner, id string) (File, io.ReadSeekCloser, error) {
	f, err := l.File(ctx, owner, id)
	if err != nil {
		return f, nil, err
	}
	r, err := l.cfg.Documents.Kept(owner, id)
	if errors.Is(err, documents.ErrNotFound) {
		err = ErrNotFound
	}
	return f, r, err
}

// DeleteFile deletes a file, and removes it from all stores.
func (l *Library) DeleteFile(ctx context.Context, owner, id string) error {
	f, err := l.File(ctx, owner, id)
	if err != nil {
		return err
	}
	return l.deleteFile(ctx, owner, f)
}

func (l *Library) deleteFile(ctx context.Context, owner string, f File) error {
	id := f.ID
	if f.Group != "" {
		if err := l.unshare(ctx, owner, f); err != nil {
			return err
		}
	}
	stores, err := l.cfg.Items.Parents(ctx, owner, id)
	if err != nil {
		return err
	}
	for _, store := range stores {
		if err := l.Detach(ctx, owner, store, id); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	if err := l.cfg.Documents.Drop(owner, id); err != nil {
		return err
	}
	return l.cfg.Items.Delete(ctx, fileKey(owner, id))
}

// Store is a vector store.
type Store struct {
	ID          string          `json:"-"` // also the name of its namespace
	Owner       string          `json:"-"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // an object; nil for none
	ActiveAt    time.Time       `json:"active_at"`          // of its last change, and of its last use if it expires
	Days        int             `json:"days,omitempty"`     // after which it expires if nobody uses it; 0 means never
	CreatedAt   time.Time       `json:"-"`
}

func (s Store) scope() upload.Scope { return upload.Scope{Namespace: s.ID, Owner: s.Owner} }

func storeKey(owner, id string) shelf.Key {
	return shelf.Key{Kind: shelf.Stores, Owner: owner, ID: id}
}

func storeOf(i shelf.Item) (s Store, err error) {
	err = json.Unmarshal(i.Body, &s)
	s.ID, s.Owner, s.CreatedAt = i.ID, i.Owner, i.CreatedAt
	return s, err
}

// AddStore creates an empty store. It uses only the fields of s that a client sets.
func (l *Library) AddStore(ctx context.Context, owner string, s Store) (Store, error) {
	if err := l.room(ctx, shelf.List{Kind: shelf.Stores, Owner: owner}, 1, MaxStores); err != nil {
		return s, err
	}
	s.CreatedAt = l.cfg.Now()
	s.ActiveAt = s.CreatedAt.UTC()
	key := storeKey(owner, StorePrefix+strings.ToLower(l.cfg.NewID()))
	if err := l.expireStore(ctx, key, s); err != nil {
		return s, err
	}
	return l.save(ctx, key, true, func(was *Store) { *was = s })
}

// expireStore makes Sweep look at a store when it may have expired.
func (l *Library) expireStore(ctx context.Context, key shelf.Key, s Store) error {
	if s.Days == 0 {
		return nil
	}
	return l.expireAt(ctx, key, s.ExpiresAt())
}

// ChangeStore changes the fields that a client may set, or the time of the last use. The change is made twice, the first
// time on a copy.
func (l *Library) ChangeStore(ctx context.Context, owner, id string, change func(*Store)) (Store, error) {
	s, err := l.Store(ctx, owner, id)
	if err != nil {
		return Store{}, err
	}
	if l.Expired(s) {
		return Store{}, ErrExpired
	}
	days, now := s.Days, l.cfg.Now().UTC()
	again := func(s *Store) {
		change(s)
		if s.Days != days {
			s.ActiveAt = now
		}
	}
	again(&s)
	if err := l.expireStore(ctx, storeKey(owner, id), s); err != nil {
		return Store{}, err
	}
	return l.save(ctx, storeKey(owner, id), false, again)
}

// save changes a stored store, or creates it if it may; otherwise the error is ErrNotFound.
func (l *Library) save(ctx context.Context, key shelf.Key, create bool, change func(*Store)) (s Store, err error) {
	i, err := l.cfg.Items.Save(ctx, key, func(i *shelf.Item, found bool) error {
		if !found && !create {
			return ErrNotFound // it was deleted meanwhile
		}
		if found {
			if s, err = storeOf(*i); err != nil {
				return err
			}
		}
		change(&s)
		i.CreatedAt = s.CreatedAt
		i.Body, err = json.Marshal(s)
		return err
	})
	if err != nil {
		return s, err
	}
	return storeOf(i)
}

// Store returns a store.
func (l *Library) Store(ctx context.Context, owner, id string) (Store, error) {
	i, err := l.cfg.Items.Item(ctx, storeKey(owner, id))
	if err != nil {
		return Store{}, err
	}
	return storeOf(i)
}

// Stores lists stores. It uses only the sorting fields of list.
func (l *Library) Stores(ctx context.Context, owner string, list shelf.List) ([]Store, error) {
	list.Kind, list.Owner = shelf.Stores, owner
	return decoded(storeOf)(l.cfg.Items.Items(ctx, list))
}

// IsStore reports whether a namespace has the name of a vector store. No other namespace should have
// such a name.
func IsStore(namespace string) bool { return strings.HasPrefix(namespace, StorePrefix) }

// Visible removes the vector stores of other owners from a list of namespaces.
func (l *Library) Visible(ctx context.Context, owner string, namespaces []string) ([]string, error) {
	if !slices.ContainsFunc(namespaces, IsStore) {
		return namespaces, nil
	}
	own := map[string]bool{}
	stores, err := l.cfg.Items.Items(ctx, shelf.List{Kind: shelf.Stores, Owner: owner})
	for _, i := range stores {
		s, broken := storeOf(i)
		own[i.ID] = broken == nil && !l.Expired(s)
	}
	return slices.DeleteFunc(slices.Clone(namespaces), func(name string) bool { return IsStore(name) && !own[name] }), err
}

// DeleteStore deletes a store with all its documents. The files stay.
func (l *Library) DeleteStore(ctx context.Context, owner, id string) error {
	l.attaching.Lock()
	defer l.attaching.Unlock()
	s, err := l.Store(ctx, owner, id)
	if err != nil {
		return err
	}
	if err := l.cfg.Documents.DeleteUploads(ctx, s.scope()); err != nil {
		return err
	}
	return l.cfg.Items.Delete(ctx, storeKey(owner, id))
}
