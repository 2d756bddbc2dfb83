package attribute

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Counts counts how many documents have each value of each attribute, so that people can choose one. It keeps a limited number
// of attributes and values, and ignores further new ones. The zero value has counted nothing.
type Counts struct {
	keys   map[string]*keyCounts
	values int // of all of them
}

type keyCounts struct {
	documents int
	values    map[any]int
	more      bool // some values were ignored
}

// The limits of what is counted.
const (
	maxCountedKeys   = 256
	maxCountedValues = 2000   // of an attribute
	maxCountedInAll  = 20_000 // values
	maxCountedText   = 100    // bytes: a longer text is not useful in a list of choices
)

// Add counts the attributes of one document.
func (c *Counts) Add(v Values) {
	for key, value := range v {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		c.add(key, list)
	}
}

// add counts the values of an attribute of one document, each of them once.
func (c *Counts) add(key string, list []any) {
	k := c.keys[key]
	if k == nil {
		if len(c.keys) >= maxCountedKeys {
			return
		}
		if c.keys == nil {
			c.keys = map[string]*keyCounts{}
		}
		k = &keyCounts{values: map[any]int{}}
		c.keys[key] = k
	}
	k.documents++
	for i, value := range list {
		switch known := isScalar(value) && k.values[value] > 0; {
		case known && slices.Contains(list[:i], value):
		case known:
			k.values[value]++
		case len(k.values) >= maxCountedValues || c.values >= maxCountedInAll || !isChoice(value):
			k.more = true
		default:
			c.values++
			k.values[value] = 1
		}
	}
}

// isScalar reports whether a value is a string, a number or a boolean.
func isScalar(value any) bool {
	switch value.(type) {
	case string, float64, bool:
		return true
	}
	return false
}

// isChoice reports whether people can choose documents by a value: it is a short text without a time of day, a number or a boolean.
func isChoice(value any) bool {
	text, ok := value.(string)
	if !ok {
		return isScalar(value)
	}
	if len(text) > maxCountedText {
		return false
	}
	_, isMoment := Moment(text)
	return !isMoment || len(text) == len(time.DateOnly)
}

// KeyCount says how many documents have an attribute.
type KeyCount struct {
	Key       string
	Documents int
	Values    []ValueCount // at least one
	More      bool         // there are other values
}

// ValueCount says how many documents have a value of an attribute: a string, a float64 or a bool.
type ValueCount struct {
	Value     any
	Documents int
}

// Most returns the attributes whose values the most documents share, each with its most frequent values. Ties are in
// alphabetical order.
func (c *Counts) Most(keys, values int) (most []KeyCount) {
	for key, counted := range c.keys {
		if len(counted.values) == 0 {
			continue
		}
		k := KeyCount{Key: key, Documents: counted.documents, More: counted.more}
		for value, documents := range counted.values {
			k.Values = append(k.Values, ValueCount{value, documents})
		}
		slices.SortFunc(k.Values, func(a, b ValueCount) int {
			return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(Written(a.Value), Written(b.Value)))
		})
		most = append(most, k)
	}
	slices.SortFunc(most, func(a, b KeyCount) int { // by documents for each value: a department comes before an author
		return cmp.Or(cmp.Compare(b.Documents*len(a.Values), a.Documents*len(b.Values)), strings.Compare(a.Key, b.Key))
	})
	most = most[:min(keys, len(most))]
	for i := range most {
		k := &most[i]
		k.More = k.More || len(k.Values) > values
		k.Values = k.Values[:min(values, len(k.Values))]
	}
	return most
}
