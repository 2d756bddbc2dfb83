package dify

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// The limits of a request.
const (
	defaultLimit  = 4
	maxConditions = 200
	maxValues     = 1000 // names and values of all conditions together
)

// request is the decoded body of POST /retrieval.
type request struct {
	knowledge string
	query     string
	limit     int     // number of records
	least     float64 // minimum score
	where     where
}

func requestOf(object wire.Object) (in request, err error) {
	var body struct {
		Knowledge wire.Value `json:"knowledge_id"`
		Query     wire.Value `json:"query"`
		Setting   wire.Value `json:"retrieval_setting"`
		Condition wire.Value `json:"metadata_condition"`
	}
	object.Read(&body)
	var ok bool
	if in.knowledge, ok = body.Knowledge.Text(); !ok || in.knowledge == "" {
		return in, wire.Invalidf(`"knowledge_id" must be a string that is not empty: the name of a namespace or the id of a vector store.`)
	}
	in.query, ok = body.Query.Text()
	if in.query = strings.TrimSpace(in.query); !ok || in.query == "" {
		return in, wire.Invalidf(`"query" must be a string that is not empty.`)
	}
	if err := chat.CheckQuestion(in.query); err != nil {
		return in, err
	}
	if in.limit, in.least, err = settingOf(body.Setting); err != nil {
		return in, err
	}
	in.where, err = whereOf(body.Condition)
	return in, err
}

// settingOf reads retrieval_setting. It reduces limit to chat.MaxTop.
func settingOf(v wire.Value) (limit int, least float64, err error) {
	limit = defaultLimit
	if !v.IsGiven() {
		return limit, 0, nil
	}
	var in struct {
		Limit wire.Value `json:"top_k"`
		Least wire.Value `json:"score_threshold"`
	}
	if !v.Read(&in) {
		return 0, 0, wire.Invalidf(`"retrieval_setting" must be an object.`)
	}
	if in.Limit.IsGiven() {
		n, ok := in.Limit.Number()
		if !ok || n < 1 || n != float64(int64(n)) {
			return 0, 0, wire.Invalidf(`"retrieval_setting.top_k" must be a whole number of at least 1.`)
		}
		limit = int(min(n, chat.MaxTop))
	}
	if in.Least.IsGiven() {
		n, ok := in.Least.Number()
		if !ok || n < 0 || n > 1 {
			return 0, 0, wire.Invalidf(`"retrieval_setting.score_threshold" must be a number from 0 to 1.`)
		}
		least = n
	}
	return limit, least, nil
}

// where is a metadata_condition. The zero value holds for every record.
type where struct {
	text       string // of the metadata_condition
	either     bool   // one condition that holds is enough ("or")
	conditions []condition
}

// condition compares a member of the metadata with values.
type condition struct {
	names  []string // it is enough that the test succeeds for one of these members
	negate bool
	values int                 // number of names and values, for the limit
	test   func(have any) bool // have is a string, a float64 or a bool; nil if the member is missing
}

// passageMembers are the members of the metadata that differ between the passages of a document. documentMembers are
// those of the document, with the names of their attributes. All others are attributes of documents, or of files in a
// vector store, under their own names.
var (
	passageMembers  = []string{"url", "section", "page"}
	documentMembers = map[string]string{
		"path": retrieval.AttributePath, "document_title": retrieval.AttributeTitle, "source_url": retrieval.AttributeURL,
		"category": retrieval.AttributeCategory, "indexed_at": retrieval.AttributeIndexedAt,
	}
)

// reserved are the members that attributes cannot override.
var reserved = slices.Concat(passageMembers, slices.Collect(maps.Keys(documentMembers)))

// holds reports whether a condition holds for the metadata of a record. For a list, it is enough that one value passes
// the test.
func (c condition) holds(metadata attribute.Values) bool {
	return slices.ContainsFunc(c.names, func(name string) bool {
		if list, ok := metadata[name].([]any); ok {
			return slices.ContainsFunc(list, c.test)
		}
		return c.test(metadata[name])
	}) != c.negate
}

func (w where) holds(metadata attribute.Values) bool {
	for _, c := range w.conditions {
		if c.holds(metadata) == w.either {
			return w.either
		}
	}
	return !w.either || len(w.conditions) == 0
}

