package notes

import (
	"context"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("Org", extract.Reader{Read: readOrg})

// readOrg reads Org files: headlines, lists, tables, blocks and links, without drawers and comments.
func readOrg(ctx context.Context, f *extract.File) (*extract.Document, error) {
	title := ""
	doc, err := page(f, func(b *compose.Builder, lines []string) error {
		p := paragraph{out: b, inline: orgInline}
		for i := 0; i < len(lines); {
			if err := ctx.Err(); err != nil {
				return err
			}
			if m := orgKeyword.FindStringSubmatch(lines[i]); m != nil && strings.EqualFold(m[1], "title") {
				title = orgInline(m[2])
			}
			next, err := orgBlock(&p, lines, i)
			if err != nil {
				return err
			}
			i = max(next, i+1)
		}
		return p.flush()
	})
	if err == nil {
		doc.Title = title
	}
	return doc, err
}

var (
	orgHeadline = lazyregexp.New(`^(\*+) +(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED|CANCELED) +)?(?:\[#\w\] +)?(.*?)(?: +:[\w@#%:]+:)?$`)
	orgKeyword  = lazyregexp.New(`^ *#\+([\w-]+): *(.*)$`)
	orgBegin    = lazyregexp.New(`(?i)^ *#\+begin_(\w+)`)
	orgEnd      = lazyregexp.New(`(?i)^ *#\+end_`)
	orgDrawer   = lazyregexp.New(`^ *:[\w-]+: *$`)
	orgItem     = lazyregexp.New(`^( *)([-+]|\d+[.)]|[a-zA-Z][.)]) +(?:\[[ X-]\] +)?(.*)$`)
)

// orgBlock reads the block that begins at line i, and returns the index of the line after it.
func orgBlock(p *paragraph, lines []string, i int) (int, error) {
	line := lines[i]
	text := strings.TrimSpace(line)
	if m := orgHeadline.FindStringSubmatch(line); m != nil {
		return i + 1, p.heading(len(m[1]), m[2])
	}
	if m := orgBegin.FindStringSubmatch(line); m != nil {
		return orgLines(p, lines, i, strings.ToLower(m[1]))
	}
	switch {
	case text == "":
		return i + 1, p.flush()
	case strings.HasPrefix(text, "#+"):
		if m := orgKeyword.FindStringSubmatch(line); m != nil && strings.EqualFold(m[1], "caption") {
			return i + 1, p.begin(extract.Paragraph, m[2])
		}
		return i + 1, p.flush()
	case strings.HasPrefix(text, "# ") || text == "#":
		return i + 1, p.flush()
	case orgDrawer.MatchString(line):
		for end := i + 1; end < len(lines); end++ {
			if strings.EqualFold(strings.TrimSpace(lines[end]), ":end:") {
				return end + 1, p.flush()
			}
		}
	case strings.HasPrefix(text, "|"):
		return orgTable(p, lines, i)
	case text == ":" || strings.HasPrefix(text, ": "):
		end := i
		var code []string
		for ; end < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[end])+" ", ": "); end++ {
			code = append(code, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(lines[end]), ":"), " "))
		}
		return end, p.code(code)
	}
	if m := orgItem.FindStringSubmatch(line); m != nil {
		marker := m[2]
		if marker == "-" || marker == "+" {
			marker = "•"
		}
		return i + 1, p.begin(extract.ListItem, marker+" "+strings.Replace(m[3], " :: ", ": ", 1))
	}
	p.add(text)
	return i + 1, nil
}

// orgLines reads a block between #+begin_ and #+end_: code as it is, other text as text.
func orgLines(p *paragraph, lines []string, i int, kind string) (int, error) {
	end := i + 1
	for end < len(lines) && !orgEnd.MatchString(lines[end]) {
		end++
	}
	switch kind {
	case "comment":
		return end + 1, p.flush()
	case "quote", "verse", "center", "abstract", "note", "tip", "warning":
		return i + 1, p.flush() // the next lines are read as text, and the end of the block as a keyword
	}
	return end + 1, p.code(lines[i+1 : end])
}

// orgTable reads the lines of a table. The rows above its first rule are the header.
func orgTable(p *paragraph, lines []string, i int) (int, error) {
	var rows [][]string
	header := 0
	for ; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		if !strings.HasPrefix(text, "|") {
			break
		}
		if strings.HasPrefix(text, "|-") {
			if header == 0 {
				header = len(rows)
			}
			continue
		}
		rows = append(rows, strings.Split(strings.Trim(text, "|"), "|"))
	}
	return i, p.table(rows, header == 1)
}

var orgRules = []replacement{
	{lazyregexp.New(`\[\[[^\[\]]+\]\[([^\[\]]+)\]\]`), "$1"},
	{lazyregexp.New(`\[\[(?:file:|id:|\*|#)?([^\[\]]+)\]\]`), "$1"},
	{lazyregexp.New(`(^|[\s("'{-])[*/_=~+]([^\s*/_=~+](?:[^\n]*?[^\s])?)[*/_=~+]($|[\s.,;:!?)"'}-])`), "$1$2$3"},
}

func orgInline(text string) string { return replaced(text, orgRules) }
