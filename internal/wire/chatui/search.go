package chatui

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// Limits of a search in chats.
const (
	maxSearch      = 200      // bytes of the search text
	maxSearchWords = 10       // further words are ignored
	maxFound       = 50       // chats
	maxSearched    = 64 << 20 // bytes of messages that are searched, most recently updated chats first
	snippetBefore  = 50       // characters of a snippet before the first match
	snippetLength  = 180      // characters
)

// found is a chat that matches a search, with the text around the first match in its messages.
type found struct {
	chat    transcript.Chat
	message string // id of the message of the snippet
	snippet string // "" if only the title matches
}

// search handles GET /chat-history/search?q=&mode=. It returns the caller's chats whose title, or one of whose messages,
// contains every word of q regardless of case; the most recently updated come first.
func (h *Handler) search(r *wire.Request) ([]byte, error) {
	mode, q := r.URL.Query().Get("mode"), r.URL.Query().Get("q")
	if mode != "" && !isMode(mode) {
		return nil, wire.Invalidf(`"mode" must be "standard" or "multiAgent"`)
	}
	if len(q) > maxSearch || !utf8.ValidString(q) {
		return nil, wire.Invalidf(`"q" must be valid UTF-8 of %d bytes at most`, maxSearch)
	}
	words := strings.Fields(lower(q))
	words = words[:min(len(words), maxSearchWords)]
	if len(words) == 0 {
		return []byte("[]"), nil
	}
	all, err := h.find(r, mode, words)
	if err != nil {
		return nil, err
	}
	body := []byte{'['}
	for i := range all {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendChat(body, &all[i].chat)
		body = wire.AppendString(append(body[:len(body)-1], `,"messageId":`...), all[i].message)
		body = append(wire.AppendString(append(body, `,"snippet":`...), all[i].snippet), '}')
	}
	return append(body, ']'), nil
}

// find returns the chats that match all words, the most recently updated first. It searches titles, then messages.
func (h *Handler) find(r *wire.Request, mode string, words []string) ([]found, error) {
	chats, err := h.cfg.Store.Chats(r.Context(), h.scopeOf(r), transcript.List{Mode: mode})
	if err != nil {
		return nil, err
	}
	byID := map[string]*found{}
	for _, c := range chats {
		if len(byID) < maxFound && hasAll(lower(c.Title), words) {
			byID[c.ID] = &found{chat: c}
		}
	}
	seen, inMessages := 0, 0
	err = h.cfg.Store.Search(r.Context(), h.scopeOf(r), mode, plainWords(words), func(hit transcript.Hit) bool {
		f := byID[hit.Chat.ID]
		if f == nil || f.snippet == "" {
			if s := snippetOf(readFields(hit.Message.Body).content, words); s != "" {
				byID[hit.Chat.ID] = &found{hit.Chat, hit.Message.ID, s}
				inMessages++
			}
		}
		seen += len(hit.Message.Body)
		return inMessages < maxFound && seen < maxSearched
	})
	if err != nil {
		return nil, err
	}
	all := make([]found, 0, len(byID))
	for _, f := range byID {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(b.chat.UpdatedAt.Compare(a.chat.UpdatedAt), strings.Compare(b.chat.ID, a.chat.ID))
	})
	return all[:min(len(all), maxFound)], nil
}

// plainWords returns the words of ASCII letters and digits only, which are the same in JSON; Store.Search finds no others.
func plainWords(words []string) []string {
	var plain []string
	for _, w := range words {
		if strings.IndexFunc(w, func(r rune) bool { return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0 {
			plain = append(plain, w)
		}
	}
	return plain
}

// lower converts each character to lower case separately, so that positions counted in characters stay the same.
func lower(s string) string { return strings.Map(unicode.ToLower, s) }

func hasAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// snippetOf returns the text around the first match, as one line, or "" if a word is missing.
func snippetOf(content string, words []string) string {
	text := strings.Join(strings.Fields(chat.Seen(content)), " ")
	small := lower(text)
	if !hasAll(small, words) {
		return ""
	}
	first := len(small)
	for _, w := range words {
		first = min(first, strings.Index(small, w))
	}
	runes, at := []rune(text), utf8.RuneCountInString(small[:first])
	from := max(0, at-snippetBefore)
	for from > 0 && from < at && runes[from-1] != ' ' {
		from++
	}
	to := min(len(runes), from+snippetLength)
	s := string(runes[from:to])
	if from > 0 {
		s = "… " + s
	}
	if to < len(runes) {
		s += " …"
	}
	return s
}
