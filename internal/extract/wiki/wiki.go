// Package wiki reads the markup of MediaWiki, and dumps of wikis. Each page of a dump becomes a document.
package wiki

import (
	"context"
	"encoding/xml"
	"html"
	"io"
	"path"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
	"parley/internal/lazyregexp"
)

var (
	_ = extract.Register("MediaWiki", extract.Reader{Read: readWiki, Looks: looksLikeWiki})
	_ = extract.Register("MediaWiki dump", extract.Reader{Read: readWikiDump})
)

// readWiki reads MediaWiki markup: headings, paragraphs, lists, tables and infoboxes. It does not expand templates, which
// would need the wiki from which they come. Templates that format text or units give their text; other templates and
// references are left out.
func readWiki(ctx context.Context, f *extract.File) (*extract.Document, error) {
	source, err := compose.ReadText(f, min(f.Limits.TextBytes, wikiBytes))
	if err != nil {
		return nil, err
	}
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	if err := addWiki(ctx, &out, source); err != nil {
		return nil, err
	}
	// The title of a page is not in it, and its first heading is one of many sections.
	return &extract.Document{Title: strings.TrimSuffix(path.Base(f.Name), path.Ext(f.Name)), Pages: []extract.Page{out.Page(0, false)}}, nil
}

// wikiBytes is the maximum size of a page, of which memory holds several forms. MediaWiki allows 2 MiB.
const wikiBytes = 8 << 20

// addWiki appends one page.
func addWiki(ctx context.Context, out *compose.Builder, source string) error {
	if to := wikiRedirect.FindStringSubmatch(source); to != nil {
		return out.Add(extract.Paragraph, 0, "Redirect to "+compose.OneLine(to[1]))
	}
	t := newWikiTemplates(stripWiki(source))
	text := t.expand()
	if err := ctx.Err(); err != nil {
		return err
	}
	w := wikiWalker{out: out, infoboxes: t.infoboxes}
	return w.walk(ctx, text)
}

var wikiRedirect = lazyregexp.New(`^\s*#[\p{L}_]{3,30}:?\s*\[\[([^\[\]|#\n]+)`)

// The elements that are removed first, since markup within them does not count.
var (
	wikiComment = lazyregexp.New(`(?s)<!--.*?(?:-->|\z)`)
	wikiRef     = lazyregexp.New(`(?is)<ref(?:\s[^<>]*)?/>|<ref(?:\s[^<>]*)?>.*?</ref\s*>`)
	wikiDropped = lazyregexp.New(`(?is)<(?:includeonly|templatestyles|imagemap|timeline|score|graph|mapframe|maplink)\b[^<>]*(?:/>|>.*?</(?:includeonly|templatestyles|imagemap|timeline|score|graph|mapframe|maplink)\s*>)`)
	wikiFormula = lazyregexp.New(`(?is)<math\b[^<>/]*>(.*?)</math\s*>`)
	wikiNowiki  = lazyregexp.New(`(?is)<(?:nowiki|math|chem)\b[^<>/]*>(.*?)</(?:nowiki|math|chem)\s*>`)
	wikiCode    = lazyregexp.New(`(?is)<(?:pre|syntaxhighlight|source)\b[^<>/]*>(.*?)</(?:pre|syntaxhighlight|source)\s*>`)
	wikiMagic   = lazyregexp.New(`__[A-Z]{3,20}__`)
)

// codeMark marks the beginning of lines of code until they become a block.
const codeMark = "\x02"

// stripWiki removes everything that is not text, and disarms the markup in text that is shown as it is.
func stripWiki(source string) string {
	source = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, source)
	source = wikiComment.ReplaceAllString(source, "")
	source = wikiFormula.ReplaceAllString(source, "$$<math>$1</math>$$")
	source = wikiNowiki.ReplaceAllStringFunc(source, func(s string) string {
		return disarm(wikiNowiki.FindStringSubmatch(s)[1])
	})
	source = wikiCode.ReplaceAllStringFunc(source, func(s string) string {
		code := strings.Trim(wikiCode.FindStringSubmatch(s)[1], "\n")
		return "\n" + codeMark + strings.ReplaceAll(disarm(code), "\n", "\n"+codeMark) + "\n"
	})
	source = wikiRef.ReplaceAllString(source, "")
	source = wikiDropped.ReplaceAllString(source, "")
	return wikiMagic.ReplaceAllString(source, "")
}

