package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/job"
	"parley/internal/shelf"
)

// The states of a file in a store, in the API's words.
const (
	InProgress = "in_progress"
	Completed  = "completed"
	Failed     = "failed"
	Cancelled  = "cancelled"
)

// Member is a file in a store.
type Member struct {
	File       string          `json:"-"` // id
	Store      string          `json:"-"` // id
	Batch      string          `json:"-"` // id; "" for a file that was added alone
	State      string          `json:"-"`
	Size       int64           `json:"-"`
	CreatedAt  time.Time       `json:"-"`
	Filename   string          `json:"filename"`             // the client's name for it
	Name       string          `json:"name"`                 // in the store, where names are unique
	Job        string          `json:"job"`                  // id of the job that reads it
	Attributes json.RawMessage `json:"attributes,omitempty"` // an object; nil for none
	Reason     string          `json:"reason,omitempty"`     // why it failed, from the list in docs/ingestion.md
	Detail     string          `json:"detail,omitempty"`     // the reason for people
}

func memberKey(owner, store, file string) shelf.Key {
	return shelf.Key{Kind: shelf.Members, Owner: owner, Parent: store, ID: file}
}

func memberOf(i shelf.Item) (m Member, err error) {
	err = json.Unmarshal(i.Body, &m)
	m.File, m.Store, m.Batch, m.State, m.Size, m.CreatedAt = i.ID, i.Parent, i.Group, i.State, i.Size, i.CreatedAt
	return m, err
}

// Attachment is a file to add to a store.
type Attachment struct {
	File       string // id
	Attributes json.RawMessage
}

// MissingError means that a file to add to a store does not exist.
type MissingError struct{ File string }

func (e *MissingError) Error() string { return "there is no file " + e.File }

// Attach adds files to a store, and one job to read them all. A file that is in the store already gets
// the new attributes, and is read again only if that failed before.
func (l *Library) Attach(ctx context.Context, s Store, files []Attachment, batch string) ([]Member, error) {
	l.attaching.Lock()
	defer l.attaching.Unlock()
	now, err := l.Store(ctx, s.Owner, s.ID) // it may have been deleted meanwhile
	if err == nil {
		err = l.Use(ctx, now)
	}
	if err != nil {
		return nil, err
	}
	if err := l.room(ctx, shelf.List{Kind: shelf.Members, Owner: s.Owner, Parent: s.ID}, len(files), MaxMembers); err != nil {
		return nil, err
	}
	upload := l.cfg.Documents.Begin(s.scope(), documents.Upload)
	members, err := l.stage(ctx, s, upload, files, batch)
	if err == nil && upload.Len() > 0 {
		err = l.commit(ctx, s, upload, members)
	}
	if err != nil || upload.Len() == 0 {
		upload.Discard()
	}
	return members, err
}

// stage adds files to an upload, and updates the attributes of those that are in the store already.
func (l *Library) stage(ctx context.Context, s Store, upload *documents.Batch, files []Attachment, batch string) ([]Member, error) {
	taken, err := l.names(ctx, s)
	if err != nil {
		return nil, err
	}
	members := make([]Member, 0, len(files))
	now := l.cfg.Now()
	for n, a := range files {
		f, err := l.File(ctx, s.Owner, a.File)
		if errors.Is(err, ErrNotFound) {
			return nil, &MissingError{a.File}
		}
		if err != nil {
			return nil, err
		}
		m, err := l.Member(ctx, s, f.ID)
		switch {
		case err == nil && (m.State == InProgress || m.State == Completed):
			if m, err = l.Describe(ctx, s, f.ID, a.Attributes); err != nil {
				return nil, err
			}
			members = append(members, m)
			continue
		case err == nil: // it is read again under its present name
		case errors.Is(err, ErrNotFound):
			m = Member{File: f.ID, Store: s.ID, Filename: f.Name, Name: free(f.Name, taken), Size: f.Size, CreatedAt: now.Add(time.Duration(n) * time.Microsecond)}
			taken[strings.ToLower(m.Name)] = true
		default:
			return nil, err
		}
		m.Batch, m.State, m.Job, m.Attributes, m.Reason, m.Detail = batch, InProgress, upload.ID(), a.Attributes, "", ""
		if err := l.copyInto(ctx, upload, s.Owner, m); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

func (l *Library) copyInto(ctx context.Context, upload *documents.Batch, owner string, m Member) error {
	_, r, err := l.Open(ctx, owner, m.File)
	if err != nil {
		return err
	}
	defer r.Close()
	return upload.Add(ctx, m.Name, r)
}

// names returns the names of the files in a store, in lower case.
func (l *Library) names(ctx context.Context, s Store) (map[string]bool, error) {
	members, err := l.every(ctx, s, shelf.List{})
	taken := map[string]bool{}
	for _, m := range members {
		taken[strings.ToLower(m.Name)] = true
	}
	return taken, err
}

// free returns name if it is not taken, or otherwise name with a number.
func free(name string, taken map[string]bool) string {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; taken[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s (%d)%s", stem, n, ext)
	}
	return name
}

// commit stores members before their job: a job without members would leave unknown documents.
func (l *Library) commit(ctx context.Context, s Store, upload *documents.Batch, members []Member) error {
	id := upload.ID()
	l.committing.Store(&id)
	defer l.committing.Store(nil)
	for _, m := range members {
		if m.Job != id {
			continue
		}
		if err := l.put(ctx, s, m); err != nil {
			return err
		}
	}
	if _, err := upload.Commit(ctx); err != nil {
		for _, m := range members {
			if m.Job == id {
				err = errors.Join(err, l.cfg.Items.Delete(context.WithoutCancel(ctx), memberKey(s.Owner, s.ID, m.File)))
			}
		}
		return err
	}
	_, err := l.save(ctx, storeKey(s.Owner, s.ID), false, func(s *Store) { s.ActiveAt = l.cfg.Now().UTC() })
	return err
}

func (l *Library) put(ctx context.Context, s Store, m Member) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a file of a store: %w", err)
	}
	_, err = l.cfg.Items.Save(ctx, memberKey(s.Owner, s.ID, m.File), func(i *shelf.Item, _ bool) error {
		i.Group, i.State, i.Size, i.CreatedAt, i.Body = m.Batch, m.State, m.Size, m.CreatedAt, body
		return nil
	})
	return err
}

