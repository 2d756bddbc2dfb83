// Package code reads program text, SQL and configuration files. Their text stays as it is, split at blank
// lines. The names of declarations become headings, so that a passage names its function or section.
package code

import (
	"context"
	"path"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var (
	_ = extract.Register("source code", extract.Reader{Read: readSource})
	_ = extract.Register("SQL", extract.Reader{Read: readSQL})
)

// readSource reads a program: a heading with the name of the file, and one for each declaration.
func readSource(ctx context.Context, f *extract.File) (*extract.Document, error) {
	return read(ctx, f, declared)
}

func readSQL(ctx context.Context, f *extract.File) (*extract.Document, error) {
	return read(ctx, f, declaredBySQL)
}

// read splits a text at the lines that begin a declaration: those for which find returns a name. Comments and
// annotations directly above such a line belong to it.
func read(ctx context.Context, f *extract.File, find func(line string) string) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	if err := addName(&b, f); err != nil {
		return nil, err
	}
	s := splitter{out: &b}
	for line := range strings.SplitSeq(text, "\n") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, " \t")
		if name := find(line); name != "" {
			if err := s.declare(name, indent(line)); err != nil {
				return nil, err
			}
		}
		if line == "" {
			if err := s.flush(len(s.lines)); err != nil {
				return nil, err
			}
			continue
		}
		s.lines = append(s.lines, line)
	}
	if err := s.flush(len(s.lines)); err != nil {
		return nil, err
	}
	return &extract.Document{Pages: []extract.Page{b.Page(0, false)}}, nil
}

// addName appends the name of a file as its first heading.
func addName(b *compose.Builder, f *extract.File) error {
	name := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
	return b.Add(extract.Heading, 1, compose.OneLine(compose.Clean(name)))
}

// splitter collects the lines of a block of code.
type splitter struct {
	out   *compose.Builder
	lines []string
	open  []int // indents of the declarations around the current line, from the outside in
}

// maxDepth is the maximum depth of headings below the name of the file.
const maxDepth = 5

// declare writes the heading of a declaration, after the lines that do not belong to it.
func (s *splitter) declare(name string, indent int) error {
	own := len(s.lines)
	for own > 0 && isPreface(s.lines[own-1]) {
		own--
	}
	if err := s.flush(own); err != nil {
		return err
	}
	for len(s.open) > 0 && s.open[len(s.open)-1] >= indent {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == maxDepth {
		return nil
	}
	s.open = append(s.open, indent)
	return s.out.Add(extract.Heading, 1+len(s.open), name)
}

// flush writes the first n lines as a block.
func (s *splitter) flush(n int) error {
	text := strings.Join(s.lines[:n], "\n")
	s.lines = append(s.lines[:0], s.lines[n:]...)
	return s.out.Add(extract.Code, 0, text)
}

// isPreface reports whether a line is a comment or an annotation.
func isPreface(line string) bool {
	line = strings.TrimLeft(line, " \t")
	for _, begin := range []string{"//", "#", "/*", "*", "@", "--", ";;", "%", "'''", `"""`, "[<", "template"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") || strings.HasSuffix(line, "*/")
}

// indent returns the width of the space before a line; a tab counts as four columns.
func indent(line string) int {
	width := 0
	for _, r := range line {
		switch r {
		case ' ':
			width++
		case '\t':
			width += 4
		default:
			return width
		}
	}
	return width
}
