package main

import (
	"testing"
	"time"
)

func TestDuration_ReadsDaysAndWritesWhatItReads(t *testing.T) {
	cases := map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "12h": 12 * time.Hour, "1m": time.Minute, "90s": 90 * time.Second,
		"1h30m": 90 * time.Minute, "0": 0, "250ms": 250 * time.Millisecond, "36h": 36 * time.Hour, "10m": 10 * time.Minute,
	}
	for text, want := range cases {
		var d, again duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v (%v), want %v", text, time.Duration(d), err, want)
		}
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
			t.Errorf("%q is written as %q, which reads as %v (%v)", text, d, time.Duration(again), err)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "30", "soon", "99999999999d"} {
		var d duration
		if d.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q was read as %v", text, time.Duration(d))
		}
	}
}

func TestSize_ReadsUnitsAndWritesWhatItReads(t *testing.T) {
	cases := map[string]size{"1MiB": 1 << 20, "512 kib": 512 << 10, "1048577": 1<<20 + 1, "2GB": 2e9, "7B": 7, "3k": -1, "1.5MiB": -1, "-1": -1, "": -1, "9999999TiB": -1, "99999999999999GiB": -1}
	for text, want := range cases {
		var z, again size
		err := z.UnmarshalText([]byte(text))
		if want < 0 {
			if err == nil {
				t.Errorf("%q was read as %d", text, z)
			}
			continue
		}
		if err != nil || z != want {
			t.Errorf("%q is %d (%v), want %d", text, z, err, want)
		}
		if err := again.UnmarshalText([]byte(z.String())); err != nil || again != z {
			t.Errorf("%q is written as %q, which reads as %d (%v)", text, z, again, err)
		}
	}
}
