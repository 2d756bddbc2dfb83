package turn

import "context"

// MaxTracked is how many budgets a window keeps apart.
const MaxTracked = maxTracked

// Spend reserves and settles one request of a user.
func Spend(ctx context.Context, b *Budgets, user string) error {
	settle, err := b.reserve(ctx, Scope{}, user, spent{requests: 1})
	if err == nil {
		settle(spent{requests: 1})
	}
	return err
}
