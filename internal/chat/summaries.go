package chat

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"
	"sync"
	"time"
)

// summaryAge is how long a summary is kept that no turn uses.
const summaryAge = time.Hour

// summaries keeps the summaries of conversations' beginnings, those used last. A summary is found
// by all that it sums up, word for word, so that nobody can find one without knowing its messages.
// Its methods may be called concurrently.
type summaries struct {
	max int
	now func() time.Time

	mu    sync.Mutex
	byKey map[summaryKey]*list.Element
	used  *list.List // of *storedSummary, the one used last in front
}

// summaryKey stands for who asks, where, and the first messages of a conversation.
type summaryKey [sha256.Size]byte

type storedSummary struct {
	key  summaryKey
	text string
	at   time.Time // of its last use
}

func newSummaries(size int) *summaries {
	return &summaries{max: size, now: time.Now, byKey: map[summaryKey]*list.Element{}, used: list.New()}
}

// longest returns the summary of the longest beginning of a conversation that has one, and how
// many messages it sums up. The i-th key stands for the first i+1 messages.
func (s *summaries) longest(keys []summaryKey) (text string, messages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for n := len(keys); n > 0; n-- {
		e, ok := s.byKey[keys[n-1]]
		if !ok {
			continue
		}
		stored := e.Value.(*storedSummary)
		if now.Sub(stored.at) > summaryAge {
			continue
		}
		stored.at = now
		s.used.MoveToFront(e)
		return stored.text, n
	}
	return "", 0
}

// put keeps a summary, and drops those that are too old or too many.
func (s *summaries) put(key summaryKey, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if e, ok := s.byKey[key]; ok {
		*e.Value.(*storedSummary) = storedSummary{key, text, now}
		s.used.MoveToFront(e)
	} else {
		s.byKey[key] = s.used.PushFront(&storedSummary{key, text, now})
	}
	for e := s.used.Back(); e != nil; e = s.used.Back() {
		last := e.Value.(*storedSummary)
		if s.used.Len() <= s.max && now.Sub(last.at) <= summaryAge {
			return
		}
		s.used.Remove(e)
		delete(s.byKey, last.key)
	}
}

// prefixKeys returns a key for each beginning of the older messages.
func (t *turn) prefixKeys() []summaryKey {
	o := &t.req.Options
	var key summaryKey
	h := sha256.New()
	for _, s := range []string{t.req.Namespace, t.req.Principal.Subject, o.PromptDomain, t.summarizer.key, strconv.Itoa(t.summaryTokens())} {
		writeField(h, s)
	}
	h.Sum(key[:0])
	keys := make([]summaryKey, len(t.older))
	for i, m := range t.older {
		h.Reset()
		h.Write(key[:])
		writeField(h, string(m.Role))
		writeField(h, m.Text())
		h.Sum(key[:0])
		keys[i] = key
	}
	return keys
}

// writeField writes a text so that it cannot run over into the next one.
func writeField(h hash.Hash, s string) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
	h.Write(size[:])
	h.Write([]byte(s))
}
