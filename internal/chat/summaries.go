package chat

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"
	"time"

	"parley/internal/lru"
)

// summaryAge is how long an unused summary is kept.
const summaryAge = time.Hour

// summaries caches summaries of the beginnings of conversations. The key covers every message that was
// summarized, so that only a caller who knows the messages finds the summary. It is safe for concurrent
// use.
type summaries struct {
	now  func() time.Time
	kept *lru.Cache[summaryKey, storedSummary]
}

// summaryKey identifies the caller, the settings and the first messages of a conversation.
type summaryKey [sha256.Size]byte

type storedSummary struct {
	text string
	used time.Time // time of the last use
}

func newSummaries(size int) *summaries {
	return &summaries{now: time.Now, kept: lru.New[summaryKey, storedSummary](size, nil)}
}

// longest returns the summary of the longest beginning of a conversation that has one, and the number of
// messages that it covers. keys[i] identifies the first i+1 messages.
func (s *summaries) longest(keys []summaryKey) (text string, messages int) {
	for n := len(keys); n > 0; n-- {
		if stored, ok := s.kept.Get(keys[n-1]); ok && s.now().Sub(stored.used) <= summaryAge {
			s.put(keys[n-1], stored.text)
			return stored.text, n
		}
	}
	return "", 0
}

// put stores a summary. It drops summaries that are too old, and the least recently used if there are too many.
func (s *summaries) put(key summaryKey, text string) {
	now := s.now()
	s.kept.Put(key, storedSummary{text, now})
	s.kept.DropWhile(func(old storedSummary) bool { return now.Sub(old.used) > summaryAge })
}

// prefixKeys returns the keys of all beginnings of the older messages, the shortest first.
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

// writeField writes a text with its length, so that adjacent fields cannot run together.
func writeField(h hash.Hash, s string) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
	h.Write(size[:])
	h.Write([]byte(s))
}
