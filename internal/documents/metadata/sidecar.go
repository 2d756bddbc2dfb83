package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// SidecarSuffixes are the endings of sidecars: report.pdf.parley.yaml describes report.pdf. The second
// spelling is read because its author means a sidecar, perhaps to restrict access.
var SidecarSuffixes = []string{".parley.yaml", ".parley.yml"}

// SidecarOf returns the name of the file that a sidecar describes.
func SidecarOf(name string) (string, bool) {
	for _, suffix := range SidecarSuffixes {
		if cut := len(name) - len(suffix); cut > 0 && strings.EqualFold(name[cut:], suffix) {
			return name[:cut], true
		}
	}
	return "", false
}

// keys are the keys of a sidecar, or of an entry in a folder's file.
type keys struct {
	Title     *string   `yaml:"title"`
	URL       *string   `yaml:"url"`
	Category  *string   `yaml:"category"`
	Users     yaml.Node `yaml:"users"`
	Groups    yaml.Node `yaml:"groups"`
	Everybody yaml.Node `yaml:"everybody"`
	Password  yaml.Node `yaml:"password"`
	Passwords yaml.Node `yaml:"passwords"`
	Namespace yaml.Node `yaml:"namespace"`

	Attributes yaml.Node `yaml:"attributes"`

	SkipSections yaml.Node `yaml:"skip_sections"`
	MaxChunks    *int      `yaml:"max_chunks"`
}

// Sidecar returns the text of a sidecar that sets limits.
func Sidecar(l Limits) []byte {
	said := struct {
		SkipSections []string `yaml:"skip_sections,omitempty"`
		MaxChunks    int      `yaml:"max_chunks,omitempty"`
	}{l.SkipSections, l.MaxChunks}
	text, err := yaml.Marshal(said)
	if err != nil {
		panic(fmt.Sprintf("metadata: strings and a number are not YAML: %v", err))
	}
	return text
}

// fields checks and converts the keys.
func (k keys) fields() (Fields, error) {
	l := Fields{Title: k.Title, URL: k.URL, Category: k.Category}
	users, err := namesIn(k.Users, "users")
	if err != nil {
		return Fields{}, err
	}
	groups, err := namesIn(k.Groups, "groups")
	if err != nil {
		return Fields{}, err
	}
	if l.Access, err = listOf(users, groups, wordIn(k.Everybody)); err != nil {
		return Fields{}, err
	}
	if l.Namespace, err = namespaceIn(k.Namespace); err != nil {
		return Fields{}, err
	}
	for _, node := range []yaml.Node{k.Password, k.Passwords} {
		words, err := passwordsIn(node)
		if err != nil {
			return Fields{}, err
		}
		l.Passwords = append(l.Passwords, words...)
	}
	if l.Attributes, err = attributesIn(k.Attributes); err != nil {
		return Fields{}, err
	}
	if l.SkipSections, err = namesIn(k.SkipSections, "skip_sections"); err != nil {
		return Fields{}, err
	}
	if k.MaxChunks != nil {
		if l.MaxChunks = *k.MaxChunks; l.MaxChunks < 1 {
			return Fields{}, errors.New("max_chunks must be 1 or more")
		}
	}
	if l.URL != nil && !isWebURL(*l.URL) {
		return Fields{}, errors.New("url is not an http or https address")
	}
	return l, nil
}

// listOf returns the access list that a place sets, nil if it sets none.
func listOf(users, groups []string, everybody *string) (*access.List, error) {
	named := len(users)+len(groups) > 0
	switch {
	case everybody == nil && !named:
		return nil, nil //nolint:nilnil // not being set is not an error
	case everybody == nil:
		return &access.List{Users: users, Groups: groups}, nil
	case named:
		return nil, errors.New("everybody excludes users and groups")
	}
	return access.Everybody(*everybody)
}

// wordIn returns a text; nil if it is not set, and "" if it is something else.
func wordIn(n yaml.Node) *string {
	switch n.Kind {
	case 0:
		return nil
	case yaml.ScalarNode:
		return &n.Value
	}
	return new(string)
}

// MaxSize is the maximum size in bytes of a sidecar or a folder's file.
const MaxSize = 64 << 10

