package chattest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/lazyregexp"
)

// markdowns are the ways in which front ends render an answer: CommonMark, and GitHub's dialect with further
// extensions, each without and with raw HTML.
var markdowns = []goldmark.Markdown{
	goldmark.New(),
	goldmark.New(goldmark.WithRendererOptions(html.WithUnsafe())),
	goldmark.New(dialects, goldmark.WithParserOptions(parser.WithAutoHeadingID())),
	goldmark.New(dialects, goldmark.WithRendererOptions(html.WithUnsafe(), html.WithHardWraps())),
}

var dialects = goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList, extension.Typographer)

// Fetches returns the requests to other sites that a page with this answer would make, and the scripts that it
// would run, without a click, if it renders the answer in any of the markdowns or as HTML. The page is at
// https://chat.example/; addresses without a host are relative to it.
func Fetches(answer string) []string {
	found := fetchesOfHTML("HTML", answer)
	for i, m := range markdowns {
		var page bytes.Buffer
		if err := m.Convert([]byte(answer), &page); err != nil {
			return append(found, fmt.Sprintf("renderer %d: %v", i, err))
		}
		found = append(found, fetchesOfHTML(fmt.Sprintf("renderer %d", i), page.String())...)
	}
	return found
}

func fetchesOfHTML(way, page string) (found []string) {
	if !strings.Contains(page, "<") {
		return nil
	}
	body := &nethtml.Node{Type: nethtml.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := nethtml.ParseFragmentWithOptions(strings.NewReader(page), body, nethtml.ParseOptionEnableScripting(true))
	if err != nil {
		return []string{way + ": " + err.Error()}
	}
	for _, root := range nodes {
		if what := fetchOf(root); what != "" {
			found = append(found, way+": "+what)
		}
		for n := range root.Descendants() {
			if what := fetchOf(n); what != "" {
				found = append(found, way+": "+what)
			}
		}
	}
	return found
}

var (
	// clicked are attributes whose addresses browsers open only on a click.
	clicked = []string{"href", "cite", "action", "formaction"}
	// fetching are elements whose href browsers fetch, or whose href changes the base of other addresses.
	fetching = []string{"link", "base", "image", "use", "feimage"}
	// styled matches the addresses that a style fetches.
	styled = lazyregexp.New(`(?i)(?:url\(|@import|image-set\(|src\()\s*["']?([^"')\s]*)`)
	// refreshed matches the address in the content of a meta element that makes the page go there by itself.
	refreshed = lazyregexp.New(`(?is)^\s*\d*[.\d]*\s*[;,]?\s*(?:url\s*=)?\s*["']?(.*)`)
)

// fetchOf returns the request that an element makes to another site, the script that it runs, or "" if it
// does neither.
func fetchOf(n *nethtml.Node) string {
	if n.Type == nethtml.TextNode && n.Parent != nil && n.Parent.Data == "style" {
		return foreignStyle(n.Data)
	}
	if n.Type != nethtml.ElementNode {
		return ""
	}
	if n.Data == "script" {
		return "a script"
	}
	refresh := slices.ContainsFunc(n.Attr, func(a nethtml.Attribute) bool { return strings.EqualFold(a.Key, "http-equiv") })
	for _, a := range n.Attr {
		key, value := strings.ToLower(a.Key), a.Val
		var where string
		switch {
		case strings.HasPrefix(key, "on"):
			where = "runs " + value
		case key == "srcdoc":
			where = "a page in the page"
		case key == "style":
			where = foreignStyle(value)
		case slices.Contains(clicked, key) && !slices.Contains(fetching, n.Data):
		case key == "srcset" || key == "imagesrcset":
			for part := range strings.SplitSeq(value, ",") {
				where += foreign(part)
			}
		case key == "content" && n.Data == "meta":
			if m := refreshed.FindStringSubmatch(value); refresh && m != nil {
				where = foreign(m[1])
			}
		case key == "href", key == "src", key == "data", key == "poster", key == "background", key == "ping", key == "code", key == "archive", key == "lowsrc", key == "dynsrc", key == "manifest":
			where = foreign(value)
		}
		if where != "" {
			return fmt.Sprintf("<%s %s=%q> %s", n.Data, a.Key, value, where)
		}
	}
	return ""
}

func foreignStyle(style string) string {
	for _, m := range styled.FindAllStringSubmatch(style, -1) {
		if where := foreign(m[1]); where != "" {
			return where
		}
	}
	return ""
}

// foreign returns where an address leads, "the host …" or "the scheme …", or "" if it makes no request to another
// site. It reads addresses as browsers do (https://url.spec.whatwg.org/#concept-basic-url-parser).
func foreign(address string) string {
	address = strings.Map(func(r rune) rune {
		switch r {
		case '\t', '\n', '\r':
			return -1
		case '\\':
			return '/'
		}
		return r
	}, strings.TrimFunc(address, func(r rune) bool { return r <= ' ' }))
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		scheme, rest = "", address
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "ftp", "ws", "wss", "file":
		rest = "//" + strings.TrimLeft(rest, "/")
	case "data", "about", "mailto":
		return ""
	case "":
	default:
		return "the scheme " + scheme
	}
	if !strings.HasPrefix(rest, "//") {
		return ""
	}
	host := strings.TrimLeft(rest, "/")
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if host == "" || host == "chat.example" {
		return ""
	}
	if plain, err := url.PathUnescape(host); err == nil {
		host = plain
	}
	return "the host " + host
}

