package crawl

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"parley/internal/lazyregexp"
)

// rawAddress returns the address of the source of an article in a MediaWiki: the article's address with
// action=raw (https://www.mediawiki.org/wiki/Manual:Parameters_to_index.php#Raw).
func rawAddress(article *url.URL) *url.URL {
	u := *article
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "action=raw"
	return &u
}

// isWikitext reports whether a response is the source of an article, and not a page about it.
func isWikitext(mediaType string) bool {
	return mediaType == "text/x-wiki" || mediaType == "text/plain" || mediaType == "text/x-wiki-markup"
}

// wikiTitle returns the title in the address of an article.
func wikiTitle(article *url.URL) string {
	title := article.Query().Get("title")
	if title == "" {
		dir, last := cutTitle(article)
		if title = last; dir == "" {
			return ""
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(title, "_", " "))
}

// cutTitle splits the path of an article before its title, which may contain slashes.
func cutTitle(article *url.URL) (dir, title string) {
	const articles = "/wiki/"
	if i := strings.Index(article.Path, articles); i >= 0 {
		return article.Path[:i+len(articles)], article.Path[i+len(articles):]
	}
	i := strings.LastIndexByte(article.Path, '/')
	return article.Path[:i+1], article.Path[i+1:]
}

// articlesOf returns the scope of the articles of a wiki.
func articlesOf(article *url.URL) scope {
	if article.Query().Has("title") {
		return scope{host: article.Host, path: article.EscapedPath(), query: "title="}
	}
	dir, _ := cutTitle(article)
	return scope{host: article.Host, path: (&url.URL{Path: dir}).EscapedPath()}
}

// articleAddress returns the address of another article of the same wiki, or nil for a title that cannot
// exist.
func articleAddress(from *url.URL, title string) *url.URL {
	title = strings.ReplaceAll(strings.Join(strings.Fields(strings.ReplaceAll(title, "_", " ")), " "), " ", "_")
	first, n := utf8.DecodeRuneInString(title)
	if title == "" || first == utf8.RuneError || len(title) > 255 || strings.ContainsAny(title, "<>{}#|\x00") {
		return nil
	}
	title = strings.ToUpper(string(first)) + title[n:]
	u := &url.URL{Scheme: from.Scheme, Host: from.Host}
	if query := from.Query(); query.Has("title") {
		u.Path, u.RawQuery = from.Path, "title="+url.QueryEscape(title)
	} else {
		dir, _ := cutTitle(from)
		u.Path = dir + title
	}
	u, err := normalise(u)
	if err != nil {
		return nil
	}
	return u
}

var (
	wikiLink     = lazyregexp.New(`\[\[([^\[\]|#\n]{1,255})[\]|#]`)
	wikiRedirect = lazyregexp.New(`^\s*#\pL+\s*:?\s*\[\[([^\[\]|#\n]{1,255})[^\n]*\]\]`)
)

// readWikiHead reads the links of an article and its redirect.
func readWikiHead(article *url.URL, source []byte) head {
	var h head
	if m := wikiRedirect.FindSubmatch(source); m != nil {
		h.refresh = articleAddress(article, string(m[1]))
		return h
	}
	seen := map[string]bool{}
	for _, m := range wikiLink.FindAllSubmatch(source, 4*maxLinks) {
		title := strings.TrimSpace(string(m[1]))
		if isForeignTitle(title) {
			continue
		}
		if u := articleAddress(article, title); u != nil && !seen[u.String()] && len(h.links) < maxLinks {
			seen[u.String()] = true
			h.links = append(h.links, u)
		}
	}
	return h
}

// isForeignTitle reports whether a link does not lead to an article, but to a file, a category, a
// discussion, another wiki or a subpage. A colon in an article's title is followed by a space.
func isForeignTitle(title string) bool {
	namespace, rest, found := strings.Cut(title, ":")
	return strings.HasPrefix(title, "/") || found && (namespace == "" || !strings.HasPrefix(rest, " "))
}
