package yourdata

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/lazyregexp"
	"parley/internal/wire"
)

// The limits of an OData filter.
const (
	maxFilterBytes = 16 << 10
	maxFilterDepth = 50
)

// setFilter reads a filter in the OData syntax of Azure AI Search (learn.microsoft.com, "OData $filter in Azure AI Search"),
// whose fields are attributes of documents. It returns "", or what the parameter must be. It refuses geographic and full-text
// functions: ignoring them could reveal documents that they are meant to hide.
func setFilter(o *chat.Options, v wire.Value) string {
	text, ok := v.Text()
	if !ok || len(text) > maxFilterBytes {
		return fmt.Sprintf("a string of at most %d bytes: an OData filter", maxFilterBytes)
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	where, err := parseOData(text)
	if err != nil {
		return "an OData filter: " + err.Error()
	}
	o.Where = where
	return ""
}

// odataToken matches a token: a string, a date with or without a time, a number, a name or function, or punctuation.
var odataToken = lazyregexp.New(`^(?:'(?:[^']|'')*'|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\d{4}-\d\d-\d\d\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[\pL_][\pL\pN_.]*|[(),:/])`)

// odataParser parses a filter from left to right.
type odataParser struct {
	text   string
	tokens []string // that are not parsed yet; the last one is "", for the end
	places []int    // byte offsets of the tokens in text
	n      int      // conditions so far
	depth  int
	// element is the name of the range variable inside any and all; "" elsewhere.
	element string
}

func parseOData(text string) (*attribute.Condition, error) {
	p := &odataParser{text: text}
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		token, at := odataToken.FindString(rest), len(text)-len(rest)
		p.tokens, p.places = append(p.tokens, token), append(p.places, at) // the last token is empty
		if rest == "" {
			break
		}
		if token == "" {
			return nil, fmt.Errorf("character %d is unexpected", p.character(at))
		}
		rest = rest[len(token):]
	}
	c, err := p.either()
	if err == nil && p.next() != "" {
		err = p.expected(`"and", "or" or the end`)
	}
	return c, err
}

// character returns the number of the character at a byte offset, from 1.
func (p *odataParser) character(place int) int { return utf8.RuneCountInString(p.text[:place]) + 1 }

func (p *odataParser) next() string { return p.tokens[0] }

func (p *odataParser) take() (token string) {
	token = p.tokens[0]
	if len(p.tokens) > 1 {
		p.tokens, p.places = p.tokens[1:], p.places[1:]
	}
	return token
}

func (p *odataParser) expected(what string) error {
	if p.next() == "" {
		return fmt.Errorf("the end: expected %s", what)
	}
	return fmt.Errorf("character %d: expected %s, found %q", p.character(p.places[0]), what, p.next())
}

func (p *odataParser) sign(s string) error {
	if p.next() != s {
		return p.expected(s)
	}
	p.take()
	return nil
}

func (p *odataParser) either() (*attribute.Condition, error) {
	return p.chain("or", func() (*attribute.Condition, error) { return p.chain("and", p.unary, attribute.All) }, attribute.Any)
}

