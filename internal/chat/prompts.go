package chat

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"
)

//go:embed prompts
var embedded embed.FS

// DefaultDomain is the prompt domain of requests that name none.
const DefaultDomain = "default"

// promptName names one of the prompts of a domain. Its file has the ending ".txt".
type promptName string

// The prompts. Each is what a model is told in the system role.
const (
	answerPrompt    promptName = "answer"
	followUpsPrompt promptName = "followups" // put after answer when follow-ups were asked for
	missingPrompt   promptName = "missing"   // put after answer while documents are missing
	rewritePrompt   promptName = "rewrite"
	clarifyPrompt   promptName = "clarify" // put after rewrite when questions may be asked back
	summaryPrompt   promptName = "summary"
	rerankPrompt    promptName = "rerank"
	judgePrompt     promptName = "judge"
)

var promptNames = []promptName{answerPrompt, followUpsPrompt, missingPrompt, rewritePrompt, clarifyPrompt, summaryPrompt, rerankPrompt, judgePrompt}

// promptData is what the templates can use. It has nothing of clients or documents, so that
// nothing of them can reach the system role.
type promptData struct {
	Questions int // to suggest
	Words     int // that a reply may have: a query's, or a summary's

	Missing string // why documents may be missing, in the server's own sentences
}

// maxQueryWords is what a rewritten question may have.
const maxQueryWords = 40

// sampleData is what templates are tried with when they are read.
func sampleData(name promptName) promptData {
	data := promptData{Questions: maxFollowUps, Words: maxQueryWords}
	switch name {
	case summaryPrompt:
		data.Words = 200
	case missingPrompt:
		data.Missing = "Documents are still being read."
	}
	return data
}

// Prompts are what models are told, by prompt domain. They are read once and then only read.
type Prompts struct {
	domains map[string]map[promptName]prompt
}

// prompt is a template that has been tried.
type prompt struct {
	origin   string // the file it comes from, "built in" for none
	source   string
	template *template.Template
	sample   promptData
	text     string // for sample
}

// LoadPrompts returns the built-in prompts with those of a folder laid over them: a folder for
// each domain, in it any of the files answer.txt, followups.txt, missing.txt, rewrite.txt,
// clarify.txt, summary.txt, rerank.txt and judge.txt, which are text/template. What a domain lacks it takes
// from the domain "default", which the folder may have too. Names that begin with a dot are skipped. With "" there are only
// the built-in ones. An error names the file, and the line if it is in a template.
func LoadPrompts(folder string) (*Prompts, error) {
	p := &Prompts{domains: map[string]map[promptName]prompt{}}
	builtIn, err := fs.Sub(embedded, "prompts")
	if err != nil {
		return nil, fmt.Errorf("open the built-in prompts: %w", err)
	}
	if err := p.read(builtIn, ""); err != nil {
		return nil, err
	}
	if folder != "" {
		if err := p.read(os.DirFS(folder), folder); err != nil {
			return nil, err
		}
	}
	for _, domain := range p.domains {
		for _, name := range promptNames {
			if _, ok := domain[name]; !ok {
				domain[name] = p.domains[DefaultDomain][name]
			}
		}
	}
	return p, nil
}

// builtInPrompts returns the prompts that are part of the program; a test reads them too.
func builtInPrompts() *Prompts {
	p, err := LoadPrompts("")
	if err != nil {
		panic(fmt.Sprintf("a built-in prompt is wrong: %v", err))
	}
	return p
}

// domainName is what a domain may be called. Requests name domains.
var domainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// read lays the domains of one folder over those that there are. Its name is "" for the built-in
// one.
func (p *Prompts) read(folder fs.FS, name string) error {
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
			return fmt.Errorf("%s: prompts stand in folders, one for each domain, such as %s", at, filepath.Join(name, DefaultDomain))
		}
		if !domainName.MatchString(e.Name()) {
			return fmt.Errorf("%s: a prompt domain is named with small letters, digits, - and _", at)
		}
		if err := p.readDomain(folder, name, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prompts) readDomain(folder fs.FS, name, domain string) error {
	entries, err := fs.ReadDir(folder, domain)
	if err != nil {
		return fmt.Errorf("read the prompts: %w", err)
	}
	if p.domains[domain] == nil {
		p.domains[domain] = map[promptName]prompt{}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := filepath.Join(name, domain, e.Name())
		kind := promptName(strings.TrimSuffix(e.Name(), ".txt"))
		if !slices.Contains(promptNames, kind) || string(kind) == e.Name() {
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
	for _, n := range promptNames {
		files = append(files, string(n)+".txt")
	}
	return strings.Join(files, ", ")
}

// maxPromptBytes bounds a template, and what comes of it.
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

// newPrompt parses a template and tries it. Errors of text/template begin with the template's
// name, its file here, and the line.
func newPrompt(file string, name promptName, text string) (prompt, error) {
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

func (p *prompt) execute(data promptData) (string, error) {
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

// boundedText keeps a template that does not end from filling the memory.
type boundedText struct{ text strings.Builder }

func (b *boundedText) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxPromptBytes {
		return 0, fmt.Errorf("more than %d bytes come of it", maxPromptBytes)
	}
	return b.text.Write(p)
}

// Domains returns the names of the domains, sorted.
func (p *Prompts) Domains() []string { return slices.Sorted(maps.Keys(p.domains)) }

// has reports whether there is a domain; "" is the default one.
func (p *Prompts) has(domain string) bool { return domain == "" || p.domains[domain] != nil }

// text returns a prompt of a domain that there is.
func (p *Prompts) text(domain string, name promptName) string { return p.find(domain, name).text }

// summary returns the prompt for a summary of that many words.
func (p *Prompts) summary(domain string, words int) (string, error) {
	s := p.find(domain, summaryPrompt)
	if words == s.sample.Words {
		return s.text, nil
	}
	data := s.sample
	data.Words = words
	return s.execute(data)
}

// missing returns the prompt that says why documents may be missing.
func (p *Prompts) missing(domain, why string) (string, error) {
	m := p.find(domain, missingPrompt)
	data := m.sample
	data.Missing = why
	return m.execute(data)
}

func (p *Prompts) find(domain string, name promptName) prompt {
	if domain == "" {
		domain = DefaultDomain
	}
	return p.domains[domain][name]
}

// PromptText is a prompt as it is in effect.
type PromptText struct {
	Domain string
	Name   string // of its file, without the ending
	Origin string // the file it comes from, "built in" for none
	Source string // the template
}

// List returns the prompts of all domains, in the order of their names.
func (p *Prompts) List() []PromptText {
	var all []PromptText
	for _, domain := range p.Domains() {
		for _, name := range promptNames {
			t := p.domains[domain][name]
			all = append(all, PromptText{Domain: domain, Name: string(name), Origin: t.origin, Source: t.source})
		}
	}
	return all
}
