// Package source is the table of the kinds of places where documents live, and reads those that are reached over a
// network: each lists its objects with a version that changes with their content, and opens one of them.
//
// Everything that depends on the kind of a source reads Table: which addresses there are, how they are opened, and the
// documentation. A new kind is a row of Table and a file with the function that opens it.
//
//	a, err := source.Parse("s3://handbook/public")
//	s, err := a.Open(ctx, source.Options{Account: source.Account{User: key, Secret: secret}})
//	for object, err := range s.Objects(ctx) { … }
//
// Secrets are in Account only: an address with a password is refused, and no error of this package holds an address
// with its query, since that may be a signature.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is a kind of sources.
type Kind struct {
	Name    string   // as people call it: "S3 bucket"
	Schemes []string // of its addresses; none for folders
	Address string   // the form of its addresses, for docs/ingestion.md
	Account string   // what the fields of its Account are, for the same table
	Changes string   // how it is known what has changed
	Limits  string   // what is not read
	Rights  string   // who may see its documents with source_rights, or why that is not possible; for the same table

	hasRights bool // its sources say who may read each object

	// open returns a source. Nil: package ingest reads the kind itself.
	open func(ctx context.Context, at *url.URL, o Options) (Source, error)
}

// IsRemote reports whether this package reads sources of the kind.
func (k *Kind) IsRemote() bool { return k.open != nil }

// HasRights reports whether sources of the kind say who may read each object.
func (k *Kind) HasRights() bool { return k.hasRights }

// Source is an open source. Its methods may be called concurrently, except Close, which ends it.
type Source interface {
	// Objects lists the objects that may be documents. An error is terminal, unless it is a *HiddenError. It can be
	// ranged once.
	Objects(ctx context.Context) iter.Seq2[Object, error]
	// Open returns the content of an object. It ends with an error when it takes too long.
	Open(ctx context.Context, o Object) (io.ReadCloser, error)
	Close() error
}

// Object describes a file of a source before the file is read.
type Object struct {
	Path    string  // relative to the source, "/"-separated; see CheckPath
	Version string  // as long as it is the same, so is the content
	Size    int64   // -1 if unknown; a source may be wrong
	Link    bool    // a symbolic link, which cannot be opened
	Rights  *Rights // who may read it, with Options.Rights; else nil. Objects may share it
	key     string  // how the source names it
	seen    string  // state when listed; Open refuses any other, so that content is never newer than Rights. "": not checked
}

// ErrTooLarge is the error of Open for an object that the server leaves out because of Options.MaxBytes.
var ErrTooLarge = errors.New("the object is too large")

// changedError says that an object has changed since it was listed. Its rights may have changed too.
type changedError struct{}

func (changedError) Error() string {
	return "it has changed since its rights were listed; the next run reads it"
}
func (changedError) Is(target error) bool { return target == ErrRefused }

// HiddenError says that what is at or below a path could not be listed, while the rest was.
type HiddenError struct {
	Path string
	Err  error
}

func (e *HiddenError) Error() string { return e.Err.Error() }
func (e *HiddenError) Unwrap() error { return e.Err }

// Account holds the credentials with which a source is opened. They are never stored, and no text contains them except a request.
type Account struct {
	User       string // or the id of a key
	Secret     string // password, token or key
	Session    string // token of a temporary key of S3
	KeyFile    string // private key for SSH
	KnownHosts string // file with the keys of SSH hosts; "" for ~/.ssh/known_hosts
	Endpoint   string // of a service other than the usual one
	Region     string
}

// Options are how a source is opened.
type Options struct {
	Account
	Cache    string // folder for what a source keeps between runs; it may be emptied at any time
	MaxBytes int64  // the largest object that is read; limits how long reading may take
	Rights   bool   // ask who may read each object; only for a Kind that HasRights
	// Reads reports whether an object of this path and size might be read. A source need not ask for the rights of others.
	// Nil: all might be read.
	Reads func(path string, size int64) bool
}

// AddressError says that an address does not name a source.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return e.Reason }

// Address names a source. It holds no secret.
type Address struct {
	Kind *Kind
	url  *url.URL
}

// String returns the address in the form under which it is stored.
func (a Address) String() string { return a.url.String() }

// KindOf returns the kind of source that an argument names by its scheme. A text without "://" is a path. It is nil for
// an unknown scheme.
func KindOf(text string) *Kind {
	scheme, _, ok := strings.Cut(text, "://")
	for i := range Table {
		k := &Table[i]
		if !ok && len(k.Schemes) == 0 || ok && slices.Contains(k.Schemes, strings.ToLower(scheme)) {
			return k
		}
	}
	return nil
}

