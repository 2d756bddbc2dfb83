// Package roster caches the members of namespaces and checks new ones.
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

// ErrNotFound means that there is no such member, or that a namespace is not closed.
var ErrNotFound = errors.New("no such member")

// Store reads members.
type Store interface {
	// Version returns a number that increases with each change.
	Version(ctx context.Context) (int64, error)
	// All returns the closed namespaces, which only members may use, and all members.
	All(ctx context.Context) (closed []string, all []access.Member, err error)
}

// freshness is how long a Book trusts what it has read; a change by another process takes effect after at most that time.
const freshness = time.Second

// Book caches members, so that not every request reads the store. Use NewBook to make one. It is safe for concurrent use.
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

// Members returns the members of all namespaces. If the store cannot be read, it returns an error rather than members that
// would make namespaces open.
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

// Forget makes the next call of Members read the store. Call it after a change by this process.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = time.Time{}
}

// maxName is the maximum length of a member's name, in bytes.
const maxName = 1024

// Check returns an error, a sentence for the caller, if the member is not valid. It does not check the namespace.
func Check(m access.Member) error {
	switch {
	case !slices.Contains(access.MemberRoles, m.Role):
		return fmt.Errorf("%.40q is not a role of members; use reader, editor or owner", string(m.Role))
	case m.Name == "" || len(m.Name) > maxName || !utf8.ValidString(m.Name) || strings.ContainsFunc(m.Name, unicode.IsControl):
		return fmt.Errorf("name the user or the group in 1 to %d bytes of text without control characters", maxName)
	case strings.HasPrefix(m.Name, access.Deleted) || strings.HasPrefix(m.Name, access.LocalPrefix):
		return fmt.Errorf("nobody can sign in as %.40q", m.Name)
	}
	return nil
}
