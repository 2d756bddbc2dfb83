package webapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/format"
	"parley/internal/ident"
	"parley/internal/lazyregexp"
	"parley/internal/retrieval"
	"parley/internal/text"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// Chats stores the chats of the web page. transcript.Store implements it.
type Chats interface {
	Transcript(ctx context.Context, scope transcript.Scope, id string) (transcript.Transcript, error)
	Linked(ctx context.Context, link string) (transcript.Scope, transcript.Transcript, error)
	Save(ctx context.Context, scope transcript.Scope, id string, change func(t *transcript.Transcript, found bool) error) (transcript.Chat, error)
	Unfile(ctx context.Context, scope transcript.Scope, folder string) error
}

var (
	errNoChat = &chat.Error{Kind: chat.NotFound, Msg: "There is no such chat."}
	errNoLink = &chat.Error{Kind: chat.NotFound, Msg: "This link leads to no conversation. It may have been revoked."}
)

// linkShown is the link of a chat in responses to its owner.
type linkShown struct {
	Link     string  `json:"link"`     // "" if the chat is not shared
	Messages int     `json:"messages"` // number of messages that the link shows
	Newer    int     `json:"newer"`    // number of later messages, which it does not show
	SharedAt *string `json:"shared_at"`
}

func showLink(c transcript.Chat) linkShown {
	l := c.Link
	if l.ID == "" {
		return linkShown{}
	}
	at := instant(l.At)
	return linkShown{l.ID, l.Messages, max(0, c.Count-l.Messages), &at}
}

func (h *Handler) ownChats(r *wire.Request) transcript.Scope {
	return transcript.Scope{Kind: transcript.ChatUI, Namespace: h.cfg.Namespace, Owner: r.Who.Subject}
}

// link handles GET /api/chats/{id}/link.
func (h *Handler) link(w http.ResponseWriter, r *wire.Request) error {
	t, err := h.cfg.Chats.Transcript(r.Context(), h.ownChats(r), r.PathValue("id"))
	if errors.Is(err, transcript.ErrNotFound) {
		return errNoChat
	}
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, showLink(t.Chat))
}

// share handles PUT /api/chats/{id}/link. It makes a link that shows all current messages, or updates the existing link to show
// them.
func (h *Handler) share(w http.ResponseWriter, r *wire.Request) error {
	return h.relink(w, r, "shared by a link", func(t *transcript.Transcript) {
		if t.Link.ID == "" {
			t.Link.ID = ident.New()
		}
		t.Link.Messages, t.Link.At = len(t.Messages), time.Now()
	})
}

// unshare handles DELETE /api/chats/{id}/link. The link will never work again.
func (h *Handler) unshare(w http.ResponseWriter, r *wire.Request) error {
	return h.relink(w, r, "link revoked", func(t *transcript.Transcript) { t.Link = transcript.Link{} })
}

func (h *Handler) relink(w http.ResponseWriter, r *wire.Request, what string, change func(*transcript.Transcript)) error {
	id := r.PathValue("id")
	c, err := h.cfg.Chats.Save(r.Context(), h.ownChats(r), id, func(t *transcript.Transcript, found bool) error {
		if !found {
			return errNoChat
		}
		change(t)
		return nil
	})
	if err != nil {
		return err
	}
	r.Changed = "chat " + id + ": " + what
	return wire.Reply(w, http.StatusOK, showLink(c))
}

// sharedChat is a chat as the readers of its link see it.
type sharedChat struct {
	Title    string          `json:"title"`
	SharedAt string          `json:"shared_at"`
	Messages []sharedMessage `json:"messages"`
}

// sharedMessage has the form of a stored message, but contains only what the reader may see.
type sharedMessage struct {
	ID        string        `json:"messageId"`
	Parent    string        `json:"parentId"`
	Role      string        `json:"role"`
	Content   string        `json:"content"`
	CreatedAt string        `json:"createdAt"`
	Answer    *sharedAnswer `json:"parley,omitempty"`
}

