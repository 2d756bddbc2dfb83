// Package membersapi manages the members of namespaces, as `parley members` does on the command line, who may see their
// documents, and their instructions for models.
//
//	GET    /api/namespaces/{name}/members                lists the members
//	PUT    /api/namespaces/{name}/members                adds a member, or changes its role
//	DELETE /api/namespaces/{name}/members?user=|group=   removes a member
//	DELETE /api/namespaces/{name}/members?all=true       opens the namespace to everybody, for administrators
//	GET    /api/namespaces/{name}/access                 lists the rules that say who may see documents and folders
//	GET    /api/namespaces/{name}/access?document=       says who may see a document, and why
//	PUT    /api/namespaces/{name}/access                 sets a rule
//	DELETE /api/namespaces/{name}/access?document=|folder=  removes a rule, so that the next rule or the files decide
//	GET    /api/namespaces/{name}/instructions           returns the instructions, to everyone who may ask the namespace
//	PUT    /api/namespaces/{name}/instructions           changes the instructions
package membersapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/auth/roster"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Store stores the members of namespaces.
type Store interface {
	// All returns the namespaces that only members may use, and all members.
	All(ctx context.Context) (closed []string, all []access.Member, err error)
	// Put adds a member, or changes a member's role. From then on only members may use the namespace.
	Put(ctx context.Context, m access.Member, at time.Time) error
	// Remove removes a member, or returns roster.ErrNotFound. The namespace remains closed to others, even without members.
	Remove(ctx context.Context, m access.Member) error
	// Open removes all members of a namespace, so that everybody may use it again, or returns roster.ErrNotFound.
	Open(ctx context.Context, namespace string) error
}

// Handler handles the routes.
type Handler struct {
	store  Store
	book   *roster.Book
	rights Rights
	corpus Corpus

	instructions Instructions
}

// New returns a Handler. After each change of members it makes book read them again. book may be nil.
func New(store Store, book *roster.Book, rights Rights, corpus Corpus, instructions Instructions) *Handler {
	return &Handler{store, book, rights, corpus, instructions}
}

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	rt := wire.Route{Right: wire.Manage, Fail: wire.PlainError}
	put, ask, instruct := rt, rt, rt
	put.Body, ask.Right = wire.JSON, wire.Ask
	instruct.Body, instruct.Right = wire.JSON, wire.Instruct
	const path, access, instructions = " /api/namespaces/{name}/members", " /api/namespaces/{name}/access", " /api/namespaces/{name}/instructions"
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: []wire.Route{
		rt.At("GET"+path, h.list),
		put.At("PUT"+path, h.put),
		rt.At("DELETE"+path, h.remove),
		rt.At("GET"+access, h.readAccess),
		put.At("PUT"+access, h.putAccess),
		rt.At("DELETE"+access, h.dropAccess),
		ask.At("GET"+instructions, h.readInstructions),
		instruct.At("PUT"+instructions, h.putInstructions),
	}}
}

// shown is a member in requests and responses: a user or a group.
type shown struct {
	User  *string     `json:"user,omitempty"`
	Group *string     `json:"group,omitempty"`
	Role  access.Role `json:"role"`
}

func show(m access.Member) shown {
	if m.Group {
		return shown{Group: &m.Name, Role: m.Role}
	}
	return shown{User: &m.Name, Role: m.Role}
}

// namespace returns the namespace in the path of a request, if the caller may manage its members. It treats a namespace that
// the caller may not use as missing.
func namespace(r *wire.Request) (string, error) {
	name := r.PathValue("name")
	if err := CheckNamespace(name); err != nil || !r.Who.MayUse(name) {
		return "", errNoNamespace
	}
	if !r.Who.MayManage(name) {
		return "", &chat.Error{Kind: chat.Forbidden, Msg: "Only an owner of the namespace or an administrator may see and change its members and rights."}
	}
	return name, nil
}

var errNoNamespace = &chat.Error{Kind: chat.NotFound, Msg: "There is no such namespace."}

// CheckNamespace returns an error if a namespace of that name cannot have members. Vector stores belong to their creators.
func CheckNamespace(name string) error {
	if strings.HasPrefix(name, storePrefix) {
		return errors.New("a vector store has no members: it belongs to its creator")
	}
	return retrieval.CheckNamespace(name)
}

// storePrefix is the prefix of the namespaces of vector stores. It equals library.StorePrefix.
const storePrefix = "vs_"

// list handles GET.
func (h *Handler) list(w http.ResponseWriter, r *wire.Request) error {
	name, err := namespace(r)
	if err != nil {
		return err
	}
	closed, all, err := h.store.All(r.Context())
	if err != nil {
		return err
	}
	answer := struct {
		Open    bool    `json:"open"`
		Members []shown `json:"members"`
	}{Open: true, Members: []shown{}}
	for _, c := range closed {
		answer.Open = answer.Open && c != name
	}
	for _, m := range all {
		if m.Namespace == name {
			answer.Members = append(answer.Members, show(m))
		}
	}
	return wire.Reply(w, http.StatusOK, answer)
}

// put handles PUT.
func (h *Handler) put(w http.ResponseWriter, r *wire.Request) error {
	name, err := namespace(r)
	if err != nil {
		return err
	}
	var body shown
	const expected = "expected role (reader, editor or owner), and either user or group"
	if err := r.Decode(&body, expected); err != nil {
		return err
	}
	if (body.User == nil) == (body.Group == nil) {
		return wire.Invalidf(expected)
	}
	m := access.Member{Namespace: name, Role: body.Role}
	if m.Group = body.Group != nil; m.Group {
		m.Name = *body.Group
	} else {
		m.Name = *body.User
	}
	if err := roster.Check(m); err != nil {
		return wire.Invalidf("%s", err)
	}
	r.Changed = fmt.Sprintf("%s: %s", Name(m), m.Role)
	if err := h.store.Put(r.Context(), m, time.Now()); err != nil {
		return err
	}
	h.forget()
	return wire.Reply(w, http.StatusOK, show(m))
}

// Name returns a member's name for people, with its kind.
func Name(m access.Member) string {
	if m.Group {
		return "group " + m.Name
	}
	return "user " + m.Name
}

// forget makes this process see a change at once.
func (h *Handler) forget() {
	if h.book != nil {
		h.book.Forget()
	}
}

// remove handles DELETE.
func (h *Handler) remove(w http.ResponseWriter, r *wire.Request) error {
	name, err := namespace(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	user, group, all := q.Get("user"), q.Get("group"), q.Get("all") == "true"
	m := access.Member{Namespace: name, Name: user + group, Group: group != ""}
	switch {
	case all && user+group == "":
		if !r.Who.Administers() {
			return &chat.Error{Kind: chat.Forbidden, Msg: "Only an administrator of all namespaces may open a namespace to everybody."}
		}
		r.Changed = "opened to everybody"
		err = h.store.Open(r.Context(), name)
	case all || (user == "") == (group == ""):
		return wire.Invalidf("name a member with either user or group; all=true alone opens the namespace to everybody")
	default:
		r.Changed = "removed " + Name(m)
		err = h.store.Remove(r.Context(), m)
	}
	if errors.Is(err, roster.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such member."}
	}
	if err != nil {
		return err
	}
	h.forget()
	return wire.Reply(w, http.StatusOK, struct {
		Message string `json:"message"`
	}{"Done."})
}