// IsRemote reports whether a text is the address of a source that this package reads.
func IsRemote(text string) bool {
	k := KindOf(text)
	return k != nil && k.IsRemote()
}

// Parse reads the address of a remote source. The error is an *AddressError, which does not quote the address: it may
// hold a password.
func Parse(text string) (Address, error) {
	bad := func(format string, args ...any) (Address, error) {
		return Address{}, &AddressError{fmt.Sprintf(format, args...)}
	}
	kind := KindOf(text)
	if kind == nil || !kind.IsRemote() {
		return bad("no source has an address that begins like this; there are %s", strings.Join(schemes(), ", "))
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return bad("it is not a valid address; expected %s", kind.Address)
	case u.Host == "":
		return bad("it names no host; expected %s", kind.Address)
	case u.Fragment != "":
		return bad("it has a fragment, which has no meaning here")
	}
	if _, has := u.User.Password(); has {
		return bad("it holds a password; name the variable that has it in the setting sources")
	}
	if u.User != nil && strings.HasPrefix(u.Scheme, "git+http") {
		return bad("it holds a user, where tokens are often written; give both in the setting sources")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("its query is not valid")
	}
	for name := range query {
		if kind.Schemes[0] != gitScheme || name != "ref" && name != "path" {
			return bad("its query has the unknown name %.40q; tokens and signatures belong into the setting sources", name)
		}
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.RawQuery, u.RawPath = query.Encode(), ""
	if u.Path = path.Clean("/" + u.Path); u.Path == "/" {
		u.Path = ""
	}
	return Address{kind, u}, nil
}

func schemes() (all []string) {
	for _, k := range Table {
		for _, s := range k.Schemes {
			if k.IsRemote() {
				all = append(all, s+"://")
			}
		}
	}
	return all
}

// Covers reports whether an address is that of a place in this source.
func (a Address) Covers(other Address) bool {
	b := other.url
	return a.url.Scheme == b.Scheme && a.url.Host == b.Host && (a.url.User == nil || a.url.User.Username() == b.User.Username()) &&
		(a.url.Path == b.Path || a.url.Path == "" || strings.HasPrefix(b.Path, a.url.Path+"/"))
}

// Open opens the source.
func (a Address) Open(ctx context.Context, o Options) (Source, error) {
	if o.User == "" {
		o.User = a.url.User.Username()
	}
	s, err := a.Kind.open(ctx, a.url, o)
	if err != nil {
		return nil, fmt.Errorf("open the source: %w", hideQuery(err))
	}
	return limited{s}, nil
}

// limited is a source that ends a listing of too many objects, and whose errors show no address with its query.
type limited struct{ of Source }

func (l limited) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		n := 0
		for o, err := range l.of.Objects(ctx) {
			if n++; n > MaxObjects {
				yield(Object{}, fmt.Errorf("it has more than %d objects", MaxObjects))
				return
			}
			if !yield(o, hideQuery(err)) {
				return
			}
		}
	}
}

func (l limited) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	r, err := l.of.Open(ctx, o)
	return r, hideQuery(err)
}

func (l limited) Close() error { return l.of.Close() }

// maxPath is the maximum length of an object's path, in bytes.
const maxPath = 2048

// CheckPath returns an error for a path that an object of a source may not have: it would be outside of the source, or
// nobody could write it.
func CheckPath(p string) error {
	parts := strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' })
	switch {
	case p == "" || p == "." || path.Clean(p) != p || p[0] == '/' || slices.Contains(parts, "..") || len(parts) == 0:
		return errors.New("its name is not a path inside the source")
	case len(p) > maxPath:
		return fmt.Errorf("its name has more than %d bytes", maxPath)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return errors.New("its name has bytes that are not text")
	}
	return nil
}

// hideQuery returns an error without the address that the HTTP client puts into its errors.
func hideQuery(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Nothing is a source without objects.
type Nothing struct{}

// Objects implements Source.
func (Nothing) Objects(context.Context) iter.Seq2[Object, error] {
	return func(func(Object, error) bool) {}
}

// Open implements Source.
func (Nothing) Open(context.Context, Object) (io.ReadCloser, error) {
	return nil, errors.New("there is nothing")
}

// Close implements Source.
func (Nothing) Close() error { return nil }
