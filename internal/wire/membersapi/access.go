package membersapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Rights looks up who may see which documents.
type Rights interface {
	// Rules returns the rules of a namespace, sorted by path and owner.
	Rules(ctx context.Context, namespace string) ([]retrieval.Rule, error)
	// RightsOf returns who may see a document, or retrieval.ErrNotFound.
	RightsOf(ctx context.Context, namespace, name string) (retrieval.Ruled, error)
}

// Corpus changes who may see documents. Its methods return the number of documents that the rule decides over.
// retrieval.Corpus implements it.
type Corpus interface {
	PutRule(ctx context.Context, namespace string, r retrieval.Rule) (documents int, err error)
	DropRule(ctx context.Context, namespace, path, owner string) (documents int, err error)
}

// Limits of a rule.
const (
	maxNames = 1000
	maxName  = 256  // bytes of a user or group
	maxPath  = 1024 // bytes
)

// list is an access list in requests and responses.
type list struct {
	Users     []string `json:"users,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	Everybody string   `json:"everybody,omitempty"` // "public" or "signed_in"; excludes users and groups
}

func showList(l access.List) list {
	switch {
	case l.SignedIn:
		return list{Everybody: access.EverySignedIn}
	case !l.Restricted():
		return list{Everybody: access.Public}
	}
	return list{Users: l.Users, Groups: l.Groups}
}

// read validates a list and converts it. An empty list is an error, because it would admit everybody.
func (l list) read() (access.List, error) {
	named := len(l.Users)+len(l.Groups) > 0
	switch {
	case named == (l.Everybody != ""):
		return access.List{}, wire.Invalidf(`name users or groups, or set everybody to "public" or "signed_in"`)
	case l.Everybody != "":
		all, err := access.Everybody(l.Everybody)
		if err != nil {
			return access.List{}, wire.Invalidf("%s", err)
		}
		return *all, nil
	case len(l.Users)+len(l.Groups) > maxNames:
		return access.List{}, wire.Invalidf("a list can have at most %d users and groups", maxNames)
	}
	for _, name := range slices.Concat(l.Users, l.Groups) {
		if strings.TrimSpace(name) == "" || len(name) > maxName || isOdd(name) {
			return access.List{}, wire.Invalidf("the name of a user or group must have 1 to %d bytes and no control characters", maxName)
		}
	}
	return access.List{Users: l.Users, Groups: l.Groups}, nil
}

func isOdd(name string) bool {
	return !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl)
}

// ruleShown is a rule in requests and responses.
type ruleShown struct {
	Document *string `json:"document,omitempty"`
	Folder   *string `json:"folder,omitempty"`
	list
}

// showFolder returns the path of a folder without its trailing slash, except for "/", which is the whole namespace.
func showFolder(path string) *string {
	if path != retrieval.WholeNamespace {
		path = strings.TrimSuffix(path, "/")
	}
	return &path
}

func showRule(r retrieval.Rule) ruleShown {
	if r.IsFolder() {
		return ruleShown{Folder: showFolder(r.Path), list: showList(r.Access)}
	}
	return ruleShown{Document: &r.Path, list: showList(r.Access)}
}

// target returns a rule without access, with the path that a request names and, for a document, its owner. The error is
// errNoDocument if there is no such document.
func (h *Handler) target(ctx context.Context, namespace string, document, folder *string) (r retrieval.Rule, err error) {
	switch {
	case (document == nil) == (folder == nil):
		return r, wire.Invalidf("name either a document or a folder; the folder / is the whole namespace")
	case folder != nil:
		if r.Path = strings.Trim(*folder, "/") + "/"; *folder == "" || !isFolder(r.Path) {
			return r, wire.Invalidf("%.80q is not a folder: expected folder names separated by slashes, or /", *folder)
		}
		return r, nil
	case len(*document) > maxPath || isOdd(*document):
		return r, errNoDocument
	}
	found, err := h.rights.RightsOf(ctx, namespace, *document)
	if errors.Is(err, retrieval.ErrNotFound) {
		return r, errNoDocument
	}
	return retrieval.Rule{Path: found.Name, Owner: found.Owner}, err
}

var errNoDocument = &chat.Error{Kind: chat.NotFound, Msg: "There is no such document."}

func isFolder(path string) bool {
	if path == retrieval.WholeNamespace {
		return true
	}
	return len(path) <= maxPath && !isOdd(path) && !slices.ContainsFunc(strings.Split(strings.TrimSuffix(path, "/"), "/"), func(part string) bool {
		return part == "" || part == "." || part == ".."
	})
}

// readAccess handles GET. It returns the rules of the namespace, or the rights of one document.
func (h *Handler) readAccess(w http.ResponseWriter, r *wire.Request) error {
	namespace, err := namespace(r)
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Has("document") {
		return h.rightsOf(w, r, namespace, q.Get("document"))
	}
	rules, err := h.rights.Rules(r.Context(), namespace)
	if err != nil {
		return err
	}
	answer := struct {
		Rules []ruleShown `json:"rules"`
	}{make([]ruleShown, len(rules))}
	for i, rule := range rules {
		answer.Rules[i] = showRule(rule)
	}
	return wire.Reply(w, http.StatusOK, answer)
}

func (h *Handler) rightsOf(w http.ResponseWriter, r *wire.Request, namespace, name string) error {
	target, err := h.target(r.Context(), namespace, &name, nil)
	if err != nil {
		return err
	}
	found, err := h.rights.RightsOf(r.Context(), namespace, target.Path)
	if errors.Is(err, retrieval.ErrNotFound) {
		return errNoDocument
	}
	if err != nil {
		return err
	}
	answer := struct {
		Document string  `json:"document"`
		Owner    string  `json:"owner,omitempty"`
		Access   list    `json:"access"`
		From     string  `json:"from"`
		Folder   *string `json:"folder,omitempty"`
		Files    list    `json:"files"`
	}{found.Name, found.Owner, showList(found.Access), "files", nil, showList(found.Said)}
	if by := (retrieval.Rule{Path: found.By}); by.IsFolder() {
		answer.From, answer.Folder = "folder", showFolder(found.By)
	} else if found.By != "" {
		answer.From = "document"
	}
	return wire.Reply(w, http.StatusOK, answer)
}

// putAccess handles PUT.
func (h *Handler) putAccess(w http.ResponseWriter, r *wire.Request) error {
	namespace, err := namespace(r)
	if err != nil {
		return err
	}
	var body ruleShown
	if err := r.Decode(&body, "expected document or folder, and users and groups (lists of strings) or everybody"); err != nil {
		return err
	}
	wanted, err := body.read()
	if err != nil {
		return err
	}
	rule, err := h.target(r.Context(), namespace, body.Document, body.Folder)
	if err != nil {
		return err
	}
	if rule.Access = wanted; rule.Owner != "" && wanted.Restricted() && !wanted.SignedIn && !slices.Contains(wanted.Users, rule.Owner) {
		rule.Access.Users = append([]string{rule.Owner}, wanted.Users...) // the owner keeps access
	}
	r.Changed = fmt.Sprintf("rights of %q: %s", rule.Path, sentence(rule.Access))
	n, err := h.corpus.PutRule(r.Context(), namespace, rule)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, struct {
		ruleShown
		Documents int `json:"documents"`
	}{showRule(rule), n})
}

// sentence describes an access list for the audit log.
func sentence(l access.List) string {
	switch {
	case l.SignedIn:
		return "everybody signed in"
	case !l.Restricted():
		return "public"
	}
	return fmt.Sprintf("users %.500q, groups %.500q", l.Users, l.Groups)
}

// dropAccess handles DELETE.
func (h *Handler) dropAccess(w http.ResponseWriter, r *wire.Request) error {
	namespace, err := namespace(r)
	if err != nil {
		return err
	}
	query := func(name string) *string {
		if q := r.URL.Query(); q.Has(name) {
			value := q.Get(name)
			return &value
		}
		return nil
	}
	document := query("document")
	rule, err := h.target(r.Context(), namespace, document, query("folder"))
	if errors.Is(err, errNoDocument) && document != nil {
		rule, err = retrieval.Rule{Path: *document}, nil // the rule of a document without an owner outlives it
	}
	if err != nil {
		return err
	}
	r.Changed = fmt.Sprintf("rights of %q: as its files say", rule.Path)
	n, err := h.corpus.DropRule(r.Context(), namespace, rule.Path, rule.Owner)
	if errors.Is(err, retrieval.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no rule for this document or folder."}
	}
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, struct {
		Documents int `json:"documents"`
	}{n})
}
