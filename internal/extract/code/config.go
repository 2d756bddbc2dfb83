package code

import (
	"context"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("configuration", extract.Reader{Read: readConfig})

// readConfig reads lines of settings. Sections become headings, and secrets are left out: all values of
// an env file, and elsewhere the values of settings that are named like one.
func readConfig(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	if err := addName(&b, f); err != nil {
		return nil, err
	}
	r := configReader{kubernetes: kubernetesSecret.MatchString(text), splitter: splitter{out: &b}, env: f.Ext == "env", yaml: f.Ext == "yaml" || f.Ext == "yml"}
	for line := range strings.SplitSeq(text, "\n") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.line(strings.TrimRight(line, " \t")); err != nil {
			return nil, err
		}
	}
	if err := r.flush(len(r.lines)); err != nil {
		return nil, err
	}
	doc := &extract.Document{Pages: []extract.Page{b.Page(0, false)}}
	if r.secrets > 0 {
		doc.Notes = append(doc.Notes, "values that may be secrets were left out")
	}
	return doc, nil
}

type configReader struct {
	splitter
	env, yaml  bool
	kubernetes bool   // a Secret of Kubernetes, whose data are secrets
	secrets    int    // number of values that were left out
	hiding     bool   // the value of a secret continues
	hidden     int    // the indentation of its key
	until      string // the text that ends it; "" if the next line ends it that is indented no more than its key
}

func (r *configReader) line(line string) error {
	if line == "" && !r.hiding {
		return r.flush(len(r.lines))
	}
	if r.isHidden(line) {
		return nil
	}
	if name := r.section(line); name != "" {
		return r.declare(name, indent(line))
	}
	r.lines = append(r.lines, r.withoutSecret(line))
	return nil
}

// isHidden reports whether a line belongs to the value of a secret.
func (r *configReader) isHidden(line string) bool {
	if !r.hiding {
		return false
	}
	if r.until != "" {
		r.hiding = !strings.Contains(line, r.until)
		return true
	}
	if line == "" || indent(line) > r.hidden {
		return true
	}
	if r.yaml && indent(line) == r.hidden && strings.HasPrefix(strings.TrimSpace(line), "- ") {
		return true
	}
	r.hiding = false
	return false
}

var (
	iniSection  = lazyregexp.New(`^\s*\[{1,2}\s*([^\[\]]{1,200}?)\s*\]{1,2}\s*(?:[#;].*)?$`)
	yamlSection = lazyregexp.New(`^(?:["']?)([\p{L}_][\p{L}\d_./ -]{0,100}?)["']?:\s*(?:[&!]\S+\s*)?(?:#.*)?$`)
)

// section returns the name of the section that a line opens: [name] or, in YAML, an unindented key without a value
// of its own.
func (r *configReader) section(line string) string {
	if r.env {
		return ""
	}
	if r.yaml {
		if m := yamlSection.FindStringSubmatch(line); m != nil && !r.isSecret(m[1]) {
			return m[1]
		}
		return ""
	}
	if m := iniSection.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