type sharedAnswer struct {
	Status    string          `json:"status"`
	Finish    string          `json:"finish"`
	Citations []citationShown `json:"citations"`
	LeftOut   bool            `json:"left_out"` // Content was shortened, because of a source that the reader may not see
}

// shared handles GET /api/shared/{link}.
func (h *Handler) shared(w http.ResponseWriter, r *wire.Request) error {
	const longest = 64
	link := r.PathValue("link")
	if len(link) > longest {
		return errNoLink
	}
	scope, t, err := h.cfg.Chats.Linked(r.Context(), link)
	if errors.Is(err, transcript.ErrNotFound) || err == nil && scope.Namespace != h.cfg.Namespace {
		return errNoLink
	}
	if err != nil {
		return err
	}
	out := sharedChat{Title: t.Title, SharedAt: instant(t.Link.At), Messages: []sharedMessage{}}
	sources := &sharedSources{h.cfg.Catalog, r.Who, h.cfg.Namespace, map[string]*sourceCache{}}
	before := ""
	for _, m := range shownPath(t.Messages[:min(t.Link.Messages, len(t.Messages))]) {
		s := sharedMessage{ID: m.ID, Parent: before, Role: m.Role, Content: m.Content, CreatedAt: m.CreatedAt}
		if m.Role == "assistant" {
			if err := h.shareAnswer(r.Context(), sources, m, &s); err != nil {
				return err
			}
		}
		out.Messages = append(out.Messages, s)
		before = m.ID
	}
	return sendTagged(w, r, out)
}

// storedMessage contains the fields of a stored message that are needed for sharing. A field of an unexpected type is
// treated as missing.
type storedMessage struct {
	ID        string  `json:"messageId"`
	OtherID   string  `json:"id"`
	Parent    *string `json:"parentId"`
	Role      string  `json:"role"`
	Content   string  `json:"content"`
	CreatedAt string  `json:"createdAt"`
	Sources   []struct {
		ID string `json:"id"`
	} `json:"sources"`
	Answer struct {
		Status    string          `json:"status"`
		Finish    string          `json:"finish"`
		Labels    []string        `json:"labels"`
		Citations []citationShown `json:"citations"`
	} `json:"parley"`
}

// shownPath returns the messages that the page shows when it opens a chat: the last message and its ancestors, oldest
// first. Other versions of questions and answers are not shared.
func shownPath(stored []transcript.Message) []storedMessage {
	var all []storedMessage
	at := map[string]int{}
	for _, raw := range stored {
		var m storedMessage
		if err := json.Unmarshal(raw.Body, &m); err != nil {
			if _, other := errors.AsType[*json.UnmarshalTypeError](err); !other {
				continue
			}
		}
		if m.ID == "" {
			m.ID = m.OtherID
		}
		if m.Role = strings.ToLower(m.Role); m.ID == "" || m.Role != "user" && m.Role != "assistant" {
			continue
		}
		if m.Parent == nil && len(all) > 0 {
			m.Parent = &all[len(all)-1].ID
		}
		at[m.ID] = len(all)
		all = append(all, m)
	}
	var path []storedMessage
	for i := len(all) - 1; i >= 0 && len(path) < len(all); { // clients may store a cycle
		path = append(path, all[i])
		next, ok := -1, false
		if p := all[i].Parent; p != nil {
			next, ok = at[*p]
		}
		if !ok {
			break
		}
		i = next
	}
	slices.Reverse(path)
	return path
}

