package access

import "context"

type originKey struct{}

// WithOrigin returns a context that says from where a request came, by a name that is no address.
// It tells callers without sign-in apart where one stores too much, and gives no rights.
func WithOrigin(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// Origin returns what WithOrigin was given, "" for nothing.
func Origin(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}
