package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/internal/wire"
)

// duration is a time.Duration that may be written in days: "30d".
type duration time.Duration

// UnmarshalText accepts the format of time.ParseDuration, and whole days.
func (d *duration) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n > 36500 || n < -36500 {
			return fmt.Errorf("%q is not a duration such as 30s, 12h or 30d", s)
		}
		*d = duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s, 12h or 30d", s)
	}
	*d = duration(v)
	return nil
}

// String writes whole days as days, and everything else without zero units.
func (d duration) String() string {
	const day = 24 * time.Hour
	v := time.Duration(d)
	if v != 0 && v%day == 0 {
		return strconv.FormatInt(int64(v/day), 10) + "d"
	}
	s := v.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// size is a number of bytes that may have a unit: "512KiB", "1MiB".
type size int64

// sizeUnits is ordered so that no unit comes after one that is its suffix.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}, {"", 1}}

// UnmarshalText reads a whole number and an optional unit.
func (z *size) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(strings.ToLower(s), strings.ToLower(u.suffix))
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<50)/u.bytes {
			break
		}
		*z = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size such as 512KiB or 1MiB", s)
}

// String writes the largest binary unit that divides z.
func (z size) String() string {
	for _, u := range sizeUnits[:3] {
		if z != 0 && int64(z)%u.bytes == 0 {
			return strconv.FormatInt(int64(z)/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(z), 10)
}

// dollars is an amount of money in millionths of a US dollar.
type dollars int64

// UnmarshalText reads a decimal number of dollars with at most six decimals.
func (d *dollars) UnmarshalText(text []byte) error {
	s := strings.TrimPrefix(strings.TrimSpace(string(text)), "$")
	whole, rest, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || len(rest) > 6 {
		return fmt.Errorf("%q is not an amount in dollars such as 5 or 0.25", text)
	}
	micros := uint64(0)
	if rest != "" {
		if micros, err = strconv.ParseUint((rest + "000000")[:6], 10, 32); err != nil {
			return fmt.Errorf("%q is not an amount in dollars such as 5 or 0.25", text)
		}
	}
	*d = dollars(n*1_000_000 + micros)
	return nil
}

// String writes the amount without trailing zeros.
func (d dollars) String() string { return string(wire.AppendUSD(nil, int64(d))) }
