package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Value is one JSON value in a body that ParseValue or ParseObject has checked. It is a slice of the body:
// nothing is copied until it is decoded. A nil Value is a member that was not sent.
type Value []byte

// Object is a JSON object in a checked body. The zero Object has no members.
type Object struct{ raw []byte }

// ParseValue checks a whole body and returns its value. The error is a *chat.Error of kind Invalid with a
// sentence for the client.
func ParseValue(body []byte) (Value, error) {
	if err := check(body); err != nil {
		return nil, err
	}
	return Value(body[skipSpace(body, 0):]), nil
}

// ParseObject is like ParseValue, for a body that must be an object.
func ParseObject(body []byte) (Object, error) {
	v, err := ParseValue(body)
	if err != nil {
		return Object{}, err
	}
	o, ok := v.Object()
	if !ok {
		return Object{}, Invalidf("the request body must be a JSON object")
	}
	return o, nil
}

// Members yields the members in the order of the body. Keys keep their case, and Get and Read compare them
// exactly, unlike encoding/json, which accepts "Messages" for "messages".
func (o Object) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for key, v := range items(o.raw, true) {
			if !yield(key.text(), v) {
				return
			}
		}
	}
}

// Get returns the value of the member with a key; false if there is none. Each call searches the whole object.
func (o Object) Get(key string) (Value, bool) {
	for k, v := range o.Members() {
		if k == key {
			return v, true
		}
	}
	return nil, false
}

// Read sets the fields of the struct that to points to from the members that their tags name
// (`json:"messages"`). All fields must be of type Value. A member that was not sent leaves its field unchanged.
// Read makes one pass over the object.
func (o Object) Read(to any) {
	s := reflect.ValueOf(to).Elem()
	places := placesOf(s.Type())
	for key, v := range o.Members() {
		if i, ok := places[key]; ok {
			s.Field(i).SetBytes(v)
		}
	}
}

// places caches, for each struct type that Object.Read has filled, the index of each field by its member's name.
var places sync.Map // reflect.Type → map[string]int

func placesOf(t reflect.Type) map[string]int {
	if known, ok := places.Load(t); ok {
		return known.(map[string]int)
	}
	m := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		m[t.Field(i).Tag.Get("json")] = i
	}
	places.Store(t, m)
	return m
}

// IsNull reports whether v is the literal null.
func (v Value) IsNull() bool { return v.first() == 'n' }

// IsGiven reports whether the member was sent and is not null.
func (v Value) IsGiven() bool { return v != nil && !v.IsNull() }

// Object returns v as an object; false if v is not one.
func (v Value) Object() (Object, bool) {
	if v.first() != '{' {
		return Object{}, false
	}
	return Object{raw: v}, true
}

// Read is like Object.Read, and reports whether v is an object. If it is not, no field is set.
func (v Value) Read(to any) bool {
	o, ok := v.Object()
	o.Read(to)
	return ok
}

// Bool returns v as a boolean; ok is false if v is not one.
func (v Value) Bool() (value, ok bool) {
	return v.first() == 't', v.first() == 't' || v.first() == 'f'
}

// Flag is like Bool, but also accepts the strings "true", "yes" and "1", and "false", "no" and "0", in any case,
// because the values of HTML forms are strings.
func (v Value) Flag() (value, ok bool) {
	text, isText := v.Text()
	if !isText {
		return v.Bool()
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "1":
		return true, true
	case "false", "no", "0":
		return false, true
	}
	return false, false
}

// Text returns v as a decoded string; false if v is not a string.
func (v Value) Text() (string, bool) {
	if v.first() != '"' {
		return "", false
	}
	return v.text(), true
}

func (v Value) text() string { return unquote(v) }

// OptionalText returns the string v, or "" if v is missing or null. The error names the member as name.
func OptionalText(v Value, name string) (string, error) {
	if !v.IsGiven() {
		return "", nil
	}
	s, ok := v.Text()
	if !ok {
		return "", Invalidf("%q must be a string", name)
	}
	return s, nil
}

// first returns the first byte of v, which determines its type, or 0 if v is nil.
func (v Value) first() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

// Number returns v as a finite number. It also accepts a string that contains a JSON number, because some clients
// send the values of input fields unchanged.
func (v Value) Number() (float64, bool) {
	digits := []byte(v)
	if text, ok := v.Text(); ok {
		digits = bytes.TrimSpace([]byte(text))
	}
	c := &checker{b: digits}
	if len(digits) == 0 || c.number() != nil || c.i != len(digits) {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(digits), 64)
	return n, err == nil
}

// Elements returns the elements of an array. If v is not an array, ok is false and elements is empty, but not nil.
func (v Value) Elements() (elements iter.Seq[Value], ok bool) {
	if v.first() != '[' {
		return func(func(Value) bool) {}, false
	}
	return func(yield func(Value) bool) {
		for _, e := range items(v, false) {
			if !yield(e) {
				return
			}
		}
	}, true
}

// AtMost counts elements, and reports whether there are no more than most. It stops at the first one too many. Count before
// you decode: otherwise a body with a million empty messages becomes a million structs.
func AtMost(most int, elements iter.Seq[Value]) (count int, ok bool) {
	for range elements {
		if count++; count > most {
			return count, false
		}
	}
	return count, true
}

// Compact returns a copy of v without white space between its tokens, so that it fits on one line of a
// stream. Strings, numbers and the order of members are kept, except that U+0085, U+2028 and U+2029 are
// escaped, as in AppendString.
func (v Value) Compact() json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(v))
	if err := json.Compact(&b, v); err != nil {
		panic("wire: a checked value does not compact: " + err.Error())
	}
	return escapeLineEnds(b.Bytes())
}

// items yields the contents of a checked object or array; keys are nil for an array.
func items(raw []byte, keyed bool) iter.Seq2[Value, Value] {
	return func(yield func(key, v Value) bool) {
		for i := 1; i < len(raw); i++ {
			if i = skipSpace(raw, i); raw[i] == '}' || raw[i] == ']' {
				return
			}
			var key Value
			if keyed {
				stop := end(raw, i)
				key = Value(raw[i:stop])
				i = skipSpace(raw, skipSpace(raw, stop)+1) // skips the colon
			}
			stop := end(raw, i)
			if !yield(key, Value(raw[i:stop:stop])) {
				return
			}
			if i = skipSpace(raw, stop); raw[i] != ',' {
				return
			}
		}
	}
}

// end returns the offset just after the value that begins at offset i of a checked body.
func end(b []byte, i int) int {
	switch b[i] {
	case '"':
		return endOfString(b, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch b[i] {
			case '"':
				i = endOfString(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(b) && strings.IndexByte(",]} \t\r\n", b[i]) < 0 {
		i++
	}
	return i
}

func endOfString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// Element is the position of an element in a list of a request. It is formatted only for an error, since lists can be long.
type Element struct {
	List  string
	Index int
}

// At returns the position of the element with index i.
func At(list string, i int) Element { return Element{list, i} }

// String returns, for example, messages[3].
func (e Element) String() string { return fmt.Sprintf("%s[%d]", e.List, e.Index) }
