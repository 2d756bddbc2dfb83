// Package attribute has the attributes of documents, as keys and values, and conditions on them: "tags is policy, and date is
// after 2025-01-01".
package attribute

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/internal/lazyregexp"
)

// Values are the attributes of a document by key. Each is a string, a float64, a bool, or a list ([]any) of these.
type Values map[string]any

// Decode reads a JSON object of attributes. Other text, and nil, give no attributes.
func Decode(object []byte) (v Values) {
	if len(object) == 0 || json.Unmarshal(object, &v) != nil {
		return nil
	}
	return v
}

// Encode returns the attributes as a JSON object with sorted keys; nil if there are none.
func (v Values) Encode() json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	object, err := json.Marshal(v)
	if err != nil {
		panic("attribute: values are not JSON: " + err.Error())
	}
	return object
}

// size returns about how many bytes an attribute takes.
func size(key string, value any) int {
	n := len(key) + 8
	list, _ := value.([]any)
	for _, one := range list {
		n += size("", one)
	}
	if text, ok := value.(string); ok {
		n += len(text)
	}
	return n
}

// Bounded returns the attributes that fit the limits of a document, taken in the order of their keys.
func (v Values) Bounded() Values {
	bytes, kept := 0, Values{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if bytes += size(key, v[key]); bytes > MaxBytes || len(kept) == MaxKeys {
			break
		}
		kept[key] = v[key]
	}
	return kept
}

// Add adds a text to the values of a key, within the limits of keys, texts and lists.
func (v Values) Add(key, text string) {
	if key == "" || text == "" || len(key) > MaxKey || len(text) > MaxText || len(v) >= MaxKeys && v[key] == nil {
		return
	}
	switch have := v[key].(type) {
	case nil:
		v[key] = text
	case []any:
		if len(have) < MaxList {
			v[key] = append(have, text)
		}
	default:
		v[key] = []any{have, text}
	}
}

// AddAll adds the parts of a text between commas and semicolons, as keywords are written.
func (v Values) AddAll(key, text string) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ';' }) {
		v.Add(key, strings.TrimSpace(part))
	}
}

// anyOf reports whether f holds for an attribute, or for one of its values if it is a list.
func (v Values) anyOf(key string, f func(any) bool) bool {
	switch have := v[key].(type) {
	case nil:
		return false
	case []any:
		return slices.ContainsFunc(have, f)
	default:
		return f(have)
	}
}

// The limits of the attributes of a document. Whatever exceeds them is left out.
const (
	MaxKeys  = 64
	MaxKey   = 64       // bytes of a key
	MaxText  = 512      // bytes of a text
	MaxList  = 100      // values of a list
	MaxBytes = 16 << 10 // of all keys and texts
	maxNodes = 4096
	maxDepth = 4
)

// Wanted describes the valid values of attributes, for errors.
const Wanted = "a text of 1 to 512 bytes, a number, true or false, or a list of at most 100 of these"

// FromYAML returns the attributes in a YAML mapping, without the keys for which skip returns true. A nested mapping gives keys
// with a dot, such as author.name. left is the first key that is left out because of its value or a limit; "" if there is none.
func FromYAML(n *yaml.Node, skip func(key string) bool) (v Values, left string) {
	r := yamlReader{values: Values{}, nodes: maxNodes, bytes: MaxBytes}
	r.mapping(n, "", 0, skip)
	return r.values, r.left
}

type yamlReader struct {
	values Values
	nodes  int // that may still be read: aliases may repeat them without end
	bytes  int // that values may still take
	left   string
}

func (r *yamlReader) leave(key string) {
	if r.left == "" {
		r.left = key
	}
}

func (r *yamlReader) mapping(n *yaml.Node, prefix string, depth int, skip func(string) bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		name := prefix + key.Value
		if skip != nil && skip(name) {
			continue
		}
		r.nodes--
		switch {
		case key.ShortTag() == "!!merge" && value.Kind == yaml.MappingNode && r.nodes > 0 && depth <= maxDepth:
			r.mapping(value, prefix, depth+1, skip)
		case key.Kind != yaml.ScalarNode, key.Value == "", len(name) > MaxKey, r.nodes < 0, depth > maxDepth, len(r.values) >= MaxKeys:
			r.leave(name)
		case value.Kind == yaml.MappingNode:
			r.mapping(value, name+".", depth+1, nil)
		case value.Kind == yaml.SequenceNode:
			r.list(name, value)
		case value.Tag == "!!null":
		default:
			if one, ok := scalar(value); ok {
				r.set(name, one)
			} else {
				r.leave(name)
			}
		}
	}
}

func (r *yamlReader) list(name string, n *yaml.Node) {
	var all []any
	for _, c := range n.Content {
		one, ok := scalar(resolved(c))
		if r.nodes--; !ok || len(all) == MaxList || r.nodes < 0 {
			r.leave(name)
			continue
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		r.set(name, all)
	}
}

func (r *yamlReader) set(name string, value any) {
	if r.bytes -= size(name, value); r.bytes < 0 {
		r.leave(name)
		return
	}
	r.values[name] = value
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// plainNumber matches a number in decimal digits.
var plainNumber = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?$`)

// scalar returns the value of a YAML scalar. Dates stay texts, and so do numbers that would be written differently once parsed,
// such as a version 1.10 or a code 007.
func scalar(n *yaml.Node) (value any, ok bool) {
	if n.Kind != yaml.ScalarNode {
		return nil, false
	}
	switch n.ShortTag() {
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), true
	case "!!int", "!!float":
		var f float64
		err := n.Decode(&f)
		if plainNumber.MatchString(n.Value) && Written(f) != n.Value {
			break
		}
		return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	case "!!null":
		return nil, false
	}
	text := strings.TrimSpace(n.Value)
	return text, text != "" && len(text) <= MaxText
}

// Written returns a value as people write it; "" for a list or no value.
func Written(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Date:
		return v.Text
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
