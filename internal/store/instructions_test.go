package store

import (
	"testing"
	"time"
)

func TestInstructions_AreKeptForEachNamespace(t *testing.T) {
	onBoth(t, func(t *testing.T, db *DB) {
		ctx, s := t.Context(), db.Instructions()
		const text = "Address readers formally.\n'; DROP TABLE instructions; --\nمرحبا"
		for _, c := range []struct{ namespace, put, hr, legal string }{
			{"hr", "Be brief.", "Be brief.", ""},
			{"legal", "Name the paragraph.", "Be brief.", "Name the paragraph."},
			{"hr", text, text, "Name the paragraph."},
			{"legal", "", text, ""},
			{"legal", "", text, ""},
		} {
			if err := s.Put(ctx, c.namespace, c.put, time.Now()); err != nil {
				t.Fatal(err)
			}
			for namespace, want := range map[string]string{"hr": c.hr, "legal": c.legal} {
				if got, err := s.Of(ctx, namespace); got != want || err != nil {
					t.Errorf("after %q in %s: %s has %q, %v; want %q", c.put, c.namespace, namespace, got, err, want)
				}
			}
		}
	})
}
