package main

import "testing"

func TestGarbagePercent_IsTheDefaultForSmallHeapsAndHalfForLargeOnes(t *testing.T) {
	for inUse, want := range map[uint64]int{0: 100, 20 << 20: 100, 32 << 20: 100, 40 << 20: 80, 64 << 20: 50, 8 << 30: 50} {
		if got := garbagePercent(inUse); got != want {
			t.Errorf("%d MiB: got %d, want %d", inUse>>20, got, want)
		}
	}
}
