package access

import "context"

type originKey struct{}

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
