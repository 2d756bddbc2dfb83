package text

import "testing"

// Text that fold passes through quickly must be a fixed point of the full folding.
func TestFold_LeavesWhatItPassesThrough(t *testing.T) {
	for r := rune(0x80); r < 0x30000; r++ {
		if s := string(r); isFolded(s) && foldEach(s) != s {
			t.Fatalf("%q is folded to %q", s, foldEach(s))
		}
	}
}
