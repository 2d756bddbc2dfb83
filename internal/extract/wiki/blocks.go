package wiki

import (
	"context"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

// wikiWalker turns the lines of a page, its templates replaced, into blocks.
type wikiWalker struct {
	out       *compose.Builder
	infoboxes []wikiInfobox // in the order of their marks
	inline    wikiInline
	paragraph []string // lines of the one that is open
	code      []string // lines of the block that is open
	counters  [10]int  // of numbered lists by depth
}

func (w *wikiWalker) walk(ctx context.Context, text string) error {
	lines := wikiHTMLLists(strings.Split(text, "\n"))
	for i := 0; i < len(lines); {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		used, err := w.line(lines[i:])
		if err != nil {
			return err
		}
		i += used
	}
	if err := w.flush(); err != nil {
		return err
	}
	if len(w.inline.categories) > 0 {
		return w.out.Add(extract.Paragraph, 0, "Categories: "+strings.Join(w.inline.categories, ", "))
	}
	return nil
}

var wikiHeading = lazyregexp.New(`^(={1,6})(.+?)(={1,6})\s*$`)

// line handles the first of the lines, or the whole table that begins there, and returns the number of lines handled.
func (w *wikiWalker) line(lines []string) (int, error) {
	line := strings.TrimRight(lines[0], " \t")
	if code, ok := strings.CutPrefix(line, codeMark); ok {
		if len(w.code) == 0 {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
		w.code = append(w.code, w.inline.references(code))
		return 1, nil
	}
	trimmed := strings.TrimLeft(line, " \t:")
	switch {
	case line == "":
		return 1, w.flush()
	case line == infoboxMark:
		return 1, w.infobox()
	case strings.HasPrefix(trimmed, "{|"):
		if err := w.flush(); err != nil {
			return 0, err
		}
		return w.table(lines)
	case wikiHeading.MatchString(line):
		return 1, w.heading(line)
	case strings.ContainsRune("*#:;", rune(line[0])):
		return 1, w.item(line)
	case strings.HasPrefix(line, "----"):
		return 1, w.flush()
	}
	w.paragraph = append(w.paragraph, line)
	return 1, nil
}

// flush ends the paragraph or the code that is open.
func (w *wikiWalker) flush() error {
	text, code := strings.Join(w.paragraph, " "), strings.Join(w.code, "\n")
	w.paragraph, w.code = nil, nil
	clear(w.counters[:])
	if err := w.out.Add(extract.Code, 0, compose.Clean(code)); err != nil {
		return err
	}
	return w.add(extract.Paragraph, "", text)
}

// add appends a block of markup, and the captions of pictures in it after it.
func (w *wikiWalker) add(kind extract.Kind, marker, markup string) error {
	text := w.inline.render(markup)
	captions := w.inline.captions
	w.inline.captions = nil
	if strings.TrimSpace(text) != "" {
		if err := w.out.Add(kind, 0, marker+text); err != nil {
			return err
		}
	}
	for _, caption := range captions {
		if err := w.out.Add(extract.Paragraph, 0, caption); err != nil {
			return err
		}
	}
	return nil
}

func (w *wikiWalker) heading(line string) error {
	if err := w.flush(); err != nil {
		return err
	}
	m := wikiHeading.FindStringSubmatch(line)
	level := min(len(m[1]), len(m[3]))
	return w.out.Add(extract.Heading, max(1, level-1), compose.OneLine(w.inline.render(m[2])))
}

// item handles a line of a list. It begins with the signs of nested lists, of which the last one counts: a bullet, a
// number, a term that the next line explains, or an indented line.
func (w *wikiWalker) item(line string) error {
	if len(w.paragraph)+len(w.code) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	text := strings.TrimLeft(line, "*#:;")
	signs := line[:len(line)-len(text)]
	depth := min(len(signs), len(w.counters)) - 1
	text = strings.TrimSpace(text)
	clear(w.counters[depth+1:])
	switch signs[len(signs)-1] {
	case '#':
		w.counters[depth]++
		return w.add(extract.ListItem, strconv.Itoa(w.counters[depth])+". ", text)
	case '*':
		return w.add(extract.ListItem, "• ", text)
	case ';':
		term, explanation, found := strings.Cut(text, " : ")
		if found {
			return w.add(extract.Paragraph, "", term+": "+explanation)
		}
		return w.add(extract.Paragraph, "", strings.TrimSuffix(text, ":")+":")
	}
	return w.add(extract.Paragraph, "", text)
}

// infobox appends the next infobox as a table of facts.
func (w *wikiWalker) infobox() error {
	if err := w.flush(); err != nil || len(w.infoboxes) == 0 {
		return err
	}
	box := w.infoboxes[0]
	w.infoboxes = w.infoboxes[1:]
	begun := false
	for _, row := range box.rows {
		key := compose.OneLine(strings.ReplaceAll(row[0], "_", " "))
		value := wikiList(strings.Split(w.inline.render(row[1]), "\n"))
		w.inline.captions = nil
		if value == "" || wikiSettings.MatchString(key) {
			continue
		}
		if !begun {
			begun = true
			if err := w.out.Add(extract.TableHeader, 0, compose.OneLine(w.inline.render(box.name))); err != nil {
				return err
			}
		}
		if err := w.out.Add(extract.TableRow, 0, compose.Clean(key)+": "+compose.OneLine(value)); err != nil {
			return err
		}
	}
	return nil
}

// wikiSettings are parameters of infoboxes that say how something looks.
var wikiSettings = lazyregexp.New(`(?i)image|img|logo|picture|photo|bild\b|width|size|color|colour|style|align|alt$|^map|pushpin|^caption|^footnotes?$|upright|signature|^embed|^child|^module`)
