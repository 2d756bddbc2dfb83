package attribute

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Condition tests the attributes of a document. It is immutable. A nil Condition holds for every document.
type Condition struct {
	holds func(Values) bool
	text  string
}

// Holds reports whether a document with these attributes meets the condition.
func (c *Condition) Holds(v Values) bool { return c == nil || c.holds(v) }

// String returns a text that no two different conditions share; "" for nil.
func (c *Condition) String() string {
	if c == nil {
		return ""
	}
	return c.text
}

// Test returns a condition that a function decides. No other condition may have the same text.
func Test(text string, holds func(Values) bool) *Condition {
	if len(text) > maxName { // the text of a condition contains the texts of its parts
		text = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	return &Condition{holds, text}
}

// maxName is the length of a condition's text above which a hash replaces it.
const maxName = 500

// Operators are the names of comparisons with one value, as OpenAI's filters have them.
var Operators = []string{"eq", "ne", "gt", "gte", "lt", "lte"}

// fits are the tests of Operators on the order of two values. "ne" is the negation of "eq".
var fits = map[string]func(order int) bool{
	"eq":  func(order int) bool { return order == 0 },
	"gt":  func(order int) bool { return order > 0 },
	"gte": func(order int) bool { return order >= 0 },
	"lt":  func(order int) bool { return order < 0 },
	"lte": func(order int) bool { return order <= 0 },
}

// Compare returns a condition that compares an attribute with a string, a float64 or a bool; operator is one of
// Operators. An attribute that is a list meets it if one of its values does. A missing attribute, or one of another
// type, meets "ne" only.
func Compare(operator, key string, want any) *Condition {
	if operator == "ne" {
		return Not(Compare("eq", key, want))
	}
	fit := fits[operator]
	if fit == nil {
		panic("attribute: there is no operator " + operator)
	}
	wantedAt, isMoment := momentOf(want)
	return Test(described(operator, key, want), func(v Values) bool {
		return v.anyOf(key, func(have any) bool {
			if isMoment { // a value that is not a date has no order relative to a date
				at, ok := momentOf(have)
				return ok && fit(cmp.Compare(at, wantedAt))
			}
			order, ok := compare(have, want)
			return ok && fit(order)
		})
	})
}

// In returns a condition that an attribute, or one value of a list, is among the given values.
func In(key string, values []any) *Condition {
	wanted := make(map[any]bool, len(values)) // a client may send a thousand values, and each of a hundred thousand documents is tested
	for _, v := range values {
		wanted[normal(v)] = true
	}
	return Test(described("in", key, values), func(v Values) bool {
		return v.anyOf(key, func(have any) bool { return wanted[normal(have)] })
	})
}

// Present returns a condition that a document has an attribute.
func Present(key string) *Condition {
	return Test(described("present", key, nil), func(v Values) bool { return v[key] != nil })
}

// Not returns the negation of a condition.
func Not(c *Condition) *Condition {
	return Test("not("+c.String()+")", func(v Values) bool { return !c.Holds(v) })
}

// All returns a condition that holds if all of its parts do.
func All(parts ...*Condition) *Condition {
	parts = slices.DeleteFunc(slices.Clone(parts), func(c *Condition) bool { return c == nil })
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return Test(joined("and", parts), func(v Values) bool {
		return !slices.ContainsFunc(parts, func(c *Condition) bool { return !c.Holds(v) })
	})
}

// Any returns a condition that holds if one of its parts does.
func Any(parts ...*Condition) *Condition {
	return Test(joined("or", parts), func(v Values) bool {
		return slices.ContainsFunc(parts, func(c *Condition) bool { return c.Holds(v) })
	})
}

func described(operator, key string, want any) string {
	text, err := json.Marshal([]any{key, want})
	if err != nil {
		panic(fmt.Sprintf("attribute: %v is not a value: %v", want, err))
	}
	return operator + string(text)
}

func joined(name string, parts []*Condition) string {
	texts := make([]string, len(parts))
	for i, c := range parts {
		texts[i] = c.String()
	}
	return name + "(" + strings.Join(texts, ",") + ")"
}

// moment is a date: nanoseconds since 1970, in UTC.
type moment int64

// Date is a text of prepared attributes that was read as a date.
type Date struct {
	Text string
	at   moment
}

// Prepared returns the attributes in a form in which each date is parsed only once, however many conditions there are.
func (v Values) Prepared() Values {
	prepared := make(Values, len(v))
	for key, value := range v {
		list, isList := value.([]any)
		if !isList {
			prepared[key] = prepare(value)
			continue
		}
		all := make([]any, len(list))
		for i, one := range list {
			all[i] = prepare(one)
		}
		prepared[key] = all
	}
	return prepared
}

func prepare(v any) any {
	text, _ := v.(string)
	if at, ok := momentOf(v); ok {
		return Date{text, at}
	}
	return v
}

func momentOf(v any) (moment, bool) {
	if date, ok := v.(Date); ok {
		return date.at, true
	}
	text, _ := v.(string)
	at, ok := Moment(text)
	return moment(at.UnixNano()), ok && at.Year() > 1678 && at.Year() < 2262 // the range of UnixNano
}

// normal converts a value so that equal values are equal in Go: a date becomes a moment.
func normal(v any) any {
	if at, ok := momentOf(v); ok {
		return at
	}
	return v
}

// compare orders two values. ok is false if they are of different types. Booleans have no order.
func compare(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case Date:
		return compare(a.Text, b)
	case float64:
		b, ok := b.(float64)
		return cmp.Compare(a, b), ok
	case string:
		b, ok := b.(string)
		return strings.Compare(a, b), ok
	case bool:
		b, ok := b.(bool)
		return 0, ok && a == b
	}
	return 0, false
}

// Moment reads a date such as 2026-11-29, or a date with a time as RFC 3339, SQL or YAML write it. Without a zone it is
// in UTC.
func Moment(s string) (at time.Time, ok bool) {
	if len(s) < len(time.DateOnly) || s[4] != '-' || s[7] != '-' {
		return at, false
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	return at, false
}
