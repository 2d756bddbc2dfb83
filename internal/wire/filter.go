package wire

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/attribute"
)

// The limits of a filter.
const (
	MaxConditions      = 100 // of the whole filter, nested ones included
	MaxConditionValues = 1000
	maxConditionKey    = 256  // bytes
	maxConditionText   = 4096 // bytes of a string value
)

// FilterOf reads a filter in the form of OpenAI's file search: {"type":"eq","key":"tags","value":"policy"}, or
// {"type":"and","filters":[…]}. For a value that was not sent or is null it returns nil and "". For one that is not a
// filter, wrong is a sentence that says why.
func FilterOf(v Value) (c *attribute.Condition, wrong string) {
	if !v.IsGiven() {
		return nil, ""
	}
	p := &filterParser{}
	c = p.condition(v)
	return c, p.wrong
}

// filterParser reads a filter. wrong describes the first error; "" means none so far.
type filterParser struct {
	n     int // conditions so far
	wrong string
}

// fail records the first error. It returns nil, for callers that return a condition.
func (p *filterParser) fail(format string, args ...any) *attribute.Condition {
	if p.wrong == "" {
		p.wrong = fmt.Sprintf(format, args...)
	}
	return nil
}

// condition reads a comparison, or conditions joined by "and" or "or".
func (p *filterParser) condition(v Value) *attribute.Condition {
	if p.n++; p.n > MaxConditions {
		return p.fail("it has more than %d conditions.", MaxConditions)
	}
	object, ok := v.Object()
	var in struct {
		Type    Value `json:"type"`
		Filters Value `json:"filters"`
		Key     Value `json:"key"`
		Value   Value `json:"value"`
	}
	object.Read(&in)
	name, _ := in.Type.Text()
	switch {
	case !ok:
		return p.fail("each condition must be an object.")
	case name == "and" || name == "or":
		return p.joined(name == "or", in.Filters)
	}
	if !slices.Contains(attribute.Operators, name) && name != "in" && name != "nin" {
		return p.fail("its type must be %s, in, nin, and, or.", strings.Join(attribute.Operators, ", "))
	}
	key, ok := in.Key.Text()
	if !ok || key == "" || len(key) > maxConditionKey {
		return p.fail("a comparison must have the name of an attribute as its key, of at most %d bytes.", maxConditionKey)
	}
	return p.comparison(name, key, in.Value)
}

func (p *filterParser) joined(either bool, v Value) *attribute.Condition {
	elements, ok := v.Elements()
	if !ok {
		return p.fail(`"and" and "or" need a list of filters.`)
	}
	var parts []*attribute.Condition
	for v := range elements {
		part := p.condition(v)
		if p.wrong != "" {
			return nil
		}
		parts = append(parts, part)
	}
	switch {
	case len(parts) == 0:
		return p.fail(`"and" and "or" need at least one filter.`)
	case either:
		return attribute.Any(parts...)
	}
	return attribute.All(parts...)
}

func (p *filterParser) comparison(name, key string, v Value) *attribute.Condition {
	if name == "in" || name == "nin" {
		elements, ok := v.Elements()
		if _, few := AtMost(MaxConditionValues, elements); !ok || !few {
			return p.fail(`the value of "in" and "nin" must be a list of at most %d values.`, MaxConditionValues)
		}
		var list []any
		for v := range elements {
			value, ok := comparedTo(v)
			if !ok {
				return p.fail(`the values of "in" and "nin" must be strings of at most %d bytes, numbers or booleans.`, maxConditionText)
			}
			list = append(list, value)
		}
		if name == "nin" {
			return attribute.Not(attribute.In(key, list))
		}
		return attribute.In(key, list)
	}
	want, ok := comparedTo(v)
	if !ok {
		return p.fail("the value of %q must be a string of at most %d bytes, a number or a boolean.", name, maxConditionText)
	}
	return attribute.Compare(name, key, want)
}

func comparedTo(v Value) (any, bool) {
	if len(v) > 6*maxConditionText { // a byte may be escaped as \u00XX, which is six bytes
		return nil, false
	}
	value, ok := v.Scalar()
	text, _ := value.(string)
	return value, ok && len(text) <= maxConditionText
}

// Scalar returns v as a string, a float64 or a bool; ok is false for any other value.
func (v Value) Scalar() (value any, ok bool) {
	if text, ok := v.Text(); ok {
		return text, true
	}
	if n, ok := v.Number(); ok {
		return n, true
	}
	value, ok = v.Bool()
	return value, ok
}
