package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGroupLimit_TakesTheLeastOnTheWayToTheRoot(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user/app/memory.max", "max\n")
	write("user/memory.max", "536870912\n")
	write("memory.max", "1073741824\n")
	write("memory/docker/x/memory.limit_in_bytes", "268435456\n")
	write("memory/memory.limit_in_bytes", "9223372036854771712\n")
	cases := map[string]int64{
		"0::/user/app\n":                      512 << 20,
		"0::/\n":                              1 << 30,
		"5:memory:/docker/x\n4:cpu:/\n":       256 << 20,
		"5:memory:/elsewhere\n":               0,
		"0::/user/app\n5:memory:/docker/x\n":  256 << 20,
		"":                                    0,
		"nonsense":                            0,
		"0::/../../outside\n":                 1 << 30,
		"1:name=systemd:/user\n3:pids:/a/b\n": 0,
	}
	for groups, want := range cases {
		if got := groupLimit(root, groups); got != want {
			t.Errorf("groupLimit(%q) = %d, want %d", groups, got, want)
		}
	}
}

func TestWorkload_IsOverOnceInTheFirstRestAfterIt(t *testing.T) {
	var w workload
	for _, step := range []struct {
		allocated uint64
		want      bool
		why       string
	}{
		{20 << 20, false, "busy from the start"},
		{30 << 20, false, "still busy"},
		{30<<20 + 100, true, "the first rest"},
		{30<<20 + 200, false, "nothing was done since"},
		{31 << 20, false, "little was done since"},
		{40 << 20, false, "busy again"},
		{40 << 20, true, "the rest after it"},
	} {
		if got := w.over(step.allocated); got != step.want {
			t.Errorf("over(%d) = %v, want %v: %s", step.allocated, got, step.want, step.why)
		}
	}
}

func TestGrowthOf_LetsASmallHeapGrowToOneSizeAndALargeOneByHalf(t *testing.T) {
	for live, want := range map[uint64]int{
		0:        usualGrowth, // nothing has been collected
		1 << 10:  1550,
		1 << 20:  1500,
		3 << 20:  400,
		7 << 20:  100,
		8 << 20:  usualGrowth,
		16 << 20: usualGrowth,
		32 << 20: usualGrowth,
		40 << 20: 80,
		64 << 20: 50,
		80 << 20: leastGrowth,
		1 << 30:  leastGrowth,
	} {
		got := growthOf(live)
		if got != want {
			t.Errorf("growthOf(%d) = %d, want %d", live, got, want)
		}
		if goal := live * uint64(100+got) / 100; got > usualGrowth && goal > smallHeap {
			t.Errorf("a heap of %d may grow to %d", live, goal)
		}
	}
}
