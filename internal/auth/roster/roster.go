// Package roster knows the members of namespaces.
package roster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/internal/access"
)

// ErrNotFound says that there is no such member, or that a namespace has no members.
var ErrNotFound = errors.New("no such member")

// Store reads members.
type Store interface {
	// Version returns a number that grows with each change.
	Version(ctx context.Context) (int64, error)
	// All returns the namespaces that have members only, and all members.
	All(ctx context.Context) (closed []string, all []access.Member, err error)
}

// freshness is the time for which a Book trusts what it has read: a change by another process counts after that.
const freshness = time.Second

// Book reads members for each request, but seldom from the store. It is made by NewBook and safe for concurrent use.
type Book struct {
	store Store
	now   func() time.Time

	mu      sync.Mutex
	read    time.Time
	version int64
	members *access.Members
}

// NewBook returns a book over a store.
func NewBook(store Store, now func() time.Time) *Book { return &Book{store: store, now: now} }

// Members returns the members of all namespaces. While the store cannot be read, no namespace counts as open.
func (b *Book) Members(ctx context.Context) (*access.Members, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.members != nil && now.Sub(b.read) < freshness && !now.Before(b.read) {
		return b.members, nil
	}
	version, err := b.store.Version(ctx)
	if err != nil {
		return nil, err
	}
	if b.members == nil || version != b.version {
		closed, all, err := b.store.All(ctx)
		if err != nil {
			return nil, err
		}
		b.members, b.version = access.NewMembers(closed, all), version
	}
	b.read = now
	return b.members, nil
}

// Forget makes the next call of Members read the store, after a change by this process.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = time.Time{}
}

// maxName is the longest name of a member in bytes.
const maxName = 1024

// Check returns an error, a sentence for the caller, if the member is not valid. The caller checks the namespace.
func Check(m access.Member) error {
	switch {
	case !slices.Contains(access.MemberRoles, m.Role):
		return fmt.Errorf("%.40q is not a role of members; there are reader, editor and owner", string(m.Role))
	case m.Name == "" || len(m.Name) > maxName || !utf8.ValidString(m.Name) || strings.ContainsFunc(m.Name, unicode.IsControl):
		return fmt.Errorf("name the user or the group in 1 to %d bytes of text without control characters", maxName)
	case strings.HasPrefix(m.Name, access.Deleted) || strings.HasPrefix(m.Name, access.LocalPrefix):
		return fmt.Errorf("%.40q is nobody who can sign in", m.Name)
	}
	return nil
}
