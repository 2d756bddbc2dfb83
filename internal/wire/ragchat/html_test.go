package ragchat

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestRenderHTML_RendersWhatModelsWrite(t *testing.T) {
	for markdown, want := range map[string]string{
		"Final answer":                 "<p>Final answer</p>",
		"one\ntwo":                     "<p>one<br/>\ntwo</p>",
		"**bold** *em* ~~gone~~ `x<y`": "<p><strong>bold</strong> <em>em</em> <del>gone</del> <code>x&lt;y</code></p>",
		"- a\n- b":                     "<ul>\n<li>a</li>\n<li>b</li>\n</ul>",
		"3. c":                         "<ol start=\"3\">\n<li>c</li>\n</ol>",
		"```go\nx := 1\n```":           "<pre><code class=\"language-go\">x := 1\n</code></pre>",
		"|a|b|\n|:-|-:|\n|1|2|":        "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>",
		"It is 25 [a.pdf#page=2].":     "<p>It is 25 [a.pdf#page=2].</p>",
		"see https://example.com/x":    `<p>see <a href="https://example.com/x" rel="nofollow noreferrer noopener" target="_blank">https://example.com/x</a></p>`,
		"5 < 6 & 7 > 3":                "<p>5 &lt; 6 &amp; 7 &gt; 3</p>",
		"<b>html</b>":                  "<p>html</p>",
		"![alt](https://x.example/y)":  "<p></p>",
	} {
		if got := renderHTML(markdown); got != want {
			t.Errorf("%q gives\n%q, want\n%q", markdown, got, want)
		}
	}
}

func TestRenderHTML_LeavesAVeryLongAnswerAsText(t *testing.T) {
	got := renderHTML("**a** <script>x</script>" + strings.Repeat(" word", maxMarkdown/5))
	if !strings.HasPrefix(got, "<p>**a** &lt;script&gt;x&lt;/script&gt; word") {
		t.Errorf("it begins with %.60q", got)
	}
	harmless(t, "long", got)
}

// attacks returns answers that try to run a script or load something: HTML in its forms, links of every
// kind, attributes that close their element, and documents that parse differently the second time.
func attacks() []string {
	run := "alert(1)"
	schemes := []string{"javascript:", "JaVaScRiPt:", "java\tscript:", "java\nscript:", " javascript:", "\x01javascript:",
		"javascript&colon;", "&#106;avascript:", "&#x6A;avascript:", "jav&#x09;ascript:", "jav&Tab;ascript:", "vbscript:",
		"data:text/html,", "data:text/html;base64,", "data:image/svg+xml,", "blob:", "file:///", "view-source:javascript:", "//evil.example/", "feed:javascript:"}
	events := []string{"onerror", "onload", "onclick", "onmouseover", "onfocus", "onanimationstart", "ontoggle", "onpointerenter", "onbegin", "ONERROR"}
	tags := []string{"img", "svg", "body", "video", "audio", "input", "details", "marquee", "iframe", "math", "object", "embed",
		"form", "button", "select", "textarea", "style", "link", "meta", "base", "template", "noscript", "title", "xmp", "plaintext", "a", "p", "code", "table"}
	var all []string
	add := func(s ...string) { all = append(all, s...) }
	for _, s := range schemes {
		add("[x]("+s+run+")", "[x](<"+s+run+">)", "<"+s+run+">", "![x]("+s+run+")", "[x][r]\n\n[r]: "+s+run,
			`<a href="`+s+run+`">x</a>`, `<iframe src="`+s+run+`"></iframe>`, `<form action="`+s+run+`"><input type=submit></form>`)
	}
	for _, tag := range tags {
		for _, e := range events[:5] {
			add("<"+tag+" src=x "+e+"="+run+">", "<"+tag+"/"+e+"='"+run+"' autofocus>")
		}
		add("<"+tag+">"+run+"</"+tag+">", "<"+tag+" style=\"background:url(javascript:"+run+")\">", "<"+tag+" <script>"+run+"</script>")
	}
	for _, e := range events {
		add("[x](https://a.example \"\\\" "+e+"="+run+" \")", "[x](https://a.example/\""+e+"="+run+")", "`\" "+e+"="+run+"`",
			"```x\" "+e+"="+run+"\ny\n```", "|a|\n|-|\n|\" "+e+"="+run+"|")
	}
	add("<script>"+run+"</script>", "<scr<script>ipt>"+run+"</scr</script>ipt>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
		"<!--><script>"+run+"</script>-->", "<![CDATA[<script>"+run+"</script>]]>", "<?xml version=1?><script>"+run+"</script>",
		"<noscript><p title=\"</noscript><img src=x onerror="+run+">\">", "<math><mtext><table><mglyph><style><img src=x onerror="+run+">",
		"<svg></p><style><a id=\"</style><img src=1 onerror="+run+">\">", "<form><math><mtext></form><form><mglyph><style></math><img src onerror="+run+">",
		"<select><style></select><img src=x onerror="+run+">", "<a href=\"x\">\n<script>"+run+"</script>\n</a>", "<div\n>\n\n<script>\n"+run+"\n</script>",
		"</p><script>"+run+"</script>", "\x00<scr\x00ipt>"+run+"</scr\x00ipt>", "<img src=\"x` `<script>"+run+"</script>\"` `>",
		"&lt;script&gt;"+run+"&lt;/script&gt;", "\\<script\\>"+run+"\\</script\\>", "+ADw-script+AD4-"+run+"+ADw-/script+AD4-",
		"<a href=javascript:alert&lpar;1&rpar;>x</a>", "<x xmlns=http://www.w3.org/1999/xhtml><script>"+run+"</script></x>",
		"[a](https://a.example/?q=<script>"+run+"</script>)", "<https://a.example/\"onmouseover="+run+">", "www.a.example/\"onmouseover="+run,
		"a@b.example\"onmouseover="+run, "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)", "Sources:\n[<img src=x onerror="+run+">] javascript:"+run)
	return all
}