// disarm replaces the characters of markup by character references, which are resolved last.
func disarm(s string) string { return wikiDisarm.Replace(html.UnescapeString(s)) }

var wikiDisarm = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "[", "&#91;", "]", "&#93;", "{", "&#123;",
	"}", "&#125;", "|", "&#124;", "'", "&#39;", "=", "&#61;", "*", "&#42;", "#", "&#35;", ":", "&#58;", ";", "&#59;", "!", "&#33;")

var (
	wikiLink    = lazyregexp.New(`\[\[[^\[\]\n]+\]\]`)
	wikiSignals = []*lazyregexp.Regexp{
		lazyregexp.New(`'''[^'\n]+'''`),
		lazyregexp.New(`(?m)^==+[^=\n]+==+\s*$`),
		lazyregexp.New(`\{\{[^{}|\n]+(?:[|\n]|\}\})`),
		lazyregexp.New(`<ref\b`),
		lazyregexp.New(`(?m)^\{\|.*class=`),
		lazyregexp.New(`\[\[(?:File|Image|Category|Datei|Kategorie):`),
	}
)

// looksLikeWiki recognises MediaWiki markup in a file that is named like plain text: links, and two
// more of its signs.
func looksLikeWiki(f *extract.File) bool {
	head := f.Head
	if f.Kind == nil || f.Kind.Name != "plain text" {
		return false
	}
	if wikiRedirect.Match(head) {
		return true
	}
	signs := 0
	for _, s := range wikiSignals {
		if s.Match(head) {
			signs++
		}
	}
	return signs > 0 && wikiLink.Match(head) && signs+len(wikiLink.FindAllIndex(head, 3)) >= 3
}

// readWikiDump extracts the pages of a dump (MediaWiki's export format, 0.3 to 0.11). Each is a document of its own.
// Redirects, discussions, templates and files are left out.
func readWikiDump(ctx context.Context, f *extract.File) (*extract.Document, error) {
	var page wikiPage
	err := zipxml.EachToken(ctx, io.NewSectionReader(f.Content, 0, f.Size), func(d *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "page":
				page = wikiPage{}
			case "title":
				return d.DecodeElement(&page.title, &t)
			case "ns":
				return d.DecodeElement(&page.space, &t)
			case "text":
				page.text = "" // of an older revision
				return d.DecodeElement(&page.text, &t)
			case "redirect":
				page.redirect = true
			}
		case xml.EndElement:
			if t.Name.Local == "page" && page.isContent() {
				return f.Spool.Add(ctx, page.fileName(), strings.NewReader(page.text))
			}
		}
		return nil
	})
	doc := &extract.Document{}
	if zipxml.IsSyntaxError(err) {
		if len(f.Spool.Parts) == 0 {
			return nil, extract.Damagedf("the dump is not well-formed XML")
		}
		doc.Notes = append(doc.Notes, "the dump is damaged, and was read up to the damage")
		err = nil
	}
	return doc, err
}

// wikiPage is a page of a dump.
type wikiPage struct {
	title, text string
	space       int // its namespace: even for pages, odd for their discussions
	redirect    bool
}

// isContent returns false for users, files, messages, templates and modules.
func (p wikiPage) isContent() bool {
	switch p.space {
	case 2, 6, 8, 10, 828:
		return false
	}
	return p.space%2 == 0 && !p.redirect && strings.TrimSpace(p.text) != "" && strings.TrimSpace(p.title) != ""
}

// fileName returns a file name from the page's title, in which slashes separate subpages from pages.
func (p wikiPage) fileName() string {
	return strings.Trim(compose.OneLine(compose.Clean(p.title)), "/. ") + ".wiki"
}
