package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// field describes one setting, read from the tags of Config.
type field struct {
	Name    string   // of the flag, without dashes
	Key     string   // key in the YAML file; dots separate levels
	Envs    []string // the first that is set and not empty counts
	Default string
	Help    string
	Section string // title of the group that begins with this setting
	Secret  bool
	Mapping bool // in the file, it may be a mapping or a list of mappings, which is passed on as JSON
	index   int
}

// fields returns the settings in the order of Config. Callers must not change them.
var fields = sync.OnceValue(readFields)

func readFields() []field {
	t := reflect.TypeFor[Config]()
	list := make([]field, 0, t.NumField())
	section := ""
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if title, ok := tag.Lookup("section"); ok {
			section = title
		}
		_, secret := tag.Lookup("secret")
		_, mapping := tag.Lookup("mapping")
		list = append(list, field{
			Name: tag.Get("name"), Key: tag.Get("yaml"), Envs: strings.Split(tag.Get("env"), ","),
			Default: tag.Get("default"), Help: tag.Get("help"), Section: section, Secret: secret, Mapping: mapping, index: i,
		})
	}
	return list
}

// defaultText returns the default of a flag as written in the tags of Config.
func defaultText(name string) string {
	for _, f := range fields() {
		if f.Name == name {
			return f.Default
		}
	}
	panic("no setting is named " + name)
}

// layers supplies the settings that the command line leaves open, from the environment or else the
// YAML file. kong's defaults come last.
type layers struct {
	lookupEnv func(string) (string, bool)
	file      map[string]fileValue // by key
	path      string               // path of the file, "" without one
	origin    map[string]string    // origin of each value by flag name, for `parley config`
	err       error                // the first value that could not be read
}

type fileValue struct {
	text string
	line int
}

// Validate is part of kong.Resolver. The file is checked when it is read.
func (l *layers) Validate(*kong.Application) error { return nil }

// Resolve returns the text for a flag, or nil if neither layer has one. It keeps the error of an
// unreadable value in l.err, because kong would report the flag's name only.
func (l *layers) Resolve(kctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	i := slices.IndexFunc(fields(), func(f field) bool { return f.Name == flag.Name })
	if i < 0 || !l.ready(kctx) {
		return nil, nil
	}
	f := fields()[i]
	for _, name := range f.Envs {
		if text, _ := l.lookupEnv(name); text != "" {
			return l.accept(flag, text, name), nil
		}
	}
	if v, ok := l.file[f.Key]; ok {
		return l.accept(flag, v.text, fmt.Sprintf("%s:%d", l.path, v.line)), nil
	}
	return nil, nil
}

// accept checks that text is a value for flag, so that the message can name its origin.
func (l *layers) accept(flag *kong.Flag, text, origin string) any {
	target := reflect.New(flag.Target.Type()).Elem()
	token := kong.Token{Type: kong.FlagValueToken, Value: text}
	if err := flag.Parse(kong.ScanFromTokens(token), target); err != nil {
		l.err = usagef("%s: %s", origin, strings.TrimPrefix(err.Error(), "--"+flag.Name+": "))
		return nil
	}
	l.origin[flag.Name] = origin
	return text
}

// ready reads the configuration file once, and reports whether there was no error so far.
func (l *layers) ready(kctx *kong.Context) bool {
	if l.file == nil {
		l.err = l.open(kctx)
	}
	return l.err == nil
}

// open reads the file that --config or PARLEY_CONFIG names.
func (l *layers) open(kctx *kong.Context) error {
	l.file = map[string]fileValue{}
	l.path, _ = l.lookupEnv("PARLEY_CONFIG")
	for _, p := range kctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			l.path, _ = kctx.FlagValue(p.Flag).(string)
		}
	}
	if l.path == "" {
		return nil
	}
	f, err := os.Open(l.path)
	if err == nil {
		defer f.Close()
		var st os.FileInfo
		if st, err = f.Stat(); err == nil && st.IsDir() {
			return usagef("%s is a folder: name the configuration file", l.path)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return usagef("there is no configuration file %s", l.path)
	}
	if err != nil {
		return usagef("read the configuration file: %w", err)
	}
	l.file, err = readConfigFile(f)
	if err != nil {
		return usagef("%s%w", l.path, err)
	}
	return nil
}

// readConfigFile reads a YAML mapping and returns its scalars by dotted key. Its errors begin with
// ":LINE: ", to follow the file's name.
func readConfigFile(r io.Reader) (map[string]fileValue, error) {
	values := map[string]fileValue{}
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if line, ok := indentedWithTab(text); ok { // the parser's own message does not help
			return nil, fmt.Errorf(":%d: is indented with a tab; YAML takes spaces only", line)
		}
		return nil, fmt.Errorf(": %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New(": holds more than one YAML document")
	}
	return values, flatten(doc.Content[0], "", values)
}

