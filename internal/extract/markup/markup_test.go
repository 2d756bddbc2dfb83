package markup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestMarkdown_KeepsStructureWithoutMarkup(t *testing.T) {
	source := `# Health *plan*

Read the [guide](http://example.org/x "t") and ` + "`code --flag`" + `,
or mail <a@example.org>. It\'s ![a chart](c.png) &amp; more.

- first **item**
  with a second line
- second
  1. nested
  2. also nested

3. three
4. four

| Plan | Price |
|------|------:|
| Plus | $5    |
| Standard | [free](x) |

` + "```go\nfunc main() {\n\n\tx := 1\n}\n```" + `

> A quote.

Setext {#own-id .wide}
------

### A set {a, b} {: #set}

<div class="x">Inside <b>HTML</b>.</div>

Line one\
line two

Term[^1]

[^1]: The note.
`
	want := `H1 Health plan
P Read the guide and code --flag, or mail a@example.org. It's a chart & more.
L • first item with a second line
L • second
L 1. nested
L 2. also nested
L 3. three
L 4. four
TH Plan | Price
TR Plan: Plus; Price: $5
TR Plan: Standard; Price: free
C func main() {⏎⏎	x := 1⏎}
P A quote.
H2 Setext
H3 A set {a, b}
P Inside HTML.
P Line one⏎line two
P Term
P The note.
`
	doc := extracttest.Read(t, "a.md", []byte(source))
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Health plan" {
		t.Errorf("title = %q", doc.Title)
	}
}