// chain reads one or more conditions separated by a word, and joins them.
func (p *odataParser) chain(word string, part func() (*attribute.Condition, error), join func(...*attribute.Condition) *attribute.Condition) (*attribute.Condition, error) {
	var parts []*attribute.Condition
	for {
		c, err := part()
		if err != nil {
			return nil, err
		}
		if parts = append(parts, c); p.next() != word {
			break
		}
		p.take()
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return join(parts...), nil
}

func (p *odataParser) unary() (*attribute.Condition, error) {
	if p.n++; p.n > wire.MaxConditions {
		return nil, fmt.Errorf("it has more than %d conditions", wire.MaxConditions)
	}
	if p.depth++; p.depth > maxFilterDepth {
		return nil, errors.New("it is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch p.next() {
	case "not":
		p.take()
		c, err := p.unary()
		if err != nil {
			return nil, err
		}
		return attribute.Not(c), nil
	case "(":
		p.take()
		c, err := p.either()
		if err == nil {
			err = p.sign(")")
		}
		return c, err
	case "search.in":
		return p.searchIn()
	}
	if _, isLiteral := valueOf(p.next()); isLiteral {
		return p.turned()
	}
	return p.aboutField()
}

// aboutField reads a condition that begins with a field.
func (p *odataParser) aboutField() (*attribute.Condition, error) {
	key, err := p.field()
	if err != nil {
		return nil, err
	}
	if p.next() == "/" {
		return p.lambda(key)
	}
	if operator, ok := comparisons[p.next()]; ok {
		p.take()
		want, ok := valueOf(p.next())
		if !ok {
			return nil, p.expected("a value")
		}
		p.take()
		return comparison(operator, key, want)
	}
	return attribute.Compare("eq", key, true), nil // a boolean field alone
}

// turned reads a comparison whose value comes first, or true or false alone.
func (p *odataParser) turned() (*attribute.Condition, error) {
	want, _ := valueOf(p.take())
	operator, ok := comparisons[p.next()]
	if !ok {
		if all, isBool := want.(bool); isBool {
			return attribute.Test(strconv.FormatBool(all), func(attribute.Values) bool { return all }), nil
		}
		return nil, p.expected("eq, ne, gt, ge, lt or le")
	}
	p.take()
	key, err := p.field()
	if err != nil {
		return nil, err
	}
	if turned, ok := map[string]string{"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte"}[operator]; ok {
		operator = turned
	}
	return comparison(operator, key, want)
}

// comparisons maps the operators of OData to those of attribute.Compare.
var comparisons = map[string]string{"eq": "eq", "ne": "ne", "gt": "gt", "ge": "gte", "lt": "lt", "le": "lte"}

// comparison returns a condition that compares a field with a value. A nil value means null, which a missing field equals.
func comparison(operator, key string, want any) (*attribute.Condition, error) {
	switch {
	case want != nil:
		return attribute.Compare(operator, key, want), nil
	case operator == "eq":
		return attribute.Not(attribute.Present(key)), nil
	case operator == "ne":
		return attribute.Present(key), nil
	}
	return nil, errors.New("null can only be compared with eq and ne")
}

// field reads the path of a field and returns the key of its attribute: author.name for author/name.
func (p *odataParser) field() (string, error) {
	name := p.next()
	if name == "" || strings.ContainsAny(name[:1], "'(),:/-0123456789") || strings.Contains(name, ".") {
		return "", p.expected("the name of a field")
	}
	p.take()
	for p.next() == "/" && len(p.tokens) > 2 && p.tokens[1] != "any" && p.tokens[1] != "all" {
		p.take()
		name += "." + p.take()
	}
	if p.element != "" && name != p.element {
		return "", fmt.Errorf("within any and all, only %s may be compared", p.element)
	}
	return name, nil
}

// lambda reads /any(…) or /all(…) after the name of a list.
func (p *odataParser) lambda(key string) (*attribute.Condition, error) {
	p.take()
	word := p.take()
	if word != "any" && word != "all" {
		return nil, p.expected("any or all")
	}
	if err := p.sign("("); err != nil {
		return nil, err
	}
	if word == "any" && p.next() == ")" {
		p.take()
		return attribute.Present(key), nil
	}
	if p.element != "" {
		return nil, errors.New("any and all cannot be nested")
	}
	element := p.take()
	if err := p.sign(":"); err != nil {
		return nil, err
	}
	p.element = element
	inner, err := p.either()
	p.element = ""
	if err == nil {
		err = p.sign(")")
	}
	if err != nil {
		return nil, err
	}
	return attribute.Test(fmt.Sprintf("%s(%q,%q,%v)", word, key, element, inner), func(v attribute.Values) bool {
		list, isList := v[key].([]any)
		if !isList && v[key] != nil {
			list = []any{v[key]}
		}
		for _, have := range list {
			if inner.Holds(attribute.Values{element: have}) == (word == "any") {
				return word == "any"
			}
		}
		return word == "all"
	}), nil
}

// searchIn reads search.in(field, 'a,b', ','). Each character of the third argument separates values; by default spaces and
// commas do.
func (p *odataParser) searchIn() (*attribute.Condition, error) {
	p.take()
	if err := p.sign("("); err != nil {
		return nil, err
	}
	key, err := p.field()
	if err != nil {
		return nil, err
	}
	delimiters := ", "
	var texts []string
	for p.next() == "," && len(texts) < 2 {
		p.take()
		value, _ := valueOf(p.next())
		text, ok := value.(string)
		if !ok {
			return nil, p.expected("a string")
		}
		p.take()
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, p.expected("a list of values in one string")
	}
	if len(texts) == 2 {
		delimiters = texts[1]
	}
	var values []any
	for _, text := range strings.FieldsFunc(texts[0], func(r rune) bool { return strings.ContainsRune(delimiters, r) }) {
		values = append(values, text)
	}
	if len(values) > wire.MaxConditionValues {
		return nil, fmt.Errorf("search.in has more than %d values", wire.MaxConditionValues)
	}
	return attribute.In(key, values), p.sign(")")
}

// valueOf returns the value of a token: a string, a float64, a bool, or nil for null. A date is a string. ok is false if the
// token is not a value.
func valueOf(token string) (value any, ok bool) {
	switch {
	case token == "null":
		return nil, true
	case token == "true", token == "false":
		return token == "true", true
	case strings.HasPrefix(token, "'"):
		return strings.ReplaceAll(token[1:len(token)-1], "''", "'"), true
	}
	if _, isMoment := attribute.Moment(token); isMoment {
		return token, true
	}
	n, err := strconv.ParseFloat(token, 64)
	return n, err == nil && token[0] != 'I' && token[0] != 'N' && token[0] != 'i' && token[0] != 'n'
}
