package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// FolderFiles are the names of the file in a folder that describes the files below it. The second
// spelling is read for the same reason as that of sidecars.
var FolderFiles = []string{"parley.yaml", "parley.yml"}

// IsFolderFile reports whether a name is one of FolderFiles, ignoring case.
func IsFolderFile(name string) bool {
	return slices.ContainsFunc(FolderFiles, func(n string) bool { return strings.EqualFold(n, name) })
}

// Rules are the contents of a folder's parley.yaml, on top of those of the enclosing folders.
type Rules struct {
	dir      string // relative to the root
	around   *Rules // nil at the root
	defaults Fields
	entries  []*entry
	err      error // the file is invalid; nothing below it may be indexed
}

// entry is the metadata that a folder's file gives to some of the files below it.
type entry struct {
	pattern string
	matches *regexp.Regexp
	layer   Fields
	used    atomic.Bool // it has matched a file
}

// folderKeys are the keys of a folder's file.
type folderKeys struct {
	URL       *string   `yaml:"url"`
	Category  *string   `yaml:"category"`
	Users     yaml.Node `yaml:"users"`
	Groups    yaml.Node `yaml:"groups"`
	Everybody yaml.Node `yaml:"everybody"`
	Passwords yaml.Node `yaml:"passwords"`
	Namespace yaml.Node `yaml:"namespace"`

	Attributes yaml.Node `yaml:"attributes"`

	Files yaml.Node `yaml:"files"`
}

// NewRules returns rules that give files below a folder the same fields.
func NewRules(dir string, around *Rules, defaults Fields) *Rules {
	return &Rules{dir: dir, around: around, defaults: defaults}
}

// At returns the rules for a folder at another path.
func (r *Rules) At(dir string) *Rules {
	r.dir = dir
	return r
}

// Dir returns the folder, relative to the root.
func (r *Rules) Dir() string { return r.dir }

// ReadRules reads the file of a folder. If there is none, it returns the rules around it.
func ReadRules(t Tree, dir string, around *Rules) *Rules {
	own := around
	for _, name := range FolderFiles {
		data, err := readSmall(t, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if own != around {
			own.err = fmt.Errorf("the folder %s has two files, parley.yaml and parley.yml", shownDir(dir))
			return own
		}
		own = &Rules{dir: dir, around: around}
		if err == nil {
			err = own.parse(data)
		} else {
			err = &UnreadError{"the file", Cause(err)}
		}
		if err != nil {
			own.err = fmt.Errorf("the %s of the folder %s is not valid: %w", name, shownDir(dir), err)
		}
	}
	return own
}

func shownDir(dir string) string {
	if dir == "." {
		return "that was ingested"
	}
	return text.Printable(dir)
}

func (r *Rules) parse(data []byte) error {
	var k folderKeys
	if err := decodeStrictly(data, &k); err != nil {
		return err
	}
	var err error
	r.defaults, err = keys{
		URL: k.URL, Category: k.Category, Users: k.Users, Groups: k.Groups, Everybody: k.Everybody, Passwords: k.Passwords, Namespace: k.Namespace,
		Attributes: k.Attributes,
	}.fields()
	if err != nil {
		return err
	}
	if k.Files.Kind == 0 {
		return nil
	}
	if k.Files.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: files must be a mapping of names to their metadata", k.Files.Line)
	}
	for i := 0; i+1 < len(k.Files.Content); i += 2 {
		e, err := newEntry(k.Files.Content[i], k.Files.Content[i+1])
		if err != nil {
			return err
		}
		r.entries = append(r.entries, e)
	}
	return nil
}

func newEntry(name, value *yaml.Node) (*entry, error) {
	matches, err := patternOf(name.Value)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", name.Line, err)
	}
	// Decoding a node into a struct ignores unknown keys; decoding its text does not.
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, yamlError(err)
	}
	l, err := parseSidecar(text)
	if err != nil {
		return nil, fmt.Errorf("line %d: of %q: %w", value.Line, name.Value, err)
	}
	return &entry{pattern: name.Value, matches: matches, layer: l}, nil
}

// asterisks matches runs of asterisks that mean the same as two of them, but cost more.
var asterisks = lazyregexp.New(`\*{3,}`)

// patternOf converts a file name pattern to an expression for paths below the folder: * matches any
// characters except /, ** any, and ? one. A pattern without / is matched with the last part of the path.
func patternOf(pattern string) (*regexp.Regexp, error) {
	clean := asterisks.ReplaceAllString(strings.TrimPrefix(pattern, "./"), "**")
	if clean == "" || strings.HasPrefix(clean, "/") || slices.Contains(strings.Split(clean, "/"), "..") {
		return nil, fmt.Errorf("%q is not a pattern of names below the folder", pattern)
	}
	var b strings.Builder
	b.WriteString("^")
	if !strings.Contains(clean, "/") {
		b.WriteString("(?:.*/)?")
	}
	for i := 0; i < len(clean); {
		switch {
		case strings.HasPrefix(clean[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 3
		case strings.HasPrefix(clean[i:], "**"):
			b.WriteString(".*")
			i += 2
		case clean[i] == '*':
			b.WriteString("[^/]*")
			i++
		case clean[i] == '?':
			b.WriteString("[^/]")
			i++
		default:
			n := strings.IndexAny(clean[i:], "*?")
			if n < 0 {
				n = len(clean) - i
			}
			b.WriteString(regexp.QuoteMeta(clean[i : i+n]))
			i += n
		}
	}
	b.WriteString("$")
	return regexp.Compile(b.String())
}

// about returns what all rules say about the file at a path relative to the root. around holds the files
// that contain it, outermost first. Inner folders take precedence, and within a folder later entries. An
// entry for an archive applies to the files inside it like the folder's own fields, except for title and
// address.
func (r *Rules) about(file string, around []string) (Said, error) {
	if r == nil {
		return Said{}, nil
	}
	a, err := r.around.about(file, around)
	if err != nil {
		return Said{}, err
	}
	if r.err != nil {
		return Said{}, r.err
	}
	own := r.defaults
	if own.URL != nil {
		own.URL = nil
		if len(around) == 0 {
			address := addressBelow(*r.defaults.URL, r.rel(file))
			own.URL = &address
		}
	}
	a.Defaults = a.Defaults.over(own)
	for _, e := range r.entries {
		if e.matches.MatchString(r.rel(file)) {
			e.used.Store(true)
			a.Says = a.Says.over(e.layer)
		} else if slices.ContainsFunc(around, func(p string) bool { return r.rel(p) != "" && e.matches.MatchString(r.rel(p)) }) {
			a.Defaults = a.Defaults.over(e.layer.Inherited())
		}
	}
	return a, nil
}

// rel returns a path relative to the root as a path relative to the rules' folder, or "" if it is not
// below that folder.
func (r *Rules) rel(file string) string {
	if r.dir == "." {
		return file
	}
	rel, ok := strings.CutPrefix(file, r.dir+"/")
	if !ok {
		return ""
	}
	return rel
}

// Unused returns the patterns that matched no file.
func (r *Rules) Unused() []string {
	var patterns []string
	for _, e := range r.entries {
		if !e.used.Load() {
			patterns = append(patterns, e.pattern)
		}
	}
	return patterns
}
