package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract/compose"
)

// raw is a stored value: a number, the bits of a number, or bytes.
type raw struct {
	n uint64
	b []byte
}

// showing returns the function that writes the values of a column.
func (l *leaf) showing() func(raw) string {
	switch l.physical {
	case boolean:
		return func(v raw) string { return strconv.FormatBool(v.n != 0) }
	case int32s, int64s:
		return l.showingNumbers()
	case int96s:
		return showInt96
	case floats:
		return func(v raw) string { return showFloat(float64(math.Float32frombits(uint32(v.n))), 32) }
	case doubles:
		return func(v raw) string { return showFloat(math.Float64frombits(v.n), 64) }
	}
	scale := l.logical.scale
	switch l.logical.kind {
	case text:
		return func(v raw) string { return compose.Clean(strings.ToValidUTF8(string(v.b), "\uFFFD")) }
	case decimal:
		return func(v raw) string { return showDecimal(v.b, scale) }
	case uuid:
		return func(v raw) string { return showSized(v.b, 16, showUUID) }
	case float16:
		return func(v raw) string { return showSized(v.b, 2, showHalf) }
	case interval:
		return func(v raw) string { return showSized(v.b, 12, showInterval) }
	case hidden:
		return func(raw) string { return "" }
	default: // in older files, bytes may be text without being marked as such
		return func(v raw) string { return showBytes(v.b) }
	}
}

func (l *leaf) showingNumbers() func(raw) string {
	signed := func(v raw) int64 {
		if l.physical == int32s {
			return int64(int32(v.n)) //nolint:gosec // the four bytes are a signed number
		}
		return int64(v.n)
	}
	m := l.logical
	switch m.kind {
	case decimal:
		return func(v raw) string { return pointed(strconv.FormatInt(signed(v), 10), m.scale) }
	case date:
		return func(v raw) string { return time.Unix(signed(v)*86400, 0).UTC().Format(time.DateOnly) }
	case timeOfDay:
		return func(v raw) string { return at(signed(v), m.unit).Format("15:04:05.999999999") }
	case timestamp:
		form := "2006-01-02 15:04:05.999999999"
		if m.utc {
			form += " UTC"
		}
		return func(v raw) string { return at(signed(v), m.unit).Format(form) }
	}
	if m.unsigned && l.physical == int32s {
		return func(v raw) string { return strconv.FormatUint(uint64(uint32(v.n)), 10) }
	}
	if m.unsigned {
		return func(v raw) string { return strconv.FormatUint(v.n, 10) }
	}
	return func(v raw) string { return strconv.FormatInt(signed(v), 10) }
}

// at returns the time n units after the start of 1970.
func at(n, unit int64) time.Time {
	unit = max(unit, 1)
	return time.Unix(n/unit, n%unit*(1e9/unit)).UTC()
}

// showInt96 writes a timestamp as Impala and Spark stored it: nanoseconds of a Julian day.
func showInt96(v raw) string {
	const julian1970 = 2_440_588
	days := int64(int32(binary.LittleEndian.Uint32(v.b[8:]))) - julian1970 //nolint:gosec // a number with a sign
	nanos := int64(binary.LittleEndian.Uint64(v.b))                        //nolint:gosec // a number with a sign
	return time.Unix(days*86400, nanos).UTC().Format("2006-01-02 15:04:05.999999999")
}

func showFloat(v float64, bits int) string {
	form := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		form = 'g'
	}
	return strconv.FormatFloat(v, form, -1, bits)
}

// showDecimal writes a whole number in big-endian two's complement, with a point before its last digits.
func showDecimal(b []byte, scale int64) string {
	const longest = 64 // bytes; files rarely have more than 16
	if len(b) == 0 || len(b) > longest {
		return ""
	}
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return pointed(n.String(), scale)
}

func pointed(digits string, scale int64) string {
	const most = 200
	if scale <= 0 || scale > most {
		return digits
	}
	digits, negative := strings.CutPrefix(digits, "-")
	if missing := int(scale) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	digits = digits[:len(digits)-int(scale)] + "." + digits[len(digits)-int(scale):]
	if negative {
		return "-" + digits
	}
	return digits
}

// showSized writes a value that must have n bytes, or returns "" if it has not.
func showSized(b []byte, n int, show func([]byte) string) string {
	if len(b) != n {
		return ""
	}
	return show(b)
}

func showUUID(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// showHalf writes a floating-point number of two bytes (IEEE 754 binary16).
func showHalf(b []byte) string {
	bits := binary.LittleEndian.Uint16(b)
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&1023)
	switch {
	case exponent == 31 && fraction != 0:
		return "NaN"
	case exponent == 31:
		return showFloat(math.Inf(int(sign)), 32)
	case exponent == 0:
		return showFloat(sign*math.Ldexp(fraction, -24), 32)
	}
	return showFloat(sign*math.Ldexp(1024+fraction, exponent-25), 32)
}

func showInterval(b []byte) string {
	number := binary.LittleEndian.Uint32
	return fmt.Sprintf("%d months %d days %s", number(b), number(b[4:]), time.Duration(number(b[8:]))*time.Millisecond)
}

// showBytes writes bytes that are a text, and returns "" for others, such as pictures.
func showBytes(b []byte) string {
	s := strings.TrimRight(string(b), "\x00")
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return ""
	}
	return compose.Clean(s)
}
