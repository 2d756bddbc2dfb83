package markup

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"parley/internal/attribute"
	"parley/internal/extract"
	"parley/internal/lazyregexp"
)

// frontMatter is the metadata at the beginning of a Markdown file.
type frontMatter struct{ language, text string }

// cutFrontMatter separates front matter from the rest: YAML between a first line "---" and the next line "---" or "...",
// or TOML between two lines "+++".
func cutFrontMatter(source string) (m frontMatter, body string, ok bool) {
	m, end := frontMatter{language: "YAML"}, yamlEnd
	rest, found := strings.CutPrefix(source, "---\n")
	if !found {
		m.language, end = "TOML", tomlEnd
		if rest, found = strings.CutPrefix(source, "+++\n"); !found {
			return m, source, false
		}
	}
	at := end.FindStringIndex(rest)
	if at == nil {
		return m, source, false
	}
	m.text = rest[:at[0]]
	return m, rest[at[1]:], true
}

var (
	yamlEnd   = lazyregexp.New(`(?m)^(?:---|\.\.\.)[ \t]*(?:\n|\z)`)
	tomlEnd   = lazyregexp.New(`(?m)^\+\+\+[ \t]*(?:\n|\z)`)
	accessKey = lazyregexp.New(`(?m)^\s*(?:\[\[?\s*)?["']?(?:users|groups|everybody|namespace)["']?\s*(?:[:=]|\]\]?\s*(?:#|$))`)
)

// meta parses the front matter.
func (m frontMatter) meta() (extract.Meta, error) {
	if m.language == "YAML" {
		return parseMeta(m.text)
	}
	if len(m.text) > maxTOML {
		return extract.Meta{}, fmt.Errorf("it has more than %d KiB", maxTOML>>10)
	}
	var values map[string]any // authors choose the names and types of the values
	if _, err := toml.Decode(m.text, &values); err != nil {
		return extract.Meta{}, errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "toml: ")), " "))
	}
	plain, err := withPlainDates(values, 0)
	if err != nil {
		return extract.Meta{}, err
	}
	text, err := yaml.Marshal(plain)
	if err != nil {
		return extract.Meta{}, fmt.Errorf("read its values: %w", err)
	}
	meta, err := parseMeta(string(text))
	if err != nil {
		err = errors.New(yamlLine.ReplaceAllString(err.Error(), "the value")) // the line number refers to the rewritten values, not to the file
	}
	return meta, err
}

// The limits of TOML. The time to read it grows with the square of the depth of its values, as does the size of the same
// values in YAML.
const (
	maxTOML      = 8 << 10 // bytes
	maxTOMLDepth = 100
)

var yamlLine = lazyregexp.New(`line \d+`)

// withPlainDates returns a value of TOML in which dates are texts, without a time or a zone unless the file gives one.
func withPlainDates(value any, depth int) (plain any, err error) {
	if depth > maxTOMLDepth {
		return nil, fmt.Errorf("it has more than %d levels", maxTOMLDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			if v[key], err = withPlainDates(one, depth+1); err != nil {
				return nil, err
			}
		}
	case []map[string]any: // a table that occurs several times
		for i := range v {
			if _, err := withPlainDates(v[i], depth+1); err != nil { // changes v[i] in place
				return nil, err
			}
		}
	case []any:
		for i, one := range v {
			if v[i], err = withPlainDates(one, depth+1); err != nil {
				return nil, err
			}
		}
	case time.Time:
		layout := map[string]string{"date-local": time.DateOnly, "time-local": time.TimeOnly, "datetime-local": "2006-01-02T15:04:05"}[v.Location().String()]
		if layout == "" {
			layout = time.RFC3339
		}
		return v.Format(layout), nil
	}
	return value, nil
}

// parseMeta reads the mapping in front matter. Users and groups may be a list or a single name; the namespace is a
// single name.
func parseMeta(matter string) (extract.Meta, error) {
	var m struct {
		Title    string    `yaml:"title"`
		URL      string    `yaml:"url"`
		Category string    `yaml:"category"`
		Users    yaml.Node `yaml:"users"`
		Groups   yaml.Node `yaml:"groups"`

		Everybody yaml.Node `yaml:"everybody"`
		Namespace yaml.Node `yaml:"namespace"`
	}
	var texts struct{ Title, URL, Category yaml.Node } // to name the key whose value is not a text
	if yaml.Unmarshal([]byte(matter), &texts) == nil {
		for _, text := range []struct {
			key   string
			value *yaml.Node
		}{{"title", &texts.Title}, {"url", &texts.URL}, {"category", &texts.Category}} {
			if text.value.Kind == yaml.MappingNode || text.value.Kind == yaml.SequenceNode {
				return extract.Meta{}, fmt.Errorf("line %d: %s must be one text", text.value.Line+1, text.key)
			}
		}
	}
	if err := yaml.Unmarshal([]byte(matter), &m); err != nil {
		return extract.Meta{}, errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	users, err := yamlNames(&m.Users)
	if err != nil {
		return extract.Meta{}, fmt.Errorf("users: %w", err)
	}
	groups, err := yamlNames(&m.Groups)
	if err != nil {
		return extract.Meta{}, fmt.Errorf("groups: %w", err)
	}
	if n := m.Namespace; n.Kind != 0 && (n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "") {
		return extract.Meta{}, fmt.Errorf("line %d: namespace must be a name", n.Line+1)
	}
	var everybody *string
	if n := m.Everybody; n.Kind == yaml.ScalarNode {
		everybody = &n.Value
	} else if n.Kind != 0 {
		return extract.Meta{}, fmt.Errorf("line %d: everybody must be one word", n.Line+1)
	}
	return extract.Meta{Title: m.Title, URL: m.URL, Category: m.Category, Users: users, Groups: groups, Everybody: everybody,
		Namespace: strings.TrimSpace(m.Namespace.Value), Attributes: attributesIn(matter), Unknown: unknownRestriction(matter)}, nil
}

// attributesIn returns the keys of front matter that parseMeta does not read, with their values.
func attributesIn(matter string) json.RawMessage {
	var keys yaml.Node
	if yaml.Unmarshal([]byte(matter), &keys) != nil || len(keys.Content) == 0 || keys.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	values, _ := attribute.FromYAML(keys.Content[0], func(key string) bool {
		return slices.Contains([]string{"title", "url", "category", "users", "groups", "everybody", "namespace"}, key)
	})
	return values.Encode()
}

// yamlNames returns the names in a list, or a single name as a list. A key that is set must name somebody: an empty list
// more likely means "nobody" than "everybody", so it is an error.
func yamlNames(n *yaml.Node) ([]string, error) {
	if n.Kind == 0 {
		return nil, nil
	}
	var names []string
	switch n.Kind {
	case yaml.ScalarNode:
		names = []string{n.Value}
	case yaml.SequenceNode:
		if err := n.Decode(&names); err != nil {
			return nil, fmt.Errorf("line %d is not a list of names", n.Line+1)
		}
	default:
		return nil, fmt.Errorf("line %d is neither a list nor a name", n.Line+1)
	}
	blank := func(name string) bool { return strings.TrimSpace(name) == "" }
	if n.Tag == "!!null" || len(names) == 0 || slices.ContainsFunc(names, blank) {
		return nil, fmt.Errorf("line %d names nobody", n.Line+1)
	}
	return names, nil
}
