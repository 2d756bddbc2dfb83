package markup

import (
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/lazyregexp"
)

// articleBytes is the maximum size of the source of a page for the article finder, which makes several copies of the
// tree.
const articleBytes = 3 << 20

// minArticle is the least text of an article, in bytes without spaces.
const minArticle = 200

// mainContent returns the subtree with the content of a page whose source has size bytes. It changes root.
func mainContent(root *html.Node, size int) *html.Node {
	body := find(root, atom.Body)
	if body == nil {
		body = root
	}
	prepareHTML(root)
	removeElements(root, func(n *html.Node) bool { return skipped[n.DataAtom] || isHidden(n) })
	if size > articleBytes {
		removeElements(body, isBoilerplate)
		return body
	}
	// On a page that calls itself an article, the rest may be large: teasers of other pages, and comments.
	share, least := 2, 6
	if saysArticle(root) {
		share, least = 6, 20
	}
	article, err := readability.FromDocument(root, nil)
	removeElements(body, isBoilerplate)
	if err != nil || article.Node == nil {
		return body
	}
	// The shares keep reference pages and threads of comments whole: from an article, the finder drops far less.
	found := textLength(article.Node)
	if found < minArticle || found*least < textLength(body) || proseLength(article.Node)*share < proseLength(body) {
		return body
	}
	return article.Node
}

// saysArticle reports whether a page's metadata call it an article: Open Graph, and dates of publication.
func saysArticle(root *html.Node) bool {
	for n := range root.Descendants() {
		if n.DataAtom != atom.Meta {
			continue
		}
		switch property := attr(n, "property"); property {
		case "og:type":
			if strings.EqualFold(attr(n, "content"), "article") {
				return true
			}
		case "article:published_time", "article:published":
			return true
		}
	}
	return false
}

// furniture matches the classes and ids of elements beside the text of a page: teasers of other pages,
// comments of readers, advertisements.
var furniture = lazyregexp.New(`(?i)(?:^|[-_ ])(?:comments?|disqus|related|recommend(?:ed|ations?)|sidebar|teasers?|promos?|newsletter|cookies?|consent|` +
	`shar(?:e|ing)|social|subscri(?:be|ption)|popular|trending|most-?read|sponsor(?:ed)?|advert\w*|ads?|footer|breadcrumbs?|menu|nav(?:bar|igation)?|login|outbrain|taboola|modal|popup)(?:$|[-_ ])`)

// proseLength returns the length of the running text under a node, without links, blocks of links, and page furniture.
func proseLength(root *html.Node) int {
	total, _ := prose(root, textLength(root))
	return total
}

// prose returns the length of the running text in the blocks under a node (total), and of the text that belongs to the
// enclosing block (inline): outside of links, and in them.
func prose(n *html.Node, all int) (total int, inline [2]int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			for word := range strings.FieldsSeq(c.Data) {
				inline[0] += len(word)
			}
			continue
		}
		if c.Type != html.ElementNode || isFurniture(c, all) {
			continue
		}
		inner, text := prose(c, all)
		total += inner
		switch {
		case c.DataAtom == atom.A:
			inline[1] += text[0] + text[1]
		case inlineElements[c.DataAtom]:
			inline[0] += text[0]
			inline[1] += text[1]
		case text[0] > text[1]:
			total += text[0] + text[1]
		}
	}
	return total, inline
}

// isFurniture judges an element by its class and id, unless it holds the heading or half of the page.
func isFurniture(n *html.Node, all int) bool {
	if !furniture.MatchString(attr(n, "class")) && !furniture.MatchString(attr(n, "id")) {
		return false
	}
	return textLength(n)*2 < all && !hasElement(n, atom.H1)
}
