package wiki

import (
	"html"
	"strings"

	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

// wikiInline turns markup within lines into text. It collects categories and the captions of pictures, which are also links.
type wikiInline struct {
	categories []string
	captions   []string // of pictures
}

var (
	wikiQuotes   = lazyregexp.New(`'{2,5}`)
	wikiExternal = lazyregexp.New(`\[(?:https?:)?//[^\s\[\]]+(?:\s+([^\[\]]*))?\]`)
	wikiBreak    = lazyregexp.New(`(?i)<br\s*/?>`)
	wikiRaised   = lazyregexp.New(`(?i)<sup(?:\s[^<>]*)?>([^<>]*)</sup>`)
	wikiLowered  = lazyregexp.New(`(?i)<sub(?:\s[^<>]*)?>([^<>]*)</sub>`)
	wikiTag      = lazyregexp.New(`</?[a-zA-Z][^<>]*>`)
)

// render returns the text of markup. A br element ends a line.
func (w *wikiInline) render(markup string) string {
	var b strings.Builder
	w.write(&b, markup, 0)
	text := wikiExternal.ReplaceAllString(b.String(), "$1")
	text = wikiQuotes.ReplaceAllString(text, "")
	text = wikiBreak.ReplaceAllString(text, "\n")
	text = wikiRaised.ReplaceAllStringFunc(text, func(s string) string {
		return compose.Superscript(wikiRaised.FindStringSubmatch(s)[1])
	})
	text = wikiLowered.ReplaceAllStringFunc(text, func(s string) string {
		return compose.Subscript(wikiLowered.FindStringSubmatch(s)[1])
	})
	text = wikiTag.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, infoboxMark, "")
	var lines []string
	for line := range strings.Lines(compose.Clean(html.UnescapeString(text))) {
		if line = compose.OneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// references resolves the character references in code.
func (w *wikiInline) references(code string) string { return html.UnescapeString(code) }

// write writes markup with its links replaced.
func (w *wikiInline) write(b *strings.Builder, markup string, depth int) {
	for {
		i := strings.Index(markup, "[[")
		if i < 0 {
			b.WriteString(markup)
			return
		}
		b.WriteString(markup[:i])
		end := linkEnd(markup[i:])
		if end < 0 || depth > 5 {
			b.WriteString(strings.ReplaceAll(markup[i:], "[[", ""))
			return
		}
		w.link(b, markup[i+2:i+end-2], depth)
		markup = markup[i+end:]
	}
}

// maxLink is the maximum length of the markup of a link; captions of pictures are the longest.
const maxLink = 5000

// linkEnd returns the offset after the brackets that close those at the beginning, or -1 if there are none within maxLink.
func linkEnd(markup string) int {
	open := 0
	for i := 0; i+1 < min(len(markup), maxLink); i++ {
		switch markup[i : i+2] {
		case "[[":
			open++
			i++
		case "]]":
			open--
			i++
			if open == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// wikiFileSpaces matches the names of the namespace of files in the large wikis, and wikiCategorySpaces those of the
// namespace of categories.
var (
	wikiFileSpaces     = lazyregexp.New(`(?i)^\s*:?(?:file|image|media|datei|bild|fichier|archivo|imagen|immagine|bestand|beeld|plik|ficheiro|imagem|lêer|fil|файл|изображение|ファイル|文件)\s*:`) //nolint:gosmopolitan // names in the wikis of those languages
	wikiCategorySpaces = lazyregexp.New(`(?i)^\s*(?:category|kategorie|catégorie|categoría|categoria|categorie|kategoria|kategori|категория|kategória|カテゴリ|分类)\s*:\s*([^|]*)`)                //nolint:gosmopolitan // names in the wikis of those languages
	wikiLanguage       = lazyregexp.New(`^[a-z]{2,3}(?:-[a-z]{2,8})?:`)
	wikiPictureOption  = lazyregexp.New(`(?i)^\s*(?:thumb(?:nail)?|mini(?:atur)?|frame(?:d|less)?|left|right|center|none|links|rechts|zentriert|upright.*|hochkant.*|border|\d+(?:x\d+)?px|x\d+px|alt=.*|link=.*|baseline|middle|top|bottom|lang=.*|page=.*)\s*$`)
)

// link writes the text that a link shows. content is the markup between its brackets.
func (w *wikiInline) link(b *strings.Builder, content string, depth int) {
	if m := wikiCategorySpaces.FindStringSubmatch(content); m != nil {
		if name := compose.OneLine(m[1]); name != "" && len(w.categories) < 100 {
			w.categories = append(w.categories, compose.Clean(name))
		}
		return
	}
	if wikiFileSpaces.MatchString(content) {
		w.picture(content)
		return
	}
	target, label, labelled := cutLink(content)
	if wikiLanguage.MatchString(target) && !labelled {
		return
	}
	if !labelled {
		label = strings.TrimPrefix(target, ":")
		if label == "" {
			return
		}
	}
	w.write(b, label, depth+1)
}

// cutLink separates a link's target from its label, which may contain links.
func cutLink(content string) (target, label string, labelled bool) {
	target, label, labelled = strings.Cut(content, "|")
	return strings.TrimSpace(target), strings.TrimSpace(label), labelled && strings.TrimSpace(label) != ""
}

// picture keeps the caption of a picture, which is its last argument that is not an option.
func (w *wikiInline) picture(content string) {
	depth, from := 0, -1
	for i := range len(content) {
		switch {
		case strings.HasPrefix(content[i:], "[["):
			depth++
		case strings.HasPrefix(content[i:], "]]"):
			depth--
		case content[i] == '|' && depth <= 0:
			from = i + 1
		}
	}
	if from < 0 || wikiPictureOption.MatchString(content[from:]) || len(w.captions) >= 100 {
		return
	}
	if caption := (&wikiInline{}).render(content[from:]); caption != "" {
		w.captions = append(w.captions, caption)
	}
}
