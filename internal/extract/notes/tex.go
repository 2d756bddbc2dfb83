package notes

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("LaTeX", extract.Reader{Read: readTeX})

// readTeX reads LaTeX by its form. Sections, lists, tables, code and captions become blocks, mathematics stays as it was
// written, and unknown commands are replaced by their arguments.
func readTeX(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	text = texDefinition.ReplaceAllString(withoutComments(text), "")
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	t := texReader{ctx: ctx, out: &b}
	head, main, found := strings.Cut(text, `\begin{document}`)
	if found {
		text, _, _ = strings.Cut(main, `\end{document}`)
	}
	title := ""
	if found {
		title = texArgument(head+main, `\title`)
	}
	title = compose.OneLine(t.plain(title, 0))
	if err := b.Add(extract.Heading, 1, title); err != nil {
		return nil, err
	}
	if err := t.read(text); err != nil {
		return nil, err
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	return &extract.Document{Title: title, Pages: []extract.Page{b.Page(0, false)}}, nil
}

// withoutComments removes comments, but not from code.
func withoutComments(text string) string {
	var b strings.Builder
	for text != "" {
		at := texListing.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		b.WriteString(texComment.ReplaceAllString(text[:at[0]], "$1"))
		end := strings.Index(text[at[1]:], `\end{`+text[at[2]:at[3]]+"}")
		if end < 0 {
			text = text[at[0]:]
			break
		}
		b.WriteString(text[at[0] : at[1]+end])
		text = text[at[1]+end:]
	}
	return b.String() + texComment.ReplaceAllString(text, "$1")
}

// texDefinition matches the definition of a command.
var texDefinition = lazyregexp.New(`\\def\s*\\[A-Za-z@]+[^{\n]{0,40}\{(?:[^{}]|\{[^{}]*\})*\}`)

var texListing = lazyregexp.New(`\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|alltt|Highlighting)\}`)

// texComment matches a comment, with the characters before it as a group.
var texComment = lazyregexp.New(`(?m)((?:^|[^\\])(?:\\\\)*)%.*$`)

type texReader struct {
	ctx  context.Context
	out  *compose.Builder
	text strings.Builder // of the paragraph that is not written yet
	kind extract.Kind
	// lists are the lists around the text: the number of the last item, -1 where items have none.
	lists []int
}

var (
	// texStructure matches the beginning of a block.
	texStructure = lazyregexp.New(`\\(?:part|chapter|section|subsection|subsubsection|paragraph|subparagraph)\*?\s*(?:\[[^\]]*\])?\{` +
		`|\\(?:begin|end)\s*\{[^{}]*\}|\\item\b|\\bibitem\b|\\caption\*?\s*(?:\[[^\]]*\])?\{|\\\[|\$\$|\n[ \t]*\n`)
	texLevels = map[string]int{"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
	texCode   = []string{"verbatim", "Verbatim", "lstlisting", "minted", "alltt", "verbatim*", "algorithmic", "tikzpicture", "Highlighting"}
	texMath   = []string{"equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "flalign", "alignat", "dmath"}
	texTables = []string{"tabular", "tabularx", "longtable", "array", "tabulary", "tblr"}
)

// read adds the blocks of a text.
func (t *texReader) read(text string) error {
	for {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		at := texStructure.FindStringIndex(text)
		if at == nil {
			t.text.WriteString(text)
			return nil
		}
		t.text.WriteString(text[:at[0]])
		mark := text[at[0]:at[1]]
		rest, err := t.structure(mark, text[at[1]:])
		if err != nil {
			return err
		}
		text = rest
	}
}

// structure handles one match of texStructure, and returns the text after everything that belongs to it.
func (t *texReader) structure(mark, rest string) (string, error) {
	name := strings.TrimLeft(mark, `\`)
	name = name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))]
	switch {
	case strings.TrimSpace(mark) == "":
		return rest, t.flush()
	case mark == `\[` || mark == "$$":
		end := map[string]string{`\[`: `\]`, "$$": "$$"}[mark]
		formula, after, _ := strings.Cut(rest, end)
		return after, t.math(formula)
	case name == "item" || name == "bibitem":
		if err := t.flush(); err != nil {
			return "", err
		}
		label, after := texOption(rest)
		t.kind = extract.ListItem
		t.text.WriteString(t.marker(label, name == "bibitem") + " ")
		if name == "bibitem" {
			_, after = texGroup(after)
		}
		return after, nil
	case name == "caption":
		caption, after := texGroup("{" + rest)
		if err := t.flush(); err != nil {
			return "", err
		}
		return after, t.out.Add(extract.Paragraph, 0, compose.OneLine(t.plain(caption, 0)))
	case name == "begin":
		return t.environment(strings.TrimSuffix(mark[strings.Index(mark, "{")+1:], "}"), rest)
	case name == "end":
		if len(t.lists) > 0 && texLists.MatchString(mark) {
			t.lists = t.lists[:len(t.lists)-1]
		}
		return rest, t.flush()
	}
	title, after := texGroup("{" + rest)
	if err := t.flush(); err != nil {
		return "", err
	}
	return after, t.out.Add(extract.Heading, texLevels[name], compose.OneLine(t.plain(title, 0)))
}

var texLists = lazyregexp.New(`\{(?:itemize|enumerate|description|thebibliography|compactitem|compactenum)\*?\}`)

// marker returns the text before an item of a list.
func (t *texReader) marker(label string, isSource bool) string {
	if label != "" && !isSource {
		return label
	}
	if len(t.lists) == 0 || t.lists[len(t.lists)-1] < 0 {
		return "•"
	}
	t.lists[len(t.lists)-1]++
	return strconv.Itoa(t.lists[len(t.lists)-1]) + "."
}

// environment handles the beginning of an environment. It reads environments with a special form to their end.
func (t *texReader) environment(name, rest string) (string, error) {
	if err := t.flush(); err != nil {
		return "", err
	}
	plain := strings.TrimSuffix(name, "*")
	if texLists.MatchString("{"+name+"}") && len(t.lists) < maxNested {
		number := -1
		if strings.Contains(plain, "enum") || plain == "thebibliography" {
			number = 0
		}
		t.lists = append(t.lists, number)
	}
	inner, after, closed := strings.Cut(rest, `\end{`+name+`}`)
	switch {
	case !closed:
		return rest, nil
	case slices.Contains(texCode, name):
		if plain == "tikzpicture" {
			return after, nil
		}
		_, inner = texOption(inner)
		if name == "minted" {
			_, inner = texGroup(inner)
		}
		return after, t.out.Add(extract.Code, 0, strings.Trim(inner, "\n"))
	case slices.Contains(texMath, plain):
		return after, t.math(inner)
	case slices.Contains(texTables, plain):
		return after, t.table(inner)
	case plain == "comment":
		return after, nil
	}
	_, rest = texOption(rest)
	if slices.Contains([]string{"thebibliography", "multicols", "minipage", "adjustbox", "columns", "column"}, plain) {
		_, rest = texGroup(rest)
	}
	if plain == "frame" {
		if title, after := texGroup(rest); strings.HasPrefix(strings.TrimSpace(rest), "{") {
			return after, t.out.Add(extract.Heading, 2, compose.OneLine(t.plain(title, 0)))
		}
	}
	return rest, nil
}

// math adds a formula as it was written.
func (t *texReader) math(formula string) error {
	if err := t.flush(); err != nil {
		return err
	}
	formula = compose.OneLine(texLabel.ReplaceAllString(formula, ""))
	if formula == "" {
		return nil
	}
	return t.out.Add(extract.Paragraph, 0, "$$ "+formula+" $$")
}

var (
	texLabel  = lazyregexp.New(`\\(?:label|tag)\*?\{[^{}]*\}|\\(?:nonumber|notag)\b`)
	texRules  = lazyregexp.New(`\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot|centering)\b|\\(?:cline|cmidrule)(?:\([^)]*\))?\{[^{}]*\}`)
	texSpan   = lazyregexp.New(`\\(?:multicolumn|multirow)\s*\{[^{}]*\}\s*(?:\{[^{}]*\}|\*)\s*\{`)
	texRowEnd = lazyregexp.New(`\\\\(?:\[[^\]]*\])?|\\tabularnewline\b`)
)

// table adds the rows of a table. A rule below the first row makes it a header.
func (t *texReader) table(text string) error {
	_, text = texOption(text)
	for range 2 { // tabularx has its width before its columns
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			_, text = texGroup(text)
		}
	}
	var rows [][]string
	header := false
	for i, row := range texRowEnd.Split(text, -1) {
		header = header || i == 1 && texRules.MatchString(row)
		row = texSpan.ReplaceAllString(texRules.ReplaceAllString(row, ""), "{")
		if strings.TrimSpace(row) == "" {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.ReplaceAll(row, `\&`, "\x00"), "&") {
			cells = append(cells, t.plain(strings.ReplaceAll(cell, "\x00", `\&`), 0))
		}
		rows = append(rows, cells)
	}
	return t.out.AddTable(rows, header)
}

// flush writes the collected text as one block.
func (t *texReader) flush() error {
	text, kind := compose.OneLine(t.plain(t.text.String(), 0)), t.kind
	t.text.Reset()
	t.kind = extract.Paragraph
	if text == "•" {
		return nil
	}
	return t.out.Add(kind, 0, text)
}

// texGroup returns the text between the braces at the beginning of a text, and the text after them.
func texGroup(text string) (group, rest string) {
	trimmed := strings.TrimLeft(text, " \n\t")
	if !strings.HasPrefix(trimmed, "{") {
		return "", text
	}
	depth := 0
	for i := 0; i < len(trimmed); i++ {
		switch trimmed[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return trimmed[1:i], trimmed[i+1:]
			}
		}
	}
	return trimmed[1:], ""
}

// texOption returns the text between the brackets at the beginning of a text, and the text after them.
func texOption(text string) (option, rest string) {
	trimmed := strings.TrimLeft(text, " \n\t")
	end := strings.IndexByte(trimmed, ']')
	if !strings.HasPrefix(trimmed, "[") || end < 0 {
		return "", text
	}
	return trimmed[1:end], trimmed[end+1:]
}

// texArgument returns the argument of the first use of a command.
func texArgument(text, command string) string {
	_, rest, found := strings.Cut(text, command+"{")
	if !found {
		return ""
	}
	group, _ := texGroup("{" + rest)
	return group
}
