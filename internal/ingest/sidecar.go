package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"parley/internal/access"
	"parley/internal/extract"
)

// The endings of a sidecar: report.pdf.parley.yaml says what report.pdf does not say of itself.
// The second one is read because who writes it means it, and may mean to restrict access.
var sidecarSuffixes = []string{".parley.yaml", ".parley.yml"}

// sidecarOf returns the name of the file that a sidecar describes.
func sidecarOf(name string) (string, bool) {
	for _, suffix := range sidecarSuffixes {
		if cut := len(name) - len(suffix); cut > 0 && strings.EqualFold(name[cut:], suffix) {
			return name[:cut], true
		}
	}
	return "", false
}

// sidecar is what a sidecar file says. A nil field was not in it.
type sidecar struct {
	Title    *string   `yaml:"title"`
	URL      *string   `yaml:"url"`
	Category *string   `yaml:"category"`
	Users    yaml.Node `yaml:"users"`
	Groups   yaml.Node `yaml:"groups"`

	users, groups []string
}

// maxSidecar is the most bytes of a sidecar.
const maxSidecar = 64 << 10

// readSidecar reads the sidecar of a file and returns the hash of its bytes; nil and "" when
// there is none. An invalid one is an error with a hash, one that cannot be read an error without.
func readSidecar(dir *os.Root, file string) (*sidecar, string, error) {
	var found *sidecar
	var hash string
	for _, suffix := range sidecarSuffixes {
		f, err := dir.OpenFile(filepath.FromSlash(file+suffix), os.O_RDONLY|nonblock, 0)
		if errors.Is(err, fs.ErrNotExist) || isNameTooLong(err) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("its sidecar cannot be read: %s", cause(err))
		}
		data, err := io.ReadAll(io.LimitReader(f, maxSidecar+1))
		f.Close()
		if err != nil {
			return nil, "", fmt.Errorf("its sidecar cannot be read: %s", cause(err))
		}
		if hash != "" {
			return nil, "", errors.New("it has two sidecars, .parley.yaml and .parley.yml")
		}
		sum := sha256.Sum256(data)
		hash = hex.EncodeToString(sum[:])
		if found, err = parseSidecar(data); err != nil {
			return nil, hash, fmt.Errorf("its sidecar is not valid: %w", err)
		}
	}
	return found, hash, nil
}

// parseSidecar reads a sidecar strictly: an unknown key may be a misspelt restriction.
func parseSidecar(data []byte) (*sidecar, error) {
	if len(data) > maxSidecar {
		return nil, fmt.Errorf("it has more than %d bytes", maxSidecar)
	}
	var s sidecar
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&s); errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty")
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	var err error
	if s.users, err = namesIn(s.Users, "users"); err != nil {
		return nil, err
	}
	if s.groups, err = namesIn(s.Groups, "groups"); err != nil {
		return nil, err
	}
	if s.URL != nil && !isWebURL(*s.URL) {
		return nil, errors.New("url is not an http or https address")
	}
	return &s, nil
}

// yamlError makes a decoder's error one line.
func yamlError(err error) error {
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
}

// namesIn returns a list of names, or a single one. A key without a name is an error: it is not
// for us to guess whether it means everyone or no one.
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
			return nil, fmt.Errorf("line %d: %s must be names", n.Line, key)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("line %d: %s names nobody; leave it out to let everyone in", n.Line, key)
	}
	return names, nil
}

// metadata is what a document is stored with.
type metadata struct {
	title, url, category string
	access               access.List
}

// describe merges what a document says of itself with its sidecar, which may be nil and has the
// last word. Users and groups belong together: a sidecar with either replaces both.
func describe(doc *extract.Document, s *sidecar, file string) (metadata, error) {
	m := metadata{
		title: doc.Meta.Title, category: doc.Meta.Category,
		access: access.List{Users: doc.Meta.Users, Groups: doc.Meta.Groups},
	}
	if isWebURL(doc.Meta.URL) {
		m.url = doc.Meta.URL
	}
	if s != nil {
		replace(&m.title, s.Title)
		replace(&m.url, s.URL)
		replace(&m.category, s.Category)
		if s.users != nil || s.groups != nil {
			m.access = access.List{Users: s.users, Groups: s.groups}
		}
	}
	for _, name := range append(append([]string{}, m.access.Users...), m.access.Groups...) {
		if strings.TrimSpace(name) == "" {
			return metadata{}, errors.New("one of the users or groups that may see it has no name")
		}
	}
	m.category = oneLine(m.category)
	for _, title := range []string{m.title, doc.Title, strings.TrimSuffix(file, filepath.Ext(file)), file} {
		if m.title = oneLine(title); m.title != "" {
			return m, nil
		}
	}
	m.title = "untitled"
	return m, nil
}

func replace(old *string, by *string) {
	if by != nil {
		*old = *by
	}
}

// oneLine makes text valid UTF-8 without control characters and runs of white space.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.Join(strings.Fields(s), " ")
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
