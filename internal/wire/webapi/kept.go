package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/ident"
	"parley/internal/shelf"
	"parley/internal/wire"
)

// Shelf stores users' small items, such as prompts. store.Shelf implements it.
type Shelf interface {
	Items(ctx context.Context, list shelf.List) ([]shelf.Item, error)
	Save(ctx context.Context, key shelf.Key, change func(*shelf.Item, bool) error) (shelf.Item, error)
	Delete(ctx context.Context, key shelf.Key) error
}

// maxKept is the maximum number of items of one kind that an owner may keep.
const maxKept = 200

// kept is a kind of item that users keep on the server. An item is one text, which only its owner can see.
type kept struct {
	kind    shelf.Kind // also its name in messages
	path    string
	member  string // name of the text in JSON
	longest int    // maximum length in characters
	lines   bool   // the text may have several lines
	// removed is called after an item has been deleted. Optional.
	removed func(r *wire.Request, id string) error
}

// kept returns the kinds of items.
func (h *Handler) kept() []kept {
	return []kept{
		{kind: shelf.Prompts, path: "/api/prompts", member: "text", longest: 4000, lines: true},
		{kind: shelf.Folders, path: "/api/folders", member: "name", longest: 100, removed: func(r *wire.Request, id string) error {
			return h.cfg.Chats.Unfile(r.Context(), h.ownChats(r), id)
		}},
	}
}

// routes returns the routes of a kind.
func (k kept) routes(h *Handler) []wire.Route {
	read := wire.Route{Right: wire.Ask, Fail: wire.PlainError}
	put := read
	put.Body = wire.JSON
	bind := func(handle func(kept, *Handler, http.ResponseWriter, *wire.Request) error) func(http.ResponseWriter, *wire.Request) error {
		return func(w http.ResponseWriter, r *wire.Request) error { return handle(k, h, w, r) }
	}
	return []wire.Route{
		read.At("GET "+k.path, bind(kept.list)),
		put.At("POST "+k.path, bind(kept.add)),
		put.At("PUT "+k.path+"/{id}", bind(kept.change)),
		read.At("DELETE "+k.path+"/{id}", bind(kept.remove)),
	}
}

func (k kept) missing() error {
	return &chat.Error{Kind: chat.NotFound, Msg: "There is no such " + string(k.kind) + "."}
}

func (k kept) key(r *wire.Request) shelf.Key {
	return shelf.Key{Kind: k.kind, Owner: r.Who.Subject, ID: r.PathValue("id")}
}

// shown returns an item in the form for responses.
func (k kept) shown(i shelf.Item) map[string]string { // not a struct: the name of one member depends on the kind
	var text string
	_ = json.Unmarshal(i.Body, &text) // cannot fail: textOf has encoded it
	return map[string]string{"id": i.ID, k.member: text}
}

// list handles GET /api/prompts and /api/folders, newest first.
func (k kept) list(h *Handler, w http.ResponseWriter, r *wire.Request) error {
	items, err := h.cfg.Shelf.Items(r.Context(), shelf.List{Kind: k.kind, Owner: r.Who.Subject})
	if err != nil {
		return fmt.Errorf("list %ss: %w", k.kind, err)
	}
	out := make([]map[string]string, len(items))
	for i, item := range items {
		out[i] = k.shown(item)
	}
	return sendTagged(w, r, out)
}

// textOf reads the text from the body of a request, and returns it as JSON.
func (k kept) textOf(r *wire.Request) (body []byte, err error) {
	object, err := r.Object()
	if err != nil {
		return nil, err
	}
	v, _ := object.Get(k.member)
	text, ok := v.Text()
	text = strings.TrimSpace(chat.Seen(text))
	if !k.lines {
		text = strings.Join(strings.Fields(text), " ")
	}
	if !ok || text == "" || utf8.RuneCountInString(text) > k.longest {
		return nil, wire.Invalidf("%q must be a string of 1 to %d characters", k.member, k.longest)
	}
	return json.Marshal(text)
}

// add handles POST. If the owner already has an equal item, add returns that, so that a request may be repeated. Concurrent equal
// requests create only one item, unless they reach different replicas.
func (k kept) add(h *Handler, w http.ResponseWriter, r *wire.Request) error {
	body, err := k.textOf(r)
	if err != nil {
		return err
	}
	h.keeping.Lock()
	defer h.keeping.Unlock()
	all := shelf.List{Kind: k.kind, Owner: r.Who.Subject}
	items, err := h.cfg.Shelf.Items(r.Context(), all)
	if err != nil {
		return fmt.Errorf("list %ss: %w", k.kind, err)
	}
	for _, item := range items {
		if string(item.Body) == string(body) {
			return wire.Reply(w, http.StatusOK, k.shown(item))
		}
	}
	if len(items) >= maxKept {
		return k.full()
	}
	key := k.key(r)
	key.ID = ident.New()
	item, err := h.cfg.Shelf.Save(r.Context(), key, func(i *shelf.Item, _ bool) error {
		i.CreatedAt, i.Body = time.Now(), body
		return nil
	})
	if err == nil {
		items, err = h.cfg.Shelf.Items(r.Context(), all)
	}
	if err == nil && len(items) > maxKept { // other replicas have added items in the meantime
		if err = h.cfg.Shelf.Delete(r.Context(), key); err == nil {
			return k.full()
		}
	}
	if err != nil {
		return fmt.Errorf("keep a %s: %w", k.kind, err)
	}
	return wire.Reply(w, http.StatusCreated, k.shown(item))
}

func (k kept) full() error {
	return &chat.Error{Kind: chat.Conflict, Msg: fmt.Sprintf("You have reached the limit of %d %ss. Please delete one first.", maxKept, k.kind)}
}

// change handles PUT.
func (k kept) change(h *Handler, w http.ResponseWriter, r *wire.Request) error {
	body, err := k.textOf(r)
	if err != nil {
		return err
	}
	item, err := h.cfg.Shelf.Save(r.Context(), k.key(r), func(i *shelf.Item, found bool) error {
		if !found {
			return k.missing()
		}
		i.Body = body
		return nil
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, k.shown(item))
}

// remove handles DELETE.
func (k kept) remove(h *Handler, w http.ResponseWriter, r *wire.Request) error {
	key := k.key(r)
	err := h.cfg.Shelf.Delete(r.Context(), key)
	if errors.Is(err, shelf.ErrNotFound) {
		return k.missing()
	}
	if err == nil && k.removed != nil {
		err = k.removed(r, key.ID)
	}
	if err != nil {
		return fmt.Errorf("delete a %s: %w", k.kind, err)
	}
	return wire.Reply(w, http.StatusOK, struct {
		Message string `json:"message"`
	}{"The " + string(k.kind) + " is deleted."})
}