// part returns the conditions that name only members of a kind. ok is false if there are none, or if they are alternatives to
// other conditions.
func (w where) part(ofKind func(name string) bool) (part where, ok bool) {
	part = where{text: w.text, either: w.either}
	for _, c := range w.conditions {
		if !slices.ContainsFunc(c.names, func(name string) bool { return !ofKind(name) }) {
			part.conditions = append(part.conditions, c)
		}
	}
	return part, len(part.conditions) > 0 && (!w.either || len(part.conditions) == len(w.conditions))
}

// examines reports whether a condition names a member of passages, so that the search itself cannot filter by it.
func (w where) examines() bool {
	return slices.ContainsFunc(w.conditions, func(c condition) bool { return slices.ContainsFunc(c.names, isOfPassage) })
}

func isOfPassage(name string) bool { return slices.Contains(passageMembers, name) }

func whereOf(v wire.Value) (w where, err error) {
	if !v.IsGiven() {
		return w, nil
	}
	w.text = string(v)
	var in struct {
		Operator   wire.Value `json:"logical_operator"`
		Conditions wire.Value `json:"conditions"`
	}
	if !v.Read(&in) {
		return w, wire.Invalidf(`"metadata_condition" must be an object.`)
	}
	operator, ok := in.Operator.Text()
	if operator = cmp.Or(operator, "and"); in.Operator.IsGiven() && !ok || operator != "and" && operator != "or" {
		return w, wire.Invalidf(`"metadata_condition.logical_operator" must be "and" or "or".`)
	}
	w.either = operator == "or"
	if !in.Conditions.IsGiven() {
		return w, nil
	}
	elements, ok := in.Conditions.Elements()
	if _, few := wire.AtMost(maxConditions, elements); !ok || !few {
		return w, wire.Invalidf(`"metadata_condition.conditions" must be a list of at most %d conditions.`, maxConditions)
	}
	values := 0
	for v := range elements {
		c, err := conditionOf(v)
		if err != nil {
			return w, err
		}
		if values += c.values; values > maxValues {
			return w, wire.Invalidf(`"metadata_condition" must have at most %d names and values.`, maxValues)
		}
		w.conditions = append(w.conditions, c)
	}
	return w, nil
}

func conditionOf(v wire.Value) (c condition, err error) {
	var in struct {
		Name     wire.Value `json:"name"`
		Operator wire.Value `json:"comparison_operator"`
		Value    wire.Value `json:"value"`
	}
	if !v.Read(&in) {
		return c, wire.Invalidf("Each condition must be an object.")
	}
	if c.names = textsOf(in.Name); len(c.names) == 0 || slices.Contains(c.names, "") {
		return c, wire.Invalidf(`The "name" of a condition must be a string that is not empty, or a list of such strings.`)
	}
	name, _ := in.Operator.Text()
	op, ok := operators[name]
	if !ok {
		return c, wire.Invalidf(`The "comparison_operator" of a condition must be one of %s.`, strings.Join(operatorNames, ", "))
	}
	test, ok := op.of(in.Value)
	if !ok {
		return c, wire.Invalidf(`The "value" of a condition with %q must be %s.`, name, op.wants)
	}
	c.negate, c.test, c.values = op.negate, test, len(c.names)+1
	if list, ok := in.Value.Elements(); ok {
		n, _ := wire.AtMost(maxValues, list)
		c.values += n
	}
	return c, nil
}

