package ragchat

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"
)

// maxMarkdown is the maximum size in bytes of an answer that is rendered. A longer answer becomes plain
// text.
const maxMarkdown = 256 << 10

// markdown renders the output of models: GitHub's dialect, with hard line breaks. It omits embedded
// HTML.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(goldmarkhtml.WithHardWraps(), goldmarkhtml.WithXHTML()),
)

// sanitizer allows text, lists, tables, code and links to the web, and nothing that runs or loads: the
// address of an image could leak data that a document told the model to give away.
var sanitizer = newSanitizer()

func newSanitizer() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del",
		"blockquote", "pre", "code", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(?:left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-zA-Z0-9+#_-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// renderHTML converts an answer from Markdown to HTML that is safe in a page.
func renderHTML(answer string) string {
	if len(answer) > maxMarkdown {
		return "<p>" + html.EscapeString(answer) + "</p>"
	}
	var b bytes.Buffer
	if err := markdown.Convert([]byte(answer), &b); err != nil {
		// Cannot happen: writing to memory does not fail, and goldmark has no other errors.
		return "<p>" + html.EscapeString(answer) + "</p>"
	}
	return strings.TrimSpace(sanitizer.SanitizeReader(&b).String())
}
