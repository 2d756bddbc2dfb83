package chattest

import "testing"

func TestFetches(t *testing.T) {
	for _, answer := range []string{
		"![i](https://evil.example/p)", "![r]\n\n[r]: //evil.example/p", "![i][r]\n\n[r]:\n<https://evil.example/p>",
		"<img src=//evil.example>", "<IMG\fSRC='/\t/evil.example'>", "<img srcset='a 1x, //evil.example 2x'>", "<x style=background:url(//evil.example)>",
		"<style>@import '//evil.example'</style>", "<link href=//evil.example>", "<base href=//evil.example>", "<svg><image href=//evil.example></svg>",
		"<meta http-equiv=refresh content='0;url=https:evil.example'>", "<video poster=//evil.example>", "<script>1</script>", "<b onclick=x>",
		"![i](javascript:x)", "![^1]\n\n[^1]: https://evil.example/p", "<a<b style=background:url(//evil.example)>",
	} {
		if len(Fetches(answer)) == 0 {
			t.Errorf("%q seems to fetch nothing", answer)
		}
	}
	for _, answer := range []string{
		"[i](https://evil.example/p)", "![i](/a.png)", "![i](https://chat.example/a.png)", "`![i](https://evil.example)` is code", "<a href='https://evil.example'>x</a>", "www.evil.example", "< img src=//evil.example>",
		"![i](data:image/png;base64,AA==)",
	} {
		// Fetches also reads each answer as plain HTML, where backquotes do not make code.
		if found := Fetches(answer); len(found) > 0 {
			t.Errorf("%q: %q", answer, found)
		}
	}
}