// textsOf returns a string, or the strings of a list of at most maxValues; nil if v is something else.
func textsOf(v wire.Value) (texts []string) {
	elements, ok := v.Elements()
	if !ok {
		if text, ok := v.Text(); ok {
			return []string{text}
		}
		return nil
	}
	if _, few := wire.AtMost(maxValues, elements); !few {
		return nil
	}
	for v := range elements {
		text, ok := v.Text()
		if !ok {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// operator is a comparison operator. of makes its test for the value of a condition; ok is false if the
// value is not suitable.
type operator struct {
	of     func(v wire.Value) (test func(have any) bool, ok bool)
	negate bool   // the condition holds if the test fails. Every test except empty fails for a missing member
	wants  string // what the value must be, for error messages
}

// operators are Dify's comparison operators, by name.
var operators = map[string]operator{
	"contains":     {of: texts(strings.Contains), wants: wantsText},
	"not contains": {of: texts(strings.Contains), negate: true, wants: wantsText},
	"start with":   {of: texts(strings.HasPrefix), wants: wantsText},
	"end with":     {of: texts(strings.HasSuffix), wants: wantsText},
	"is":           {of: texts(equal), wants: wantsText},
	"is not":       {of: texts(equal), negate: true, wants: wantsText},
	"in":           {of: among, wants: wantsList},
	"not in":       {of: among, negate: true, wants: wantsList},
	"empty":        {of: empty},
	"not empty":    {of: empty, negate: true},
	"=":            {of: numbers(func(c int) bool { return c == 0 }), wants: wantsNumber},
	"≠":            {of: numbers(func(c int) bool { return c == 0 }), negate: true, wants: wantsNumber},
	">":            {of: numbers(func(c int) bool { return c > 0 }), wants: wantsNumber},
	"<":            {of: numbers(func(c int) bool { return c < 0 }), wants: wantsNumber},
	"≥":            {of: numbers(func(c int) bool { return c >= 0 }), wants: wantsNumber},
	"≤":            {of: numbers(func(c int) bool { return c <= 0 }), wants: wantsNumber},
	"before":       {of: moments(func(c int) bool { return c < 0 }), wants: wantsMoment},
	"after":        {of: moments(func(c int) bool { return c > 0 }), wants: wantsMoment},
}

const (
	wantsText   = "a string, a number or a list of at most 1000 strings"
	wantsList   = "a list of at most 1000 strings, or a string with commas between them"
	wantsNumber = "a number"
	wantsMoment = "a date such as 2026-11-23, a time of RFC 3339, or a number of seconds since 1970"
)

var operatorNames = func() (names []string) {
	for name := range operators {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

func equal(have, want string) bool { return have == want }

// texts compares as strings. For a list of wanted values, it is enough that one matches.
func texts(compare func(have, want string) bool) func(wire.Value) (func(any) bool, bool) {
	return func(v wire.Value) (func(any) bool, bool) {
		wanted := textsOf(v)
		if n, ok := v.Number(); ok && len(wanted) == 0 {
			wanted = []string{attribute.Written(n)}
		}
		return func(have any) bool {
			return have != nil && slices.ContainsFunc(wanted, func(want string) bool { return compare(attribute.Written(have), want) })
		}, len(wanted) > 0
	}
}

func among(v wire.Value) (func(any) bool, bool) {
	list := textsOf(v)
	if text, ok := v.Text(); ok {
		list = strings.Split(text, ",")
	}
	wanted := make(map[string]bool, len(list)) // a string may have very many
	for _, text := range list {
		wanted[strings.TrimSpace(text)] = true
	}
	return func(have any) bool { return have != nil && wanted[attribute.Written(have)] }, len(list) > 0
}

func empty(wire.Value) (func(any) bool, bool) {
	return func(have any) bool { return have == nil || have == "" }, true
}

func numbers(fits func(c int) bool) func(wire.Value) (func(any) bool, bool) {
	return func(v wire.Value) (func(any) bool, bool) {
		want, ok := v.Number()
		return func(have any) bool {
			n, ok := have.(float64)
			return ok && fits(cmp.Compare(n, want))
		}, ok
	}
}

func moments(fits func(c int) bool) func(wire.Value) (func(any) bool, bool) {
	return func(v wire.Value) (func(any) bool, bool) {
		var given any
		if text, ok := v.Text(); ok {
			given = text
		} else if n, ok := v.Number(); ok {
			given = n
		}
		want, ok := momentOf(given)
		return func(have any) bool {
			at, ok := momentOf(have)
			return ok && fits(at.Compare(want))
		}, ok
	}
}

// momentOf reads a date, a time of RFC 3339, or a number of seconds since 1970.
func momentOf(v any) (at time.Time, ok bool) {
	switch v := v.(type) {
	case attribute.Date:
		return attribute.Moment(v.Text)
	case float64:
		return time.Unix(int64(v), 0), v > -1e12 && v < 1e12
	case string:
		if at, ok := attribute.Moment(v); ok {
			return at, true
		}
		if n, err := strconv.ParseInt(v, 10, 40); err == nil {
			return time.Unix(n, 0), true
		}
	}
	return at, false
}
