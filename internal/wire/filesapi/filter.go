package filesapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// attributes are the attributes of a file. Each value is a string, a float64 or a bool.
type attributes map[string]any

// Filter is a condition on the attributes of a file. A nil Filter passes every file.
type Filter func(attributes) bool

// maxConditions limits the conditions of a filter in all, and maxValues the values of each.
const (
	maxConditions = 200
	maxValues     = 1000
)

// ParseFilter reads the member filters of a search; param is its name in errors. An absent value gives a
// nil Filter.
func ParseFilter(v wire.Value, param string) (Filter, error) {
	if !isGiven(v) {
		return nil, nil
	}
	p := &filterParser{param: param}
	return p.filter(v)
}

// Lets reports whether a file with the given attributes, a JSON object or nil, passes the filter.
func (f Filter) Lets(object json.RawMessage) bool {
	if f == nil {
		return true
	}
	values := attributes{}
	if len(object) > 0 && json.Unmarshal(object, &values) != nil {
		return false
	}
	return f(values)
}

type filterParser struct {
	param string
	n     int // conditions so far
}

func (p *filterParser) errorf(format string, args ...any) error {
	return openai.Refusef(p.param, openai.Invalid, "%q is not a filter: "+format, append([]any{p.param}, args...)...)
}

// filter reads a comparison, or several joined by "and" or "or".
func (p *filterParser) filter(v wire.Value) (Filter, error) {
	if p.n++; p.n > maxConditions {
		return nil, p.errorf("it has more than %d conditions.", maxConditions)
	}
	object, ok := v.Object()
	var in struct {
		Type    wire.Value `json:"type"`
		Filters wire.Value `json:"filters"`
		Key     wire.Value `json:"key"`
		Value   wire.Value `json:"value"`
	}
	object.Read(&in)
	name, _ := in.Type.Text()
	switch {
	case !ok:
		return nil, p.errorf("each condition must be an object.")
	case name == "and" || name == "or":
		return p.joined(name == "or", in.Filters)
	}
	key, ok := in.Key.Text()
	if !ok || key == "" {
		return nil, p.errorf("a comparison must have the name of an attribute as its key.")
	}
	return p.comparison(name, key, in.Value)
}

func (p *filterParser) joined(either bool, v wire.Value) (Filter, error) {
	elements, ok := v.Elements()
	if !ok {
		return nil, p.errorf(`"and" and "or" need a list of filters.`)
	}
	var parts []Filter
	for v := range elements {
		part, err := p.filter(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, p.errorf(`"and" and "or" need at least one filter.`)
	}
	return func(a attributes) bool {
		for _, part := range parts {
			if part(a) == either {
				return either
			}
		}
		return !either
	}, nil
}

// orders are the order comparisons. Values of different types have no order.
var orders = map[string]func(c int) bool{
	"gt":  func(c int) bool { return c > 0 },
	"gte": func(c int) bool { return c >= 0 },
	"lt":  func(c int) bool { return c < 0 },
	"lte": func(c int) bool { return c <= 0 },
}

func (p *filterParser) comparison(name, key string, v wire.Value) (Filter, error) {
	if name == "in" || name == "nin" {
		return p.membership(name == "in", key, v)
	}
	want, ok := scalarOf(v)
	if !ok {
		return nil, p.errorf("the value of %q must be a string, a number or a boolean.", name)
	}
	if order, ok := orders[name]; ok {
		return func(a attributes) bool {
			c, ok := compare(a[key], want)
			return ok && order(c)
		}, nil
	}
	switch name {
	case "eq":
		return func(a attributes) bool { return a[key] == want }, nil
	case "ne":
		return func(a attributes) bool { return a[key] != want }, nil
	}
	return nil, p.errorf("its type must be eq, ne, gt, gte, lt, lte, in, nin, and, or.")
}

func (p *filterParser) membership(in bool, key string, v wire.Value) (Filter, error) {
	elements, ok := v.Elements()
	if _, few := wire.AtMost(maxValues, elements); !ok || !few {
		return nil, p.errorf(`the value of "in" and "nin" must be a list of at most %d values.`, maxValues)
	}
	var list []any
	for v := range elements {
		value, ok := scalarOf(v)
		if !ok {
			return nil, p.errorf(`the values of "in" and "nin" must be strings, numbers or booleans.`)
		}
		list = append(list, value)
	}
	return func(a attributes) bool { return slices.Contains(list, a[key]) == in }, nil
}

// compare orders two numbers or two strings.
func compare(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return cmp.Compare(a, b), ok
	case string:
		b, ok := b.(string)
		return strings.Compare(a, b), ok
	}
	return 0, false
}
