package chat

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"
	"time"

	"parley/internal/lru"
)

// summaryAge is how long a summary is kept that no turn uses.
const summaryAge = time.Hour

// summaries keeps the summaries of conversations' beginnings that were used last. The key covers every message
// that a summary sums up, so that nobody finds one without knowing them. It is safe for concurrent use.
type summaries struct {
	now  func() time.Time
	kept *lru.Cache[summaryKey, storedSummary]
}

// summaryKey stands for who asks, where, and the first messages of a conversation.
type summaryKey [sha256.Size]byte

type storedSummary struct {
	text string
	used time.Time // last
}

func newSummaries(size int) *summaries {
	return &summaries{now: time.Now, kept: lru.New[summaryKey, storedSummary](size, nil)}
}

// longest returns the summary of the longest beginning of a conversation that has one, and how
// many messages it sums up. The i-th key stands for the first i+1 messages.
func (s *summaries) longest(keys []summaryKey) (text string, messages int) {
	for n := len(keys); n > 0; n-- {
		if stored, ok := s.kept.Get(keys[n-1]); ok && s.now().Sub(stored.used) <= summaryAge {
			s.put(keys[n-1], stored.text)
			return stored.text, n
		}
	}
	return "", 0
}

// put keeps a summary, and drops those that are too old or too many.
func (s *summaries) put(key summaryKey, text string) {
	now := s.now()
	s.kept.Put(key, storedSummary{text, now})
	s.kept.DropWhile(func(old storedSummary) bool { return now.Sub(old.used) > summaryAge })
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
