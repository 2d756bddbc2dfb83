// Package prompt provides the text of the system role, and makes other text safe to put next to it: in a
// prompt, no text of a document or a client may pass for an instruction, a message, a source or a
// citation.
//
//	set, err := prompt.Load("./prompts")
//	system := set.Text("legal", prompt.Answer)
//	source := label + ": " + prompt.Neutral(chunk.Text)
package prompt

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"parley/internal/lazyregexp"
)

//go:embed default
var embedded embed.FS

// defaultDomain is the domain of requests that name none.
const defaultDomain = "default"

// Name is the name of a prompt. The name of its file in the folder of a domain is Name + ".txt".
type Name string

// The prompts.
const (
	Answer    Name = "answer"
	FollowUps Name = "followups" // follows Answer when follow-ups are requested
	Missing   Name = "missing"   // follows Answer while documents are missing
	Rewrite   Name = "rewrite"
	Clarify   Name = "clarify" // follows Rewrite when the model may ask the user a question
	Summary   Name = "summary"
	Rerank    Name = "rerank"
	Judge     Name = "judge"
)

var names = []Name{Answer, FollowUps, Missing, Rewrite, Clarify, Summary, Rerank, Judge}

// data holds the values that templates can use. It contains no text of clients or documents, so that no such
// text can reach the system role.
type data struct {
	Questions int    // to suggest
	Words     int    // maximum length of the reply, which is a query or a summary
	Missing   string // why documents may be missing, in the server's own sentences
}

// MaxFollowUps is the maximum number of questions that a model is asked to suggest.
const MaxFollowUps = 3

// maxQueryWords is the maximum number of words of a rewritten question.
const maxQueryWords = 40

// sampleData returns the values with which a template is tried when it is loaded.
func sampleData(name Name) data {
	data := data{Questions: MaxFollowUps, Words: maxQueryWords}
	switch name {
	case Summary:
		data.Words = 200
	case Missing:
		data.Missing = "Documents are still being read."
	}
	return data
}

// Set holds the prompts of all domains. It does not change after it is loaded, and is safe for concurrent use.
type Set struct {
	domains map[string]map[Name]prompt
}

// prompt is a parsed template that has been executed with sample data.
type prompt struct {
	origin   string // the file of the template, or "built in"
	source   string
	template *template.Template
	sample   data
	text     string // the output for sample
}

// Load returns the built-in prompts, overlaid with those in folder unless that is "". The folder has a
// subfolder for each domain, with any of the files answer.txt, followups.txt, missing.txt, rewrite.txt,
// clarify.txt, summary.txt, rerank.txt and judge.txt, in the language of text/template. If a file is missing,
// the domain uses the prompt of the domain "default", which the folder may also contain. Names that begin
// with a dot are skipped. An error names the file and, within a template, the line.
func Load(folder string) (*Set, error) {
	p := &Set{domains: map[string]map[Name]prompt{}}
	if err := p.read(embedded, ""); err != nil {
		return nil, err
	}
	if folder != "" {
		if err := p.read(os.DirFS(folder), folder); err != nil {
			return nil, err
		}
	}
	for _, domain := range p.domains {
		for _, name := range names {
			if _, ok := domain[name]; !ok {
				domain[name] = p.domains[defaultDomain][name]
			}
		}
	}
	return p, nil
}

// BuiltIn returns the built-in prompts.
func BuiltIn() *Set {
	p, err := Load("")
	if err != nil {
		panic(fmt.Sprintf("a built-in prompt is wrong: %v", err))
	}
	return p
}