// shareAnswer adds the part of an answer that the reader may see. It does not trust the sources that clients store: a reader
// sees a source only if they may see its document now, with the document's current names and URLs, and only words that the
// cited page contains.
func (h *Handler) shareAnswer(ctx context.Context, sources *sharedSources, m storedMessage, to *sharedMessage) error {
	to.Answer = &sharedAnswer{Status: m.Answer.Status, Finish: m.Answer.Finish, Citations: []citationShown{}}
	if s := to.Answer.Status; s != "completed" && s != "failed" && s != "" {
		to.Answer.Status = "cancelled" // includes answers that were still being written
	}
	labels := map[string]bool{} // whether the reader may see the source with the label
	for _, c := range m.Answer.Citations[:min(len(m.Answer.Citations), maxLabels)] {
		d, page, err := sources.find(ctx, &c)
		if err != nil {
			return err
		}
		if labels[c.Label] = d.ID != ""; labels[c.Label] {
			to.Answer.Citations = append(to.Answer.Citations, h.sharedCitation(len(to.Answer.Citations)+1, c, d, page))
		}
	}
	others := m.labels()
	if len(others)+len(m.Answer.Citations) > maxLabels {
		to.Answer.LeftOut, to.Content = true, ""
		return nil
	}
	for _, label := range others {
		if _, known := labels[label]; known {
			continue
		}
		name, number, _ := strings.Cut(label, "#page=")
		page, _ := strconv.Atoi(number)
		d, _, err := sources.find(ctx, &citationShown{Label: label, Name: name, Page: page})
		if err != nil {
			return err
		}
		labels[label] = d.ID != ""
	}
	for _, seen := range labels {
		to.Answer.LeftOut = to.Answer.LeftOut || !seen
	}
	if to.Answer.LeftOut {
		to.Content = onlySeen(m.Content, labels)
	}
	return nil
}

// maxLabels is the maximum number of labels in an answer, each of which costs a lookup in the store. The text of an answer with
// more is left out.
const maxLabels = 500

// pageLabel matches text in brackets that looks like the label of a page.
var pageLabel = lazyregexp.New(`\[([^\[\]\n]{1,300}#page=\d{1,9})\]`)

// labels returns the labels that an answer may contain besides those of its citations: an answer that was stopped has labels
// but no citations.
func (m *storedMessage) labels() []string {
	all := slices.Clone(m.Answer.Labels)
	for _, s := range m.Sources {
		all = append(all, s.ID)
	}
	for _, found := range pageLabel.FindAllStringSubmatch(m.Content, -1) {
		all = append(all, found[1])
	}
	return all
}

// sharedSources finds those sources of a shared chat that its reader may see.
type sharedSources struct {
	catalog  Catalog
	who      access.Principal
	fallback string // namespace of citations that name none
	caches   map[string]*sourceCache
}

// find returns the document and the page of a stored citation. Both are zero if the reader may not see the document. It sets
// c.Namespace if that is empty.
func (s *sharedSources) find(ctx context.Context, c *citationShown) (retrieval.Document, *retrieval.Page, error) {
	c.Namespace = cmp.Or(c.Namespace, s.fallback)
	cache := s.caches[c.Namespace]
	if cache == nil {
		cache = &sourceCache{catalog: s.catalog, filter: retrieval.Filter{Principal: s.who, Namespace: c.Namespace}}
		s.caches[c.Namespace] = cache
	}
	return cache.find(ctx, chat.Citation{Label: c.Label, DocumentID: c.DocumentID, Name: c.Name, Page: c.Page})
}

func (h *Handler) sharedCitation(n int, c citationShown, d retrieval.Document, page *retrieval.Page) citationShown {
	c.N, c.DocumentID, c.Name, c.Title, c.Namespace, c.Kind = n, d.ID, d.Name, d.Title, d.Namespace, format.ViewOf(d.MediaType)
	c.URL, c.ContentURL = webURL(d.URL), h.address(wire.ContentPath(c.Label), d.Namespace, nil)
	has := func(words string) bool { return page != nil && strings.Contains(page.Text, words) }
	if !has(c.Quote) {
		c.Quote, c.Start, c.End, c.Stale = "", 0, 0, true
	}
	if !has(c.Passage) {
		c.Passage = ""
	}
	c.Spans = slices.Clone(c.Spans)
	for i := range c.Spans {
		if s := &c.Spans[i]; !has(s.Quote) {
			s.Quote, s.Start, s.End, s.Stale = "", 0, 0, true
		}
	}
	c.Spans = wire.ListOf(c.Spans)
	return c
}