// Tree contains a file and its sidecars: a folder, or the files inside a file.
type Tree interface {
	// Open opens a file. The error is fs.ErrNotExist if there is none.
	Open(path string) (io.ReadCloser, error)
}

// UnreadError means that a place could not be read. The next run may succeed.
type UnreadError struct{ what, why string }

func (e *UnreadError) Error() string { return e.what + " cannot be read: " + e.why }

// Cause says briefly why something could not be read.
func Cause(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "no permission to read it"
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// readSidecar reads the sidecar of a file. Without a sidecar, the fields are empty.
func readSidecar(t Tree, file string) (l Fields, err error) {
	found := false
	for _, suffix := range SidecarSuffixes {
		data, err := readSmall(t, file+suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Fields{}, &UnreadError{"its sidecar", Cause(err)}
		}
		if found {
			return Fields{}, errors.New("it has two sidecars, .parley.yaml and .parley.yml")
		}
		if l, err = parseSidecar(data); err != nil {
			return Fields{}, fmt.Errorf("its sidecar is not valid: %w", err)
		}
		found = true
	}
	return l, nil
}

// readSmall reads a metadata file, up to one byte more than the limit.
func readSmall(t Tree, path string) ([]byte, error) {
	f, err := t.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

func parseSidecar(data []byte) (Fields, error) {
	var k keys
	if err := decodeStrictly(data, &k); err != nil {
		return Fields{}, err
	}
	return k.fields()
}

// decodeStrictly decodes one YAML document. It rejects unknown keys, which may be misspelt restrictions.
func decodeStrictly(data []byte, into any) error {
	if len(data) > MaxSize {
		return fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	if err := checkKeys(data, into); err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	} else if err != nil {
		return yamlError(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	return nil
}

// yamlError returns a decoder's error on one line.
func yamlError(err error) error {
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
}

// namesIn returns a list of names, or a single name as a list. A key without a name is an error, since
// it may mean everyone or no one.
func namesIn(n yaml.Node, key string) ([]string, error) {
	var nodes []*yaml.Node
	switch n.Kind {
	case 0:
		return nil, nil
	case yaml.SequenceNode:
		nodes = n.Content
	default:
		nodes = []*yaml.Node{&n}
	}
	var names []string
	for _, n := range nodes {
		name := strings.TrimSpace(n.Value)
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || name == "" {
			return nil, fmt.Errorf("line %d: %s must be a name or a list of names", n.Line, key)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("line %d: %s names nobody; leave it out to let everyone in", n.Line, key)
	}
	return names, nil
}

// namespaceIn returns the name of a namespace; nil if not set.
func namespaceIn(n yaml.Node) (*string, error) {
	if n.Kind == 0 {
		return nil, nil // not being set is not an error
	}
	name := strings.TrimSpace(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		name = ""
	}
	if err := retrieval.CheckNamespace(name); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	return &name, nil
}

// attributesIn returns the attributes in a mapping; nil if not set.
func attributesIn(n yaml.Node) (attribute.Values, error) {
	if n.Kind == 0 {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: attributes must be a mapping of names to values", n.Line)
	}
	values, left := attribute.FromYAML(&n, nil)
	if left != "" {
		return nil, fmt.Errorf("line %d: the attribute %s is not valid: each of at most %d attributes, with a name of at most %d bytes, must be %s, and together they may have %d bytes",
			n.Line, text.Printable(left), attribute.MaxKeys, attribute.MaxKey, attribute.Wanted, attribute.MaxBytes)
	}
	return values, nil
}

// maxPasswords limits the number of passwords that are tried on a file.
const maxPasswords = 20

// passwordsIn returns a list of passwords, or a single one as a list, exactly as written.
func passwordsIn(n yaml.Node) ([]string, error) {
	nodes := []*yaml.Node{&n}
	switch n.Kind {
	case 0:
		return nil, nil
	case yaml.SequenceNode:
		nodes = n.Content
	}
	var words []string
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return nil, fmt.Errorf("line %d: a password must be text", n.Line)
		}
		words = append(words, n.Value)
	}
	if len(words) > maxPasswords {
		return nil, fmt.Errorf("line %d: more than %d passwords", n.Line, maxPasswords)
	}
	return words, nil
}
