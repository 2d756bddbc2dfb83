package wire_test

import (
	"errors"
	"testing"

	"parley/internal/chat"
	"parley/internal/wire"
)

func TestSlots_AreAsManyAsWereMade(t *testing.T) {
	full := &chat.Error{Kind: chat.RateLimited}
	slots := make(wire.Slots, 2)
	first, err := slots.Take(full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slots.Take(full); err != nil {
		t.Fatal(err)
	}
	if _, err := slots.Take(full); !errors.Is(err, full) {
		t.Errorf("error %v where both slots are taken", err)
	}
	first()
	first() // releases one slot only
	if _, err := slots.Take(full); err != nil {
		t.Error(err)
	}
	if _, err := slots.Take(full); !errors.Is(err, full) {
		t.Errorf("error %v where both slots are taken again", err)
	}
}