// sentenceEnds are the characters that end a sentence.
const sentenceEnds = ".!?…。．｡！？؟۔।"

// lastSentence returns the last sentence of s with the space before it. text.Sentences knows sentence ends without a space, as
// in Chinese. Less than the sentence is safe, more is not: a full stop followed by a space always ends a sentence too, so the
// words up to an abbreviation are lost.
func lastSentence(s string) string {
	if all := text.Sentences(s); len(all) > 1 {
		s = s[all[len(all)-2].End:]
	}
	for end := len(s); ; {
		at := strings.LastIndexAny(s[:end], " \t")
		if at < 0 {
			return s
		}
		before := strings.TrimRight(s[:at], " \t")
		if strings.ContainsRune(sentenceEnds, lastRune(before)) {
			return s[at:]
		}
		end = len(before)
	}
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// onlySeen removes the parts of an answer that may come from sources its reader may not see. It keeps, of each line, only
// sentences that end with labels, all of them of sources that the reader may see.
func onlySeen(answer string, labels map[string]bool) string {
	var kept []string
	whole := true // a new sentence begins
	for line := range strings.Lines(answer) {
		var of string
		whole = whole || startsBlock.MatchString(line)
		if of, whole = seenOf(line, whole, labels); of != "" {
			kept = append(kept, strings.TrimSpace(of))
		}
	}
	return strings.Join(kept, "\n\n")
}

// startsBlock matches lines that do not continue the sentence of the line before.
var startsBlock = lazyregexp.New(`^\s*(?:$|[-*+>|#]|\d+[.)]\s)`)

// seenOf is onlySeen for a line. whole says whether a new sentence begins with the line; the result says so of the next line.
func seenOf(line string, whole bool, labels map[string]bool) (kept string, next bool) {
	var b strings.Builder
	from, first, seen := 0, -1, true // first: the first label after from
	for at := 0; at < len(line); {
		label, allowed := labelAt(line[at:], labels)
		if label == "" {
			at++
			continue
		}
		if first < 0 {
			first = at
		}
		seen = seen && allowed
		end := at + len(label) + len("[]")
		at = end
		if follows, _ := labelAt(strings.TrimLeft(line[end:], " ,;"), labels); follows != "" {
			continue // several labels follow the same words
		}
		stop := len(line[end:]) - len(strings.TrimLeft(line[end:], sentenceEnds))
		if seen {
			sentence := lastSentence(line[from:first])
			if seen = whole || len(sentence) < first-from && isBalanced(sentence); seen {
				b.WriteString(line[first-len(sentence) : end+stop])
			}
		}
		whole = seen || stop > 0
		end += stop
		from, at, first, seen = end, end, -1, true
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		whole = strings.ContainsRune(sentenceEnds, lastRune(rest))
	}
	return b.String(), whole
}

// isBalanced reports whether the brackets and quotation marks of a text are in pairs. A sentence that is not may be the end of
// a longer one.
func isBalanced(s string) bool {
	var open []rune // the closing marks that are due
	for _, r := range s {
		if n := len(open); n > 0 && r == open[n-1] {
			open = open[:n-1]
			continue
		}
		if closing, ok := pairs[r]; ok {
			open = append(open, closing)
		} else if strings.ContainsRune(")]}）】〉》”»」』", r) {
			return false
		}
	}
	return len(open) == 0
}

// pairs are the opening brackets and quotation marks with the closing ones.
var pairs = map[rune]rune{'(': ')', '[': ']', '{': '}', '（': '）', '【': '】', '〈': '〉', '《': '》', '“': '”', '„': '“', '«': '»', '「': '」', '『': '』', '"': '"'}

// labelAt returns the longest label in brackets at the beginning of a text, or "", and whether the reader may see its source.
func labelAt(text string, labels map[string]bool) (label string, seen bool) {
	if !strings.HasPrefix(text, "[") {
		return "", false
	}
	for l := range labels {
		if len(l) > len(label) && strings.HasPrefix(text[1:], l+"]") {
			label = l
		}
	}
	return label, labels[label]
}
