package wire

import (
	"cmp"
	"context"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ident"
)

// Base is the configuration that adapters that run turns share. A protocol without images ignores Vision, and one whose
// requests cannot name a namespace ignores Namespaces.
type Base struct {
	Runner chat.Runner

	// Namespaces returns the namespaces that a caller may use, in addition to Namespace. Optional.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	Defaults    chat.Options // of requests that do not override them
	Namespace   string       // of requests that name none; "" means "default"
	PublicURL   string       // the server's URL as clients see it; "" means to take it from each request
	Vision      bool         // the model reads images, so images are accepted
	MaxMessages int          // of a request; 0 means 1,000

	Now   func() time.Time // nil means time.Now
	NewID func() string    // makes ids; nil means ident.New
}

// DefaultMaxMessages is the default of Base.MaxMessages.
const DefaultMaxMessages = 1000

// Fill sets the fields that have a default and are zero.
func (b *Base) Fill() {
	b.Namespace = cmp.Or(b.Namespace, "default")
	b.MaxMessages = cmp.Or(b.MaxMessages, DefaultMaxMessages)
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.NewID == nil {
		b.NewID = ident.New
	}
}