// indentedWithTab returns the number of the first line that begins with a tab.
func indentedWithTab(text []byte) (line int, ok bool) {
	for l := range bytes.Lines(text) {
		line++
		if rest := bytes.TrimLeft(l, " "); len(rest) > 0 && rest[0] == '\t' && len(bytes.TrimSpace(rest)) > 0 {
			return line, true
		}
	}
	return 0, false
}

func flatten(node *yaml.Node, prefix string, values map[string]fileValue) error {
	if node.Kind != yaml.MappingNode {
		if prefix == "" && node.Tag == "!!null" {
			return nil
		}
		return fmt.Errorf(":%d: expected keys and values%s", node.Line, below(prefix))
	}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if err := flattenKey(prefix+key.Value, key.Line, value, values); err != nil {
			return err
		}
	}
	return nil
}

func flattenKey(path string, line int, value *yaml.Node, values map[string]fileValue) error {
	if _, twice := values[path]; twice {
		return fmt.Errorf(":%d: key %q appears twice", line, path)
	}
	at := slices.IndexFunc(fields(), func(f field) bool { return f.Key == path })
	section := slices.ContainsFunc(fields(), func(f field) bool { return strings.HasPrefix(f.Key, path+".") }) || removedBelow(path)
	switch {
	case section && value.Tag == "!!null":
		return nil
	case section:
		return flatten(value, path+".", values)
	case removed[path] != "":
		return fmt.Errorf(":%d: %s", line, wasRemoved(path))
	case at < 0:
		return fmt.Errorf(":%d: unknown key %q%s", line, path, suggest(path))
	}
	if fields()[at].Mapping && holdsMappings(value) {
		text, err := flow(value)
		values[path] = fileValue{text: text, line: line}
		return err
	}
	switch value.Kind {
	case yaml.ScalarNode:
		if value.Tag != "!!null" {
			values[path] = fileValue{text: value.Value, line: line}
		}
		return nil
	case yaml.SequenceNode:
		items := make([]string, 0, len(value.Content))
		for _, item := range value.Content {
			items = append(items, item.Value)
		}
		values[path] = fileValue{text: strings.Join(items, ","), line: line}
		return nil
	}
	return fmt.Errorf(":%d: %q takes a single value", line, path)
}

// holdsMappings reports whether a value is a mapping, or a list of mappings only.
func holdsMappings(node *yaml.Node) bool {
	isMapping := func(n *yaml.Node) bool { return n.Kind == yaml.MappingNode }
	return isMapping(node) || node.Kind == yaml.SequenceNode &&
		!slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return !isMapping(n) })
}

// flow returns a YAML mapping, or a list of mappings, as JSON.
func flow(node *yaml.Node) (string, error) {
	var v any = &map[string]any{}
	if node.Kind == yaml.SequenceNode {
		v = &[]map[string]any{}
	}
	if err := node.Decode(v); err != nil {
		return "", fmt.Errorf(":%d: expected names with values", node.Line)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf(":%d: expected names with values", node.Line)
	}
	return string(text), nil
}

func below(prefix string) string {
	if prefix == "" {
		return ""
	}
	return fmt.Sprintf(" below %q", strings.TrimSuffix(prefix, "."))
}

// suggest returns the key or section that was probably meant: it differs in case, dashes and dots
// only, has the same ending, or is a few edits away.
func suggest(path string) string {
	plain := strings.NewReplacer("-", "", "_", "", ".", "")
	best, least := "", len(path)/3+1 // fewer edits than this are a typing error
	for _, f := range fields() {
		if strings.EqualFold(plain.Replace(f.Key), plain.Replace(path)) || strings.HasSuffix(f.Key, "."+path) {
			return didYouMean(f.Key)
		}
		for key := f.Key; key != ""; key = key[:max(strings.LastIndexByte(key, '.'), 0)] { // then the sections above it
			if far := len(path) - len(key); far >= least || -far >= least {
				continue
			}
			if n := edits(path, key); n < least {
				best, least = key, n
			}
		}
	}
	if best != "" {
		return didYouMean(best)
	}
	return "; `parley config` prints all keys"
}

func didYouMean(key string) string { return fmt.Sprintf("; did you mean %q?", key) }

// edits returns how many letters must be changed, inserted, deleted, or swapped with their
// neighbour to turn a into b (optimal string alignment distance).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