func TestHTML_ReadsMetaElementsThatDescribeThePage(t *testing.T) {
	doc := extracttest.Read(t, "a.html", []byte(`<title>T</title><meta name="Author" content=" Ada  Lovelace "><meta name=keywords content="engines, notes,">
		<meta name="viewport" content="width=1"><meta property="article:tag" content="one"><meta property="article:tag" content="two"><meta name="DC.date" content="2026-11-29"><p>Text.`))
	want := `{"article:tag":["one","two"],"author":"Ada Lovelace","dc.date":"2026-11-29","keywords":["engines","notes"]}`
	if got := string(doc.Meta.Attributes); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMarkdown_ReadsFrontMatter(t *testing.T) {
	doc := extracttest.Read(t, "a.md", []byte("---\ntitle: A title\nurl: https://example.org/a\ncategory: hr\nusers: ada\ngroups:\n  - staff\n  - 7\nother: [1]\ndate: 2026-11-29\nauthor: {name: Ada, age: 36}\n---\n# Heading\n"))
	want := extract.Meta{Title: "A title", URL: "https://example.org/a", Category: "hr", Users: []string{"ada"}, Groups: []string{"staff", "7"},
		Attributes: []byte(`{"author.age":36,"author.name":"Ada","date":"2026-11-29","other":[1]}`)}
	if diff := cmp.Diff(want, doc.Meta); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "A title" || extracttest.Outline(doc) != "H1 Heading\n" {
		t.Errorf("title %q, text %q", doc.Title, extracttest.Outline(doc))
	}
}

// Whoever may see a document must be known before it is indexed.
func TestMarkdown_RefusesFrontMatterWhoseAccessItCannotRead(t *testing.T) {
	for _, matter := range []string{"users: [ada", "users:", "users: []", "groups: [\"\"]", "groups: {staff: yes}", "title: a\n\"users\": [[ada]]", "a: 'b\nusers: ada"} {
		extracttest.WantReason(t, "a.md", []byte("---\n"+matter+"\n---\ntext\n"), extract.Limits{}, extract.BadMetadata)
	}
	doc := extracttest.Read(t, "a.md", []byte("---\nNot: [yaml\n---\n\ntext\n"))
	if len(doc.Notes) != 1 || !strings.Contains(extracttest.Outline(doc), "text") {
		t.Errorf("notes %q, text %q", doc.Notes, extracttest.Outline(doc))
	}
}

func TestMarkdown_JoinsLinesAsTheScriptDoes(t *testing.T) {
	got := extracttest.Outline(extracttest.Read(t, "a.md", []byte("这是一个\n句子。\n\nThis is\na sentence.\n")))
	if want := "P 这是一个句子。\nP This is a sentence.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const article = `<!DOCTYPE html>
<html><head><title>Deductibles | Example</title>
<link rel="canonical" href="https://example.org/deductibles">
<style>p { color: red }</style><script>var x = "hidden";</script></head>
<body>
<nav><a href="/">Home</a> <a href="/plans">Plans</a></nav>
<main><article>
<h1>Deductibles</h1>
<p>The deductible is what you pay
before the plan pays. It starts anew each calendar year, and it counts for
every member of the family on its own, unless the plan says otherwise in its summary.</p>
<h2>How much<a class="anchor" href="#x">¶</a></h2>
<p>It depends on the plan; see the table below for the two plans that the company offers to its
employees, with the yearly amounts for one person and for a family.</p>
<table><tr><th>Plan</th><th>Person</th><th>Family</th></tr>
<tr><td>Plus</td><td>$500</td><td>$1,000</td></tr>
<tr><td>Standard</td><td colspan="2">$2,000</td></tr></table>
<ul><li>Check <b>your</b> plan</li><li><p>Ask the team</p><ul><li>by mail</li></ul></li></ul>
<ol start="3"><li>Third</li></ol>
<pre><code>if x {
    y()
}</code></pre>
<dl><dt>Copay</dt><dd>A fixed amount.</dd></dl>
<p>One line<br>another&nbsp;line</p>
</article></main>
<footer>Copyright</footer>
</body></html>`

func TestHTML_ReadsTheMainContent(t *testing.T) {
	want := `H1 Deductibles
P The deductible is what you pay before the plan pays. It starts anew each calendar year, and it counts for every member of the family on its own, unless the plan says otherwise in its summary.
H2 How much
P It depends on the plan; see the table below for the two plans that the company offers to its employees, with the yearly amounts for one person and for a family.
TH Plan | Person | Family
TR Plan: Plus; Person: $500; Family: $1,000
TR Plan: Standard; Person: $2,000
L • Check your plan
L • Ask the team
L • by mail
L 3. Third
C if x {⏎    y()⏎}
P Copay: A fixed amount.
P One line⏎another line
`
	doc := extracttest.Read(t, "a.html", []byte(article))
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Deductibles | Example" || doc.Meta.URL != "https://example.org/deductibles" {
		t.Errorf("title %q, URL %q", doc.Title, doc.Meta.URL)
	}
}

func TestHTML_ReadsAPageOfShortPiecesWhole(t *testing.T) {
	var b strings.Builder
	b.WriteString("<html><body><nav>Menu</nav><h1>Glossary</h1>")
	for _, term := range []string{"alpha", "beta", "gamma", "delta"} {
		b.WriteString("<section><h2>" + term + "</h2><div>Short text on " + term + ".</div></section>")
	}
	b.WriteString("<script>no()</script></body></html>")
	want := "H1 Glossary\nH2 alpha\nP Short text on alpha.\nH2 beta\nP Short text on beta.\nH2 gamma\nP Short text on gamma.\nH2 delta\nP Short text on delta.\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.html", []byte(b.String())))); diff != "" {
		t.Error(diff)
	}
}

func TestSummary_IsTheHeadingOfItsFoldedSection(t *testing.T) {
	for name, text := range map[string]string{
		"a.md":   "# Help\n\n<details><summary>Is it open?</summary>\n\nOn weekdays.\n\n</details>\n",
		"a.html": "<h1>Help</h1><details><summary>Is <b>it</b> open?</summary>On weekdays.</details>",
	} {
		want := "H1 Help\nH6 Is it open?\nP On weekdays.\n"
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, name, []byte(text)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestHTML_ReadsWhatIsNestedTooDeeply(t *testing.T) {
	page := strings.Repeat("<div>", 5000) + "<script>no()</script>deep text" + strings.Repeat("</div>", 5000)
	doc := extracttest.Read(t, "a.html", []byte(page))
	if got := extracttest.Outline(doc); got != "P deep text\n" || len(doc.Notes) != 1 {
		t.Errorf("got %q with notes %q", got, doc.Notes)
	}
}

func TestHTML_FollowsTheDeclaredCharset(t *testing.T) {
	page := "<html><head><meta charset=\"windows-1251\"><title>\xcf\xf0\xe8\xe2\xe5\xf2</title></head><body><p>\xcf\xf0\xe8\xe2\xe5\xf2</p></body></html>"
	doc := extracttest.Read(t, "a.html", []byte(page))
	if doc.Title != "Привет" || extracttest.Outline(doc) != "P Привет\n" {
		t.Errorf("title %q, text %q", doc.Title, extracttest.Outline(doc))
	}
}

func TestHTML_DoesNotTakeALayoutTableForData(t *testing.T) {
	page := "<body><table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td><p>Text beside.</p></td></tr></table></body>"
	if got, want := extracttest.Outline(extracttest.Read(t, "a.html", []byte(page))), "TR a | b\nP Text beside.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
