package markup

import "testing"

func TestCells_TakesBytesThatAreNoUTF8(t *testing.T) {
	for _, line := range []string{"a \xff", "a |\xe2\x82", "\xff"} {
		if places, whole := cells(line); !whole || len(places) == 0 {
			t.Errorf("%q: %q, %v", line, string(places), whole)
		}
	}
}
