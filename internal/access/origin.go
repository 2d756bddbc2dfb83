package access

import (
	"context"
	"time"
)

type (
	originKey struct{}
	startKey  struct{}
)

// WithOrigin returns a context with a name for the origin of a request. The name is not an address.
// It separates the storage quotas of anonymous callers and gives no rights.
func WithOrigin(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// Origin returns the name set by WithOrigin, or "".
func Origin(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}

// WithStart returns a context with the time at which a request arrived. Work that outlives the request keeps this time. The store
// refuses to save data of a deleted user if the request began before the deletion.
func WithStart(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, startKey{}, at)
}

// Start returns the time set by WithStart, or the zero time.
func Start(ctx context.Context) time.Time {
	at, _ := ctx.Value(startKey{}).(time.Time)
	return at
}
