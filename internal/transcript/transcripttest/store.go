// Package transcripttest has an in-memory transcript.Store for tests.
package transcripttest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/transcript"
)

// Store keeps transcripts in memory. The zero value is ready to use.
type Store struct {
	// Err, if not nil, is returned by every call.
	Err error

	mu  sync.Mutex
	all map[key]transcript.Transcript
}

type key struct {
	scope transcript.Scope
	id    string
}

var _ transcript.Store = (*Store)(nil)

// Chats lists the scope's chats.
func (s *Store) Chats(ctx context.Context, scope transcript.Scope, list transcript.List) ([]transcript.Chat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx); err != nil {
		return nil, err
	}
	var chats []transcript.Chat
	for k, t := range s.all {
		if k.scope == scope && (list.Mode == "" || t.Mode == list.Mode) && list.Part.Has(t.Chat) && behind(t.Chat, list.Before) {
			chats = append(chats, t.Chat)
		}
	}
	slices.SortFunc(chats, func(a, b transcript.Chat) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(b.ID, a.ID))
	})
	if list.Limit > 0 && len(chats) > list.Limit {
		chats = chats[:list.Limit]
	}
	return chats, nil
}

func behind(c transcript.Chat, p *transcript.Place) bool {
	return p == nil || cmp.Or(p.UpdatedAt.Compare(c.UpdatedAt), strings.Compare(p.ID, c.ID)) > 0
}

// Search visits the messages of the scope's chats, whatever their words.
func (s *Store) Search(ctx context.Context, scope transcript.Scope, mode string, _ []string, visit func(transcript.Hit) bool) error {
	chats, err := s.Chats(ctx, scope, transcript.List{Mode: mode})
	if err != nil {
		return err
	}
	for _, c := range chats {
		t, err := s.Transcript(ctx, scope, c.ID)
		if err != nil {
			return err
		}
		for _, m := range t.Messages {
			if !visit(transcript.Hit{Chat: t.Chat, Message: m}) {
				return nil
			}
		}
	}
	return nil
}

// Transcript returns a chat with its messages.
func (s *Store) Transcript(ctx context.Context, scope transcript.Scope, id string) (transcript.Transcript, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx); err != nil {
		return transcript.Transcript{}, err
	}
	t, ok := s.all[key{scope, id}]
	if !ok {
		return transcript.Transcript{}, transcript.ErrNotFound
	}
	t.Messages = slices.Clone(t.Messages)
	return t, nil
}

// Linked returns the chat with a link.
func (s *Store) Linked(ctx context.Context, link string) (transcript.Scope, transcript.Transcript, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx); err != nil {
		return transcript.Scope{}, transcript.Transcript{}, err
	}
	for k, t := range s.all {
		if link != "" && t.Link.ID == link {
			t.Messages = slices.Clone(t.Messages)
			return k.scope, t, nil
		}
	}
	return transcript.Scope{}, transcript.Transcript{}, transcript.ErrNotFound
}

// Save changes a chat, or creates it.
func (s *Store) Save(ctx context.Context, scope transcript.Scope, id string,
	change func(*transcript.Transcript, bool) error) (transcript.Chat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx); err != nil {
		return transcript.Chat{}, err
	}
	t, found := s.all[key{scope, id}]
	t.ID, t.Messages = id, slices.Clone(t.Messages)
	if err := change(&t, found); err != nil {
		return transcript.Chat{}, err
	}
	t.ID, t.Count = id, len(t.Messages)
	t.CreatedAt, t.UpdatedAt, t.Link.At = trim(t.CreatedAt), trim(t.UpdatedAt), trim(t.Link.At)
	if s.all == nil {
		s.all = map[key]transcript.Transcript{}
	}
	s.all[key{scope, id}] = t
	return t.Chat, nil
}

// Unfile takes all chats of a scope out of a folder.
func (s *Store) Unfile(ctx context.Context, scope transcript.Scope, folder string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.all {
		if k.scope == scope && t.Folder == folder {
			t.Folder = ""
			s.all[k] = t
		}
	}
	return s.fault(ctx)
}

// Delete deletes a chat.
func (s *Store) Delete(ctx context.Context, scope transcript.Scope, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx); err != nil {
		return err
	}
	if _, ok := s.all[key{scope, id}]; !ok {
		return transcript.ErrNotFound
	}
	delete(s.all, key{scope, id})
	return nil
}

// Expire deletes old chats of a kind.
func (s *Store) Expire(ctx context.Context, kind transcript.Kind, before time.Time, limit int) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx); err != nil {
		return 0, err
	}
	for k, t := range s.all {
		if k.scope.Kind == kind && t.UpdatedAt.Before(before) && n < limit {
			delete(s.all, k)
			n++
		}
	}
	return n, nil
}

func (s *Store) fault(ctx context.Context) error {
	return cmp.Or(s.Err, ctx.Err())
}

func trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
