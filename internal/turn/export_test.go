package turn

import (
	"context"

	"parley/internal/ledger"
)

// Spend reserves and settles one request of a user.
func Spend(ctx context.Context, b *ledger.Budgets, user string) error {
	settle, err := b.Reserve(ctx, Scope{}, user, ledger.Amount{Requests: 1})
	if err == nil {
		settle(ledger.Amount{Requests: 1})
	}
	return err
}