// Describe replaces the attributes of a file in a store. Searches use them at once.
func (l *Library) Describe(ctx context.Context, s Store, file string, attributes json.RawMessage) (m Member, err error) {
	_, err = l.cfg.Items.Save(ctx, memberKey(s.Owner, s.ID, file), func(i *shelf.Item, found bool) error {
		if !found {
			return ErrNotFound
		}
		if m, err = memberOf(*i); err != nil {
			return err
		}
		m.Attributes = attributes
		i.Body, err = json.Marshal(m)
		return err
	})
	if err != nil {
		return m, err
	}
	return l.Member(ctx, s, file)
}

// Detach removes a file from a store, and deletes its documents there.
func (l *Library) Detach(ctx context.Context, owner, store, file string) error {
	i, err := l.cfg.Items.Item(ctx, memberKey(owner, store, file))
	if err != nil {
		return err
	}
	m, err := memberOf(i)
	if err != nil {
		return err
	}
	at := Store{ID: store, Owner: owner}.scope()
	if err := l.cfg.Documents.DeleteUpload(ctx, at, m.Name); err != nil && !errors.Is(err, documents.ErrNotFound) {
		return err
	}
	return l.cfg.Items.Delete(ctx, i.Key)
}

// Member returns a file of a store with its current state.
func (l *Library) Member(ctx context.Context, s Store, file string) (Member, error) {
	i, err := l.cfg.Items.Item(ctx, memberKey(s.Owner, s.ID, file))
	if err != nil {
		return Member{}, err
	}
	m, err := memberOf(i)
	if err != nil || m.State != InProgress {
		return m, err
	}
	settled, err := l.settle(ctx, s, []Member{m})
	if err != nil {
		return m, err
	}
	return settled[0], nil
}

// Members lists the files of a store with their current states. It uses only the selecting and sorting
// fields of list.
func (l *Library) Members(ctx context.Context, s Store, list shelf.List) ([]Member, error) {
	if err := l.Settle(ctx, s); err != nil {
		return nil, err
	}
	return l.every(ctx, s, list)
}

func (l *Library) every(ctx context.Context, s Store, list shelf.List) ([]Member, error) {
	list.Kind, list.Owner, list.Parent = shelf.Members, s.Owner, s.ID
	return decoded(memberOf)(l.cfg.Items.Items(ctx, list))
}

// Counts returns the numbers and sizes of the files of a store, or of one of its batches, by state.
func (l *Library) Counts(ctx context.Context, s Store, batch string) (map[string]shelf.Tally, error) {
	if err := l.Settle(ctx, s); err != nil {
		return nil, err
	}
	return l.cfg.Items.Count(ctx, shelf.List{Kind: shelf.Members, Owner: s.Owner, Parent: s.ID, Group: batch})
}

// Settle updates the states of files that are being read.
func (l *Library) Settle(ctx context.Context, s Store) error {
	waiting, err := l.every(ctx, s, shelf.List{State: InProgress})
	if err == nil {
		_, err = l.settle(ctx, s, waiting)
	}
	return err
}