// domainName matches valid names of domains.
var domainName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// read overlays the domains of one folder. name is the folder's path for error messages, "" for the built-in
// prompts.
func (p *Set) read(folder fs.FS, name string) error {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return fmt.Errorf("read the prompts: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := filepath.Join(name, e.Name())
		if info, err := fs.Stat(folder, e.Name()); err != nil {
			return fmt.Errorf("read the prompts: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("%s: put prompts in folders, one for each domain, such as %s", at, filepath.Join(name, defaultDomain))
		}
		if !domainName.MatchString(e.Name()) {
			return fmt.Errorf("%s: name a prompt domain with lowercase letters, digits, - and _", at)
		}
		if err := p.readDomain(folder, name, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (p *Set) readDomain(folder fs.FS, name, domain string) error {
	entries, err := fs.ReadDir(folder, domain)
	if err != nil {
		return fmt.Errorf("read the prompts: %w", err)
	}
	if p.domains[domain] == nil {
		p.domains[domain] = map[Name]prompt{}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := filepath.Join(name, domain, e.Name())
		kind := Name(strings.TrimSuffix(e.Name(), ".txt"))
		if !slices.Contains(names, kind) || string(kind) == e.Name() {
			return fmt.Errorf("%s: there is no such prompt; there are %s", at, promptFiles())
		}
		text, err := readPrompt(folder, path.Join(domain, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		tried, err := newPrompt(at, kind, text)
		if err != nil {
			return err
		}
		if name == "" {
			tried.origin = "built in"
		}
		p.domains[domain][kind] = tried
	}
	return nil
}

func promptFiles() string {
	var files []string
	for _, n := range names {
		files = append(files, string(n)+".txt")
	}
	return strings.Join(files, ", ")
}

// maxPromptBytes is the maximum size of a template, and of its output.
const maxPromptBytes = 64 << 10

func readPrompt(folder fs.FS, file string) (string, error) {
	info, err := fs.Stat(folder, file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("is not a file")
	}
	if info.Size() > maxPromptBytes {
		return "", fmt.Errorf("is longer than %d bytes", maxPromptBytes)
	}
	b, err := fs.ReadFile(folder, file)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errors.New("is not valid UTF-8")
	}
	return string(b), nil
}

// newPrompt parses a template and executes it with sample data. An error of text/template begins with the
// name of the template, which is its file, and the line.
func newPrompt(file string, name Name, text string) (prompt, error) {
	t, err := template.New(file).Option("missingkey=error").Parse(text)
	if err != nil {
		return prompt{}, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	p := prompt{origin: file, source: text, template: t, sample: sampleData(name)}
	if p.text, err = p.execute(p.sample); err != nil {
		return prompt{}, err
	}
	if p.text == "" {
		return prompt{}, fmt.Errorf("%s: is empty", file)
	}
	return p, nil
}

func (p *prompt) execute(data data) (string, error) {
	var out boundedText
	err := p.template.Execute(&out, data)
	if _, ok := errors.AsType[template.ExecError](err); ok {
		return "", errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.origin, err)
	}
	return strings.TrimSpace(out.text.String()), nil
}

// boundedText is a writer that fails when a template writes too much.
type boundedText struct{ text strings.Builder }

func (b *boundedText) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxPromptBytes {
		return 0, fmt.Errorf("its output is longer than %d bytes", maxPromptBytes)
	}
	return b.text.Write(p)
}

// Domains returns the names of the domains, sorted.
func (p *Set) Domains() []string { return slices.Sorted(maps.Keys(p.domains)) }

// Has reports whether a domain exists. "" means the default domain.
func (p *Set) Has(domain string) bool { return domain == "" || p.domains[domain] != nil }

// Text returns a prompt of a domain, which must exist. "" means the default domain.
func (p *Set) Text(domain string, name Name) string { return p.find(domain, name).text }

// Summary returns the prompt that asks for a summary of at most the given number of words.
func (p *Set) Summary(domain string, words int) (string, error) {
	s := p.find(domain, Summary)
	if words == s.sample.Words {
		return s.text, nil
	}
	data := s.sample
	data.Words = words
	return s.execute(data)
}

// Missing returns the prompt that tells the model why documents may be missing.
func (p *Set) Missing(domain, why string) (string, error) {
	m := p.find(domain, Missing)
	data := m.sample
	data.Missing = why
	return m.execute(data)
}

func (p *Set) find(domain string, name Name) prompt {
	domain = cmp.Or(domain, defaultDomain)
	return p.domains[domain][name]
}

// Effective is a prompt as a domain uses it.
type Effective struct {
	Domain string
	Name   string // file name without the extension
	Origin string // the file of the template, or "built in"
	Source string // the template
}

// List returns the prompts of all domains. The domains are sorted by name.
func (p *Set) List() []Effective {
	var all []Effective
	for _, domain := range p.Domains() {
		for _, name := range names {
			t := p.domains[domain][name]
			all = append(all, Effective{Domain: domain, Name: string(name), Origin: t.origin, Source: t.source})
		}
	}
	return all
}