func TestRenderHTML_LetsNothingRunOrLoad(t *testing.T) {
	list := attacks()
	if len(list) < 200 {
		t.Fatalf("only %d attacks", len(list))
	}
	for _, attack := range list {
		harmless(t, attack, renderHTML(attack))
		harmless(t, attack, renderHTML("An answer.\n\n"+attack+"\n\nmore"))
		harmless(t, attack, renderHTML("- in a list "+attack))
	}
}

// allowedAttributes are the attributes that a page may have, by element.
var allowedAttributes = map[string][]string{
	"p": nil, "br": nil, "hr": nil, "h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "em": nil, "strong": nil,
	"del": nil, "blockquote": nil, "pre": nil, "code": {"class"}, "ul": nil, "ol": {"start"}, "li": nil, "table": nil, "thead": nil,
	"tbody": nil, "tr": nil, "th": {"align"}, "td": {"align"}, "a": {"href", "rel", "target"},
}

// harmless parses HTML as a browser does and fails the test if an element, attribute or address is not
// allowed, or if a second parse gives another result.
func harmless(t *testing.T, attack, fragment string) {
	t.Helper()
	once := parse(t, fragment)
	if again := parse(t, once.text); again.text != once.text {
		t.Errorf("%q changes when it is parsed again:\n%s\n%s", attack, once.text, again.text)
	}
	for _, n := range once.elements {
		allowed, ok := allowedAttributes[n.Data]
		if !ok {
			t.Errorf("%q lets <%s> through: %s", attack, n.Data, fragment)
		}
		for _, a := range n.Attr {
			if !slices.Contains(allowed, a.Key) {
				t.Errorf("%q lets %s=%q through on <%s>", attack, a.Key, a.Val, n.Data)
			}
			if a.Key != "href" {
				continue
			}
			u, err := url.Parse(a.Val)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
				t.Errorf("%q lets a link to %q through", attack, a.Val)
			}
		}
	}
}

type parsed struct {
	elements []*html.Node
	text     string
}

func parse(t *testing.T, fragment string) parsed {
	t.Helper()
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: 0x2804}
	nodes, err := html.ParseFragment(strings.NewReader(fragment), body)
	if err != nil {
		t.Fatal(err)
	}
	var p parsed
	var b strings.Builder
	for _, n := range nodes {
		for d := range n.Descendants() {
			p.add(t, d)
		}
		p.add(t, n)
		if err := html.Render(&b, n); err != nil {
			t.Fatal(err)
		}
	}
	p.text = b.String()
	return p
}

func (p *parsed) add(t *testing.T, n *html.Node) {
	t.Helper()
	switch n.Type {
	case html.ElementNode:
		p.elements = append(p.elements, n)
	case html.TextNode:
	default:
		t.Errorf("a node of type %v: %s", n.Type, fmt.Sprintf("%.60q", n.Data))
	}
}