// settle returns members with the results of their jobs, and stores changes.
func (l *Library) settle(ctx context.Context, s Store, members []Member) ([]Member, error) {
	jobs := map[string]map[string]job.File{}
	for n, m := range members {
		if id := l.committing.Load(); id != nil && *id == m.Job {
			continue
		}
		files, known := jobs[m.Job]
		if !known {
			var err error
			if files, err = l.outcomes(ctx, s, m.Job); err != nil {
				return nil, err
			}
			jobs[m.Job] = files
		}
		f, ok := files[m.Name]
		if !ok { // its job has been deleted
			f = job.File{State: job.FileFailed, Detail: "The result of reading it is unknown. Add it again."}
		}
		if m.State = stateOf(f.State); m.State == InProgress {
			continue
		}
		if m.State == Failed {
			m.Reason, m.Detail = f.Reason, f.Detail
		}
		members[n] = m
		if err := l.enter(ctx, s, m); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// enter stores the state of a file, unless another job reads it by now.
func (l *Library) enter(ctx context.Context, s Store, m Member) error {
	_, err := l.cfg.Items.Save(ctx, memberKey(s.Owner, s.ID, m.File), func(i *shelf.Item, found bool) error {
		if !found {
			return ErrNotFound
		}
		now, err := memberOf(*i)
		if err != nil || now.Job != m.Job {
			return err
		}
		now.Reason, now.Detail = m.Reason, m.Detail
		i.State = m.State
		i.Body, err = json.Marshal(now)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// outcomes returns the outcomes of the files of a job by name. If the job has been deleted, files with
// documents count as indexed.
func (l *Library) outcomes(ctx context.Context, s Store, id string) (map[string]job.File, error) {
	all := map[string]job.File{}
	j, err := l.cfg.Documents.Jobs().Job(ctx, s.Owner, id)
	if errors.Is(err, job.ErrNotFound) {
		revisions, err := l.cfg.Documents.UploadRevisions(ctx, s.scope())
		for name := range revisions {
			all[name] = job.File{State: job.FileIndexed}
		}
		return all, err
	}
	for _, f := range j.Files {
		if f.State == job.FileQueued && j.State.Final() {
			f.State = job.FileCancelled
		}
		all[f.Name] = f
	}
	return all, err
}

func stateOf(s job.FileState) string {
	switch s {
	case job.FileQueued:
		return InProgress
	case job.FileIndexed, job.FileUnchanged:
		return Completed
	case job.FileCancelled:
		return Cancelled
	}
	return Failed
}

// Batch is a group of files that were added to a store together.
type Batch struct {
	ID        string    `json:"-"`
	CreatedAt time.Time `json:"-"`
	Job       string    `json:"job"` // "" if nothing had to be read
}

func batchKey(s Store, id string) shelf.Key {
	return shelf.Key{Kind: shelf.Batches, Owner: s.Owner, Parent: s.ID, ID: id}
}

// AddBatch adds files to a store and records them as a batch.
func (l *Library) AddBatch(ctx context.Context, s Store, files []Attachment) (b Batch, err error) {
	b = Batch{ID: batchPrefix + l.cfg.NewID(), CreatedAt: l.cfg.Now()}
	members, err := l.Attach(ctx, s, files, b.ID)
	if err != nil {
		return b, err
	}
	for _, m := range members {
		if m.Batch == b.ID {
			b.Job = m.Job
		}
	}
	body, err := json.Marshal(b)
	if err == nil {
		_, err = l.cfg.Items.Save(ctx, batchKey(s, b.ID), func(i *shelf.Item, _ bool) error {
			i.CreatedAt, i.Body = b.CreatedAt, body
			return nil
		})
	}
	return b, err
}

// Batch returns a batch.
func (l *Library) Batch(ctx context.Context, s Store, id string) (b Batch, err error) {
	i, err := l.cfg.Items.Item(ctx, batchKey(s, id))
	if err != nil {
		return b, err
	}
	err = json.Unmarshal(i.Body, &b)
	b.ID, b.CreatedAt = i.ID, i.CreatedAt
	return b, err
}

// CancelBatch stops the reading of a batch. Documents that were read stay.
func (l *Library) CancelBatch(ctx context.Context, s Store, b Batch) error {
	if b.Job == "" {
		return nil
	}
	_, err := l.cfg.Documents.Jobs().Cancel(ctx, s.Owner, b.Job)
	if errors.Is(err, job.ErrState) || errors.Is(err, job.ErrNotFound) {
		return nil // it has ended
	}
	return err
}

// Finder finds the file of a store from which a document was made.
type Finder struct {
	library *Library
	store   Store
	byName  map[string]Member
	known   map[string]Member // by document id
}

// Finder returns a Finder for the results of one search. It is not safe for concurrent use.
func (l *Library) Finder(ctx context.Context, s Store) (*Finder, error) {
	members, err := l.every(ctx, s, shelf.List{})
	f := &Finder{library: l, store: s, byName: make(map[string]Member, len(members)), known: map[string]Member{}}
	for _, m := range members {
		f.byName[m.Name] = m
	}
	return f, err
}

// Find returns the file from which a document was made, or ErrNotFound.
func (f *Finder) Find(ctx context.Context, documentID string) (Member, error) {
	if m, ok := f.known[documentID]; ok {
		return m, nil
	}
	name, err := f.library.cfg.Documents.UploadOf(ctx, f.store.scope(), documentID)
	m, ok := f.byName[name]
	switch {
	case errors.Is(err, documents.ErrNotFound), err == nil && !ok:
		return m, ErrNotFound
	case err != nil:
		return m, err
	}
	f.known[documentID] = m
	return m, nil
}
