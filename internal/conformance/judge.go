package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/internal/lazyregexp"
)

// kind is a set of JSON types.
type kind int

const (
	text kind = 1 << iota
	number
	object
	array
	boolean
	null
)

var kindNames = []string{"a string", "a number", "an object", "an array", "a boolean", "null"}

func (k kind) String() string {
	var all []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, " or ")
}

func kindOf(v any) kind {
	switch v.(type) {
	case string:
		return text
	case json.Number:
		return number
	case map[string]any:
		return object
	case []any:
		return array
	case bool:
		return boolean
	}
	return null
}

// judgement judges one JSON value: a reply, a line or an event. For paths see at; "" is the value itself.
type judgement func(v any) error

// has demands that a member exists and is of one of the kinds.
func has(path string, kinds kind) judgement {
	return func(v any) error {
		found, ok := at(v, path)
		path := cmp.Or(path, "the reply")
		if !ok {
			return fmt.Errorf("%s is missing", path)
		}
		if got := kindOf(found); got&kinds == 0 {
			return fmt.Errorf("%s is %s, not %s", path, got, kinds)
		}
		return nil
	}
}

// may demands that a member is of one of the kinds, or missing.
func may(path string, kinds kind) judgement {
	return func(v any) error {
		if _, ok := at(v, path); !ok {
			return nil
		}
		return has(path, kinds)(v)
	}
}

// lacks demands that a member is missing.
func lacks(path string) judgement {
	return func(v any) error {
		if found, ok := at(v, path); ok {
			return fmt.Errorf("%s is present: %s", path, compact(found))
		}
		return nil
	}
}

// is demands that a member has one of the values. Whole numbers are compared as int.
func is(path string, values ...any) judgement {
	return func(v any) error {
		found, ok := at(v, path)
		if !ok {
			return fmt.Errorf("%s is missing", path)
		}
		if n, isNumber := found.(json.Number); isNumber {
			if i, err := n.Int64(); err == nil {
				found = int(i)
			}
		}
		if slices.Contains(values, found) {
			return nil
		}
		return fmt.Errorf("%s is %s", path, compact(found))
	}
}

// filled demands a string that is not blank.
func filled(path string) judgement {
	return func(v any) error {
		if err := has(path, text)(v); err != nil {
			return err
		}
		if found, _ := at(v, path); strings.TrimSpace(found.(string)) == "" {
			return fmt.Errorf("%s is empty", path)
		}
		return nil
	}
}

// some demands an array with at least one element.
func some(path string) judgement {
	return func(v any) error {
		if err := has(path, array)(v); err != nil {
			return err
		}
		if found, _ := at(v, path); len(found.([]any)) == 0 {
			return fmt.Errorf("%s is empty", path)
		}
		return nil
	}
}

// each applies judgements to all elements of an array, if there is one.
func each(path string, judgements ...judgement) judgement {
	return func(v any) error {
		found, _ := at(v, path)
		elements, _ := found.([]any)
		for i, e := range elements {
			if err := allOf(judgements...)(e); err != nil {
				return fmt.Errorf("element %d of %s: %w", i, path, err)
			}
		}
		return nil
	}
}

// self demands that a value itself is of one of the kinds.
func self(kinds kind) judgement { return has("", kinds) }

