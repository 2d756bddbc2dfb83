package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"parley/internal/lexical/lexicaltest"
)

// references are the programs that say what a file of a folder holds, by extension. They write its text to standard output.
var references = map[string][]string{
	"pdf": {"pdftotext", "-enc", "UTF-8", "FILE", "-"}, "doc": {"antiword", "-m", "UTF-8.txt", "-w", "0", "FILE"}, "xls": {"xls2csv", "-q0", "-d", "utf-8", "FILE"},
	"docx": pandoc, "odt": pandoc, "epub": pandoc, "rtf": pandoc, "rst": pandoc, "org": pandoc, "tex": pandoc, "ipynb": pandoc, "md": pandoc, "html": pandoc,
}

var pandoc = []string{"pandoc", "--to=plain", "--wrap=none", "FILE"}

// agreement is how well the text of files agrees with references.
type agreement struct {
	recall, precision, order float64
	files                    int
}

func (a *agreement) add(b agreement) {
	a.recall, a.precision, a.order, a.files = a.recall+b.recall, a.precision+b.precision, a.order+b.order, a.files+b.files
}

func (a agreement) String() string {
	n := float64(a.files)
	return fmt.Sprintf("%.3f / %.3f / %.3f", a.recall/n, a.precision/n, a.order/n)
}

// fidelity compares what is read from files with what they hold: how many words of the reference are there, how many of those that
// are there the reference has, and how many of its pairs of neighbours. The files are generated ones, whose words are
// known, or those of the folder -files, whose references are other programs, where these are installed.
func (b *bench) fidelity(ctx context.Context) error {
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	folder, reference := b.files, otherProgram
	if folder == "" {
		known := map[string]string{}
		if folder, err = b.knownFiles(known); err != nil {
			return err
		}
		reference = func(_ context.Context, path string) (string, bool) { return known[path], true }
	}
	read, err := textsOf(ctx, program, folder)
	if err != nil {
		return err
	}
	all := map[string]*agreement{}
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !e.Type().IsRegular() || ctx.Err() != nil {
			return err
		}
		want, ok := reference(ctx, path)
		if len(words(want)) == 0 || !ok {
			return ctx.Err()
		}
		kind := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
		if all[kind] == nil {
			all[kind] = &agreement{}
		}
		one := compared(words(read[path]), words(want))
		all[kind].add(one)
		if b.files != "" && one.recall < .8 {
			fmt.Fprintf(os.Stderr, "  %s: %s\n", path, one)
		}
		return nil
	})
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		b.add(fmt.Sprintf("words found / right / in order, %d files .%s", all[kind].files, kind), "", "%s", *all[kind])
	}
	return err
}

// knownFiles generates files of each format in a folder, and returns it. known gets the words of each.
func (b *bench) knownFiles(known map[string]string) (string, error) {
	folder, err := os.MkdirTemp(b.work, "fidelity")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	g := lexicaltest.New(1)
	for _, f := range measured() {
		if f.holds > 0 {
			continue
		}
		for i := range formatFiles {
			g.Document()
			passages := make([]string, formatPassages)
			for p := range passages {
				passages[p] = g.Passage()
			}
			data, err := f.make(passages)
			if err != nil {
				return "", fmt.Errorf("make a file %s: %w", f.ext, err)
			}
			path := filepath.Join(folder, fmt.Sprintf("%s-%02d.%s", strings.ReplaceAll(f.format, " ", "-"), i, f.ext))
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return "", fmt.Errorf("write a file: %w", err)
			}
			known[path] = strings.Join(passages, " ")
		}
	}
	return folder, nil
}

// textsOf returns the text that the program reads from each file of a folder.
func textsOf(ctx context.Context, program, folder string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, program, "read", "--json", folder)
	out, err := cmd.Output() // it fails if a file does
	if len(out) == 0 {
		return nil, fmt.Errorf("read %s: %w", folder, err)
	}
	texts := map[string]string{}
	in := bufio.NewReader(bytes.NewReader(out))
	for dec := json.NewDecoder(in); dec.More(); {
		var f struct {
			File  string
			Pages []struct{ Blocks []struct{ Text string } }
		}
		if err := dec.Decode(&f); err != nil {
			return nil, fmt.Errorf("read the output of parley read: %w", err)
		}
		var text strings.Builder
		for _, p := range f.Pages {
			for _, block := range p.Blocks {
				text.WriteString(block.Text + "\n")
			}
		}
		texts[f.File] = text.String()
	}
	return texts, nil
}

// otherProgram returns the text that another program reads from a file, if there is one.
func otherProgram(ctx context.Context, path string) (string, bool) {
	args := slices.Clone(references[strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))])
	if len(args) == 0 {
		return "", false
	}
	if at := slices.Index(args, "FILE"); at >= 0 {
		args[at] = path
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	return string(out), err == nil
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// compared compares two texts by their words, and by their pairs of neighbours.
func compared(got, want []string) agreement {
	common := inCommon(got, want)
	pairs := inCommon(neighbours(got), neighbours(want))
	return agreement{float64(common) / float64(len(want)), float64(common) / float64(max(len(got), 1)), float64(pairs) / float64(max(len(want)-1, 1)), 1}
}

func neighbours(words []string) (pairs []string) {
	for i := 1; i < len(words); i++ {
		pairs = append(pairs, words[i-1]+" "+words[i])
	}
	return pairs
}

// inCommon returns how many texts are in both lists, as often as in both.
func inCommon(a, b []string) (n int) {
	left := map[string]int{}
	for _, s := range a {
		left[s]++
	}
	for _, s := range b {
		if left[s] > 0 {
			left[s]--
			n++
		}
	}
	return n
}
