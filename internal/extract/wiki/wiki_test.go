package wiki

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestWiki_KeepsStructureWithoutMarkup(t *testing.T) {
	source := `{{Use dmy dates}}<!-- a comment -->
{{Infobox city
| name = Bonn
| image = Bonn.jpg
| population = {{formatnum:330000}}<ref name="a/b">See [[x]].</ref>
| twin_towns = {{plainlist|
* [[Oxford]]
* [[Weimar]]
}}
| empty =
}}
'''Bonn''' is a [[city]] on the {{lang|de|Rhein}} ([[Rhine|river Rhine]])<ref>Note</ref>, about {{convert|24|km|mi}} from ''Cologne''.
It has [https://example.org a site] &amp; {{unknown thing|x=1}}more.

[[File:Map.png|thumb|200px|A map of [[Bonn]]]]
== History ==
=== Old {{small|times}} ===
* first
* second<br>line
** nested
# one
# two
<ol><li>Open <li>Read<ul>
<li>twice</li></ul></li>
<li>Shut
it</li></ol>
; Term : explained
: indented
----
{| class="wikitable"
|+ Mayors
! Name !! From
|-
| rowspan="2" | [[Ann|Ann B.]] || 1990
|-
| 1995
|-
| colspan="2" style="x" | nobody {{!}} none
|}
<syntaxhighlight lang="go">
if a[[0]] == b {
	return
}
</syntaxhighlight>
<nowiki>[[not a link]]</nowiki> end
__NOTOC__
[[de:Bonn]]
[[Category:Cities]][[Category:Rhine| ]]
`
	want := `TH Infobox city
TR name: Bonn
TR population: 330000
TR twin towns: Oxford, Weimar
P Bonn is a city on the Rhein (river Rhine), about 24 km from Cologne. It has a site & more.
P A map of Bonn
H1 History
H2 Old times
L • first
L • second⏎line
L • nested
L 1. one
L 2. two
L 1. Open
L 2. Read
L • twice
L 3. Shut it
P Term: explained
P indented
P Mayors
TH Name | From
TR Name: Ann B.; From: 1990
TR Name: Ann B.; From: 1995
TR Name: nobody | none
C if a[[0]] == b {⏎	return⏎}
P [[not a link]] end
P Categories: Cities, Rhine
`
	doc := extracttest.Read(t, "Bonn.wiki", []byte(source))
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Bonn" {
		t.Errorf("title %q", doc.Title)
	}
}

func TestWiki_IsKnownUnderTheNameOfAText(t *testing.T) {
	for source, want := range map[string]string{
		"#REDIRECT [[Bonn#History]]":                            "MediaWiki",
		"'''A''' is a [[b]] of [[c]].\n\n== See ==\n":           "MediaWiki",
		"{{stub}}\nThe [[a]] and the [[b]].":                    "MediaWiki",
		"A text with [[one]] pair of brackets.\n":               "plain text",
		"Dear {{name}}, we write about {{topic}}.\n":            "plain text",
		"= Title =\n\n[[anchor]]\nSome AsciiDoc, '''quoted'''.": "plain text",
	} {
		if got := extracttest.Read(t, "a.txt", []byte(source)).Format; got != want {
			t.Errorf("%q is %s, want %s", source, got, want)
		}
	}
}

func TestWiki_IsNotDefeatedByBrackets(t *testing.T) {
	for _, s := range []string{"{{", "[[", "{{a|", "[[a|", "}}", "]]", "{{[[", "{|\n", "{{{", "[[File:a|", "|-\n", "'''''", "<ref>", "{{a|b=", "<nowiki>", "=="} {
		for _, n := range []int{1, 2, 1000, 100_000} {
			data := []byte("x\n" + strings.Repeat(s, n) + " word")
			doc, err := extracttest.TryRead(t, "a.wiki", data, extract.Limits{})
			if err != nil {
				t.Fatalf("%q × %d: %v", s, n, err)
			}
			extracttest.CheckDocument(t, doc)
		}
	}
	extracttest.WantReason(t, "a.wiki", []byte("{|\n"+strings.Repeat("|-\n|colspan=100|"+strings.Repeat("x||colspan=100|", 9)+"\n", 5000)+"|}"), extract.Limits{}, extract.TooLarge)
}

func TestWikiDump_MakesADocumentOfEachPage(t *testing.T) {
	page := func(title, ns, body string) string {
		return "<page><title>" + title + "</title><ns>" + ns + "</ns>" + body + "</page>"
	}
	dump := `<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo><sitename>W</sitename></siteinfo>` +
		page("Bonn", "0", "<revision><text>old</text></revision><revision><text>'''Bonn''' is a city.</text></revision>") +
		page("Talk:Bonn", "1", "<revision><text>chat</text></revision>") +
		page("Template:X", "10", "<revision><text>x</text></revision>") +
		page("Old name", "0", `<redirect title="Bonn"/><revision><text>#REDIRECT [[Bonn]]</text></revision>`) +
		page("Help:A/B", "12", "<revision><text>Help.</text></revision>") + `</mediawiki>`
	in := extracttest.Input("dump.xml", []byte(dump))
	in.Spool = t.TempDir()
	doc, err := (&extract.Extractor{CacheDir: extracttest.ParserCache}).File(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if want := []extract.Part{{Name: "Bonn.wiki", Size: 21}, {Name: "Help:A/B.wiki", Size: 5}}; !cmp.Equal(doc.Parts, want) {
		t.Errorf("parts %+v", doc.Parts)
	}
	if data, err := os.ReadFile(filepath.Join(in.Spool, extract.PartName(0))); err != nil || string(data) != "'''Bonn''' is a city." {
		t.Errorf("%q, %v", data, err)
	}
	extracttest.WantReason(t, "a.xml", []byte(`<mediawiki><page>`), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.xml", []byte(dump), extract.Limits{Parts: 1}, extract.TooLarge)
}

func FuzzWikitext(f *testing.F) {
	f.Add([]byte("{{Infobox\n|a=1\n|b={{c|d}}\n}}'''x''' [[a|b]] [[File:c|thumb|d]] <ref>y</ref>\n== H ==\n* a\n# b\n{|\n!a!!b\n|-\n|rowspan=2|c||d\n|}\n"))
	f.Add([]byte("#REDIRECT [[x]]"))
	f.Add([]byte("<pre>a\nb</pre><nowiki>{{</nowiki>{{{1|x}}} {{convert|1|to|2|km}} __TOC__ [http://x y] [[Category:z]]"))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.wiki", data) })
}
