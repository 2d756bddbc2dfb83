package wire

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/chat"
)

// checker validates a body in one pass without building values from it, so that a hostile body costs little more
// than its own size. It is stricter than encoding/json: invalid UTF-8, a duplicate key in an object, nesting
// deeper than maxDepth and more than maxMembers members in an object are errors (RFC 8259 sections 4, 8.1 and 9
// leave them to the receiver).
type checker struct {
	b    []byte
	i    int
	seed maphash.Seed
	keys []uint64 // of the open objects: hash in the upper 32 bits, offset in the lower
	word []byte   // scratch for keys with escapes
}

// Check validates a body that another decoder will read. The body may be any JSON value.
func Check(body []byte) error { return check(body) }

// check returns nil, or a *chat.Error of kind Invalid that says in one sentence what is wrong with body.
func check(body []byte) error {
	if !utf8.Valid(body) {
		return Invalidf("the request body is not valid UTF-8 at byte %d", invalidUTF8(body))
	}
	c := &checker{b: body, seed: maphash.MakeSeed()}
	if c.space(); c.i == len(body) {
		return Invalidf("the request body is empty; a JSON object was expected")
	}
	if err := c.value(1); err != nil {
		return err
	}
	if c.space(); c.i < len(body) {
		return c.unexpected()
	}
	return nil
}

func (c *checker) value(depth int) error {
	if c.i == len(c.b) {
		return c.unexpected()
	}
	switch b := c.b[c.i]; {
	case b == '{' || b == '[':
		if depth > maxDepth {
			return Invalidf("the request body nests deeper than %d levels", maxDepth)
		}
		if b == '{' {
			return c.object(depth)
		}
		return c.array(depth)
	case b == '"':
		_, err := c.str()
		return err
	case b == '-' || '0' <= b && b <= '9':
		return c.number()
	case b == 't':
		return c.literal("true")
	case b == 'f':
		return c.literal("false")
	case b == 'n':
		return c.literal("null")
	}
	return c.unexpected()
}

func (c *checker) object(depth int) error {
	base := len(c.keys)
	for c.i++; ; c.i++ {
		c.space()
		if c.at('}') && len(c.keys) == base {
			break
		}
		if err := c.member(base, depth); err != nil {
			return err
		}
		if c.space(); !c.at(',') {
			break
		}
	}
	if !c.at('}') {
		return c.unexpected()
	}
	c.i++
	err := c.distinct(c.keys[base:])
	c.keys = c.keys[:base]
	return err
}

// member validates a key and its value. The keys of the object begin at c.keys[base].
func (c *checker) member(base, depth int) error {
	if !c.at('"') {
		return c.unexpected()
	}
	start := c.i
	escaped, err := c.str()
	if err != nil {
		return err
	}
	key := c.b[start+1 : c.i-1]
	if escaped {
		c.word = appendUnquoted(c.word[:0], c.b[start:c.i])
		key = c.word
	}
	if len(c.keys)-base == maxMembers {
		return Invalidf("the request body has an object of more than %d members", maxMembers)
	}
	c.keys = append(c.keys, maphash.Bytes(c.seed, key)&^0xffffffff|uint64(start))
	if c.space(); !c.at(':') {
		return c.unexpected()
	}
	c.i++
	c.space()
	return c.value(depth + 1)
}

func (c *checker) array(depth int) error {
	c.i++
	if c.space(); c.at(']') {
		c.i++
		return nil
	}
	for ; ; c.i++ {
		c.space()
		if err := c.value(depth + 1); err != nil {
			return err
		}
		if c.space(); !c.at(',') {
			break
		}
	}
	if !c.at(']') {
		return c.unexpected()
	}
	c.i++
	return nil
}

// distinct returns an error if two keys of an object are equal. It sorts keys by hash, and compares only those with equal hashes.
func (c *checker) distinct(keys []uint64) error {
	slices.Sort(keys)
	for i, k := range keys {
		for _, other := range keys[i+1:] {
			if other>>32 != k>>32 {
				break
			}
			if a := c.keyAt(k); a == c.keyAt(other) {
				return Invalidf("the request body has the key %q twice in one object", clip(a))
			}
		}
	}
	return nil
}

func (c *checker) keyAt(k uint64) string {
	start := int(uint32(k))
	return Value(c.b[start:end(c.b, start)]).text()
}

// str skips a string and reports whether it contains an escape.
func (c *checker) str() (escaped bool, err error) {
	for c.i++; c.i < len(c.b); c.i++ {
		switch b := c.b[c.i]; {
		case b == '"':
			c.i++
			return escaped, nil
		case b < ' ':
			return escaped, c.unexpected()
		case b == '\\':
			escaped = true
			if err := c.escape(); err != nil {
				return escaped, err
			}
		}
	}
	return escaped, c.unexpected()
}

func (c *checker) escape() error {
	c.i++
	if c.at('u') {
		for range 4 {
			c.i++
			if c.i == len(c.b) || strings.IndexByte("0123456789abcdefABCDEF", c.b[c.i]) < 0 {
				return c.unexpected()
			}
		}
		return nil
	}
	if c.i == len(c.b) || strings.IndexByte(`"\/bfnrt`, c.b[c.i]) < 0 {
		return c.unexpected()
	}
	return nil
}

// number skips a number as defined in RFC 8259 section 6, which excludes NaN and Infinity. A number outside the range of
// float64, such as 1e999, is an error: other decoders would read it as infinity or fail.
func (c *checker) number() error {
	start := c.i
	if err := c.numeral(); err != nil {
		return err
	}
	if digits := c.b[start:c.i]; len(digits) > maxDigits || bytes.ContainsAny(digits, "eE") {
		if _, err := strconv.ParseFloat(string(digits), 64); err != nil {
			return Invalidf("the request body has the number %s, which is too large", clip(string(digits)))
		}
	}
	return nil
}

// maxDigits is the largest number of digits that is always within the range of float64.
const maxDigits = 308

func (c *checker) numeral() error {
	if c.at('-') {
		c.i++
	}
	if c.at('0') {
		c.i++
	} else if !c.digits() {
		return c.unexpected()
	}
	if c.at('.') {
		c.i++
		if !c.digits() {
			return c.unexpected()
		}
	}
	if c.at('e') || c.at('E') {
		c.i++
		if c.at('+') || c.at('-') {
			c.i++
		}
		if !c.digits() {
			return c.unexpected()
		}
	}
	return nil
}

func (c *checker) digits() bool {
	start := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i > start
}

func (c *checker) literal(word string) error {
	for i := range len(word) {
		if !c.at(word[i]) {
			return c.unexpected()
		}
		c.i++
	}
	return nil
}

func (c *checker) at(b byte) bool { return c.i < len(c.b) && c.b[c.i] == b }

func (c *checker) space() { c.i = skipSpace(c.b, c.i) }

func (c *checker) unexpected() error {
	if c.i >= len(c.b) {
		return Invalidf("the request body is not valid JSON: it ends too early")
	}
	r, _ := utf8.DecodeRune(c.b[c.i:])
	return Invalidf("the request body is not valid JSON: unexpected %q at byte %d", r, c.i)
}

// Invalidf returns a *chat.Error of kind Invalid. The client sees its text.
func Invalidf(format string, args ...any) error {
	return &chat.Error{Kind: chat.Invalid, Msg: fmt.Sprintf(format, args...)}
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// clip shortens text from a client to at most 40 bytes, for use in an error message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
