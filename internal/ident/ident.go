// Package ident makes the identifiers of turns, conversations, chats, jobs, messages and documents.
//
// An identifier is the time at which it was made, in microseconds, and 130 bits from crypto/rand.
// The time puts identifiers in the order in which a process made them; the random part keeps anybody
// from guessing one, even if they know the time and the identifiers made before and after it.
//
//	01KAS7T3F40G PXUFX4ZK7NE5JSWQ2V6RTLBDYH
//	time, 12     random, 26
//
// The first ten characters are those of a ULID, so that new identifiers and the ULIDs of earlier
// versions sort together by their times. Identifiers are compared as bytes.
package ident

import (
	"crypto/rand"
	"strings"
	"sync/atomic"
	"time"
)

// alphabet is Crockford's base 32, whose characters are in ascending order.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Lengths in characters of the parts of an identifier, and of a ULID.
const (
	milliLength  = 10 // milliseconds since 1970
	timeLength   = milliLength + 2
	randomLength = 26
	length       = timeLength + randomLength
	ulidLength   = 26
)

// latest is the time of New's last identifier, in microseconds.
var latest atomic.Int64

// New returns a new identifier, greater than all identifiers that New has returned in this process.
func New() string {
	for {
		before := latest.Load()
		now := max(time.Now().UnixMicro(), before+1)
		if latest.CompareAndSwap(before, now) {
			return at(now)
		}
	}
}

// At returns a new identifier with the given time. Identifiers of the same microsecond are
// unordered.
func At(t time.Time) string { return at(t.UnixMicro()) }

func at(micros int64) string { return prefix(micros) + rand.Text() }

// Least returns a lower bound of all identifiers made at t or later. It is greater than any
// identifier of an earlier millisecond.
func Least(t time.Time) string { return prefix(t.UnixMicro())[:milliLength] }

// prefix encodes a time. Times before 1970 and after 10889 are clamped.
func prefix(micros int64) string {
	const most = 1<<48*1000 - 1
	micros = min(max(micros, 0), most)
	var b [timeLength]byte
	encode(b[:milliLength], micros/1000)
	encode(b[milliLength:], micros%1000)
	return string(b[:])
}

func encode(dst []byte, n int64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = alphabet[n&31]
		n >>= 5
	}
}

// Time returns when an identifier was made, to the millisecond. ok is false for text that is
// neither an identifier nor a ULID.
func Time(s string) (t time.Time, ok bool) {
	if len(s) != length && len(s) != ulidLength {
		return time.Time{}, false
	}
	var millis int64
	for i := range len(s) {
		digit := strings.IndexByte(alphabet, s[i])
		switch {
		case i < milliLength && digit < 0, i >= milliLength && !isAlphanumeric(s[i]):
			return time.Time{}, false
		case i < milliLength:
			millis = millis<<5 | int64(digit)
		}
	}
	if millis >= 1<<48 {
		return time.Time{}, false
	}
	return time.UnixMilli(millis).UTC(), true
}

func isAlphanumeric(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' }

// Valid reports whether text looks like an identifier or a ULID.
func Valid(s string) bool {
	_, ok := Time(s)
	return ok
}
