package wire

import (
	"math"
	"strconv"
)

// USD is an amount of money in millionths of a dollar. In JSON it is a number of dollars.
type USD int64

// MarshalJSON writes the amount exactly.
func (u USD) MarshalJSON() ([]byte, error) { return AppendUSD(nil, int64(u)), nil }

// UnmarshalJSON reads a number of dollars, and rounds it to the nearest millionth. Amounts are limited to ±1e12 dollars.
func (u *USD) UnmarshalJSON(number []byte) error {
	dollars, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return err
	}
	const most = 1e12 // dollars
	*u = USD(math.Round(min(max(dollars, -most), most) * 1e6))
	return nil
}

// AppendUSD appends an amount in millionths of a dollar as a JSON number of dollars, exactly and
// without an exponent: 11000 is 0.011.
func AppendUSD(dst []byte, micros int64) []byte {
	if micros < 0 {
		dst, micros = append(dst, '-'), -micros
	}
	dst = strconv.AppendInt(dst, micros/1_000_000, 10)
	rest := micros % 1_000_000
	if rest == 0 {
		return dst
	}
	digits := strconv.AppendInt(nil, 1_000_000+rest, 10)[1:]
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return append(append(dst, '.'), digits...)
}