func allOf(judgements ...judgement) judgement {
	return func(v any) error {
		for _, j := range judgements {
			if err := j(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// moment demands a time in the format of RFC 3339, which is the usual profile of ISO 8601.
func moment(path string) judgement {
	return func(v any) error {
		if err := has(path, text)(v); err != nil {
			return err
		}
		found, _ := at(v, path)
		if _, err := time.Parse(time.RFC3339Nano, found.(string)); err != nil {
			return fmt.Errorf("%s is %q, which is not an ISO 8601 time with a zone", path, shorten(found.(string), 60))
		}
		return nil
	}
}

// sum demands that a number is the sum of others. Those that are missing count as 0.
func sum(total string, parts ...string) judgement {
	return func(v any) error {
		if err := has(total, number)(v); err != nil {
			return err
		}
		want := float(v, total)
		var got float64
		for _, path := range parts {
			got += float(v, path)
		}
		if diff := want - got; diff > 1e-6 || diff < -1e-6 {
			return fmt.Errorf("%s is %v, but its parts (%s) make %v", total, want, strings.Join(parts, ", "), got)
		}
		return nil
	}
}

func float(v any, path string) float64 {
	found, _ := at(v, path)
	n, _ := found.(json.Number)
	f, _ := n.Float64()
	return f
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return shorten(string(b), 120)
}

// rule is a rule about a reply that is one JSON value.
func rule(name, place, demand string, judgements ...judgement) Rule {
	return Rule{Name: name, Place: place, Demand: demand, holds: func(r *Reply) error { return allOf(judgements...)(r.value) }}
}

// streamRule is a rule about the items of a stream.
func streamRule(name, place, demand string, holds ...func(items []any) error) Rule {
	return Rule{Name: name, Place: place, Demand: demand, holds: func(r *Reply) error {
		for _, h := range holds {
			if err := h(r.items); err != nil {
				return err
			}
		}
		return nil
	}}
}

// every applies judgements to all items of a stream.
func every(judgements ...judgement) func([]any) error {
	return func(items []any) error {
		for i, v := range items {
			if err := allOf(judgements...)(v); err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
		}
		return nil
	}
}

func first(judgements ...judgement) func([]any) error {
	return func(items []any) error { return allOf(judgements...)(items[0]) }
}

func last(judgements ...judgement) func([]any) error {
	return func(items []any) error { return allOf(judgements...)(items[len(items)-1]) }
}

// same demands that a member has the same value in all items that have it.
func same(path string) func([]any) error {
	return func(items []any) error {
		var earlier any
		for i, v := range items {
			found, ok := at(v, path)
			if ok && earlier != nil && found != earlier {
				return fmt.Errorf("item %d: %s is %s, and was %s before", i+1, path, compact(found), compact(earlier))
			}
			if ok {
				earlier = found
			}
		}
		return nil
	}
}

// joined concatenates the strings at a path in all items.
func joined(items []any, path string) string {
	var b strings.Builder
	for _, v := range items {
		found, _ := at(v, path)
		s, _ := found.(string)
		b.WriteString(s)
	}
	return b.String()
}

// says demands that the strings at a path, concatenated, are not blank.
func says(path string) func([]any) error {
	return func(items []any) error {
		if strings.TrimSpace(joined(items, path)) == "" {
			return fmt.Errorf("all of %s together are empty", path)
		}
		return nil
	}
}

func media(h http.Header) string {
	m, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return m
}

// whole demands one of the statuses and a complete reply. Otherwise the other rules make no sense.
func whole(place string, statuses ...int) Rule {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(statuses), " ", " or "), "[]")
	return Rule{Name: "status", Place: place, Demand: "The status is " + list + " and the reply is complete.", basic: true,
		holds: func(r *Reply) error {
			if r.Err != nil {
				return r.Err
			}
			if !slices.Contains(statuses, r.Status) {
				return fmt.Errorf("the status is %d", r.Status)
			}
			return nil
		}}
}

// typed demands one of the media types.
func typed(place string, types ...string) Rule {
	return Rule{Name: "media-type", Place: place, Demand: "The Content-Type is " + strings.Join(types, " or ") + ".",
		holds: func(r *Reply) error {
			if !slices.Contains(types, media(r.Header)) {
				return fmt.Errorf("the Content-Type is %q", r.Header.Get("Content-Type"))
			}
			return nil
		}}
}

// framed demands that the body has the framing of the exchange.
func framed(place, demand string) Rule {
	return Rule{Name: "framing", Place: place, Demand: demand, basic: true, holds: func(r *Reply) error { return r.malformed }}
}

// json1 are the rules of every reply that is one JSON value.
func json1(place string, statuses ...int) []Rule {
	return []Rule{whole(place, statuses...), typed(place, "application/json"),
		framed(place, "The body is one JSON value in UTF-8, without a key twice in one object.")}
}

// unbuffered demands that a stream is sent in chunks, not as one body.
func unbuffered(place string) Rule {
	return Rule{Name: "chunked", Place: place, Demand: "The stream is sent in chunks as it is made: it has neither Content-Length nor Content-Encoding.",
		holds: func(r *Reply) error {
			for _, name := range []string{"Content-Length", "Content-Encoding"} {
				if v := r.Header.Get(name); v != "" {
					return fmt.Errorf("it has %s: %s", name, shorten(v, 40))
				}
			}
			return nil
		}}
}

// traces matches text that reveals the inside of a server: stack traces, paths and keys.
var traces = lazyregexp.New(`Traceback \(most recent|goroutine \d+ \[|^\s+at .+\(.+:\d+\)|File "[^"]+", line \d+|panic: |(?i)\bsk-[a-z0-9]{16}|/site-packages/|node_modules/`)

// refusal are the rules of a reply to a bad request: a status from 400 to 499, and a body in the protocol's shape.
func refusal(place, demand string, judgements ...judgement) []Rule {
	return []Rule{
		{Name: "status", Place: place, Demand: "A bad request is refused with a status from 400 to 499.", basic: true, holds: func(r *Reply) error {
			if r.Err != nil {
				return r.Err
			}
			if r.Status < 400 || r.Status > 499 {
				return fmt.Errorf("the status is %d", r.Status)
			}
			return nil
		}},
		typed(place, "application/json"),
		framed(place, "The body is one JSON value in UTF-8, without a key twice in one object."),
		rule("error", place, demand, judgements...),
		{Name: "discreet", Place: place, Demand: "An error does not show the inside of the server: no stack, path or key.", holds: func(r *Reply) error {
			if found := traces.Find(r.Body); found != nil {
				return fmt.Errorf("it shows %q", shorten(string(found), 60))
			}
			return nil
		}},
	}
}

// ordered demands that all events of an order occur, and that their first occurrences are in this order.
func ordered(events []string, order ...string) error {
	at := -1
	for _, name := range order {
		next := slices.Index(events, name)
		if next < 0 {
			return fmt.Errorf("the event %s is missing", name)
		}
		if next < at {
			return fmt.Errorf("the event %s comes too early", name)
		}
		at = next
	}
	return nil
}

var errNoItems = errors.New("the stream has no items")