// Pieces are the parts from which tests build answers that could fetch something.
var Pieces = []string{
	// Marks.
	"!", "[", "]", "(", ")", "<", ">", "![", "](", "]:", "][", "[]", "!!", "\\", "`", "```", "~~~", "\"", "'", "=", "&", "*", "_", "|", "{", "}", "#", "- ", "> ", "1. ", "    ", "---", "===", "【", "】", "［", "］", "！", "＜",
	// Blanks.
	" ", " ", "\n", "\n\n", "\r", "\r\n", "\t", "\f", "\v", "\x00", "\u00a0", "\u200b", "\u2028",
	// Citations, also those that are removed.
	"[nope.pdf#page=9]", "[nope.pdf]", "[guide.md]", "[other.pdf#page=2]", "【nope.pdf#page=9】", "[[nope.pdf]]", "([nope.pdf])", "[nope.pdf#page=9](", "【4:0†source】", "[x, nope.pdf#page=9]",
	// Addresses.
	"https://evil.example/x", "//evil.example/x", "HTTPS:evil.example", "/\\evil.example", "/\t/evil.example", "/\r/evil.example", "\\\\evil.example", "https&#58;//evil.example", "&#47;&sol;evil.example", "data:text/html,x", "javascript:fetch(1)", "www.evil.example", "http://x.co/](", "mailto:a@evil.example", "/content/a.png", "a.png", "#x", "?", "%2f%2fevil.example",
	// Images, links and definitions.
	"![i](https://evil.example/p)", "![i](", "![i]", "![i][r]", "[r]", "[r]:", "[i]: ", "[r]: https://evil.example/q", "[i]:\n<//evil.example>", "![i](/content/a.png)", "[a](https://other.example)", "[^1]", "[^1]: ", "[^i]: https://evil.example/f", "!\\[i](https://evil.example)", "&#33;[i](https://evil.example)", "\"title\"", " \"t\")", "![i](<", "![i](/a \"",
	// HTML.
	"<img src=https://evil.example/t>", "<img", "<IMG ", "<img/", "img src=//evil.example/u>", " src=", "src=\"//evil.example\"", " srcset=", " style=background:url(//evil.example)", "style=\"", "background:url(", " onerror=fetch(1)", " /", "/>", "<b>", "</b>", "<b title=\"", "<a href=\"/x\">", "<a href='", "<br/>", "<p ", "<div\n", "<script>", "</script>", "<style>", "@import '//evil.example';", "</style>", "<svg>", "<image href=", "<use ", "<link rel=stylesheet href=", "<base href=", "<meta http-equiv=refresh content=\"0;url=", "<iframe src=", "<object data=", "<video poster=", "<input type=image src=", "<table background=", "<!--", "-->", "<!-->", "<![CDATA[", "]]>", "<?", "?>", "<!DOCTYPE", "<textarea>", "<title>", "<math>", "<noscript>", "<https://a.example/", "<a@b.example>", "<https:/style=background:url(//evil.example)>", "/onclick=fetch(1) ", "&lt;img src=//evil.example&gt;", "Map<String, List<Int>>", "<x<y ", "<select>", "<template>", "<" + strings.Repeat("a", 199), strings.Repeat("b", 260), strings.Repeat("c/", 1024),
	// Text.
	"word", "a", "x.", " and ", "25", ":", ".", ",", "http:", "é", "\u6f22\u5b57",
}

// RandomAnswer returns a random sequence of 1 to most pieces.
func RandomAnswer(r *rand.Rand, most int) string {
	var b strings.Builder
	for range 1 + r.IntN(most) {
		b.WriteString(Pieces[r.IntN(len(Pieces))])
	}
	return b.String()
}

// Cut splits a text at random places, but never within a character.
func Cut(r *rand.Rand, text string) []string {
	var out []string
	most := 1 + r.IntN(40)
	for runes := []rune(text); len(runes) > 0; {
		n := min(len(runes), 1+r.IntN(most))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
