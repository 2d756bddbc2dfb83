package cite

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

var verified = []retrieval.Passage{
	cited("a.pdf", 1, 2), cited("dir/b c (1).pdf", 7), cited("notes.md", 0), cited("x[1].pdf", 3), cited("README", 0),
	cited("one/handbook.pdf", 4), cited("Terms, Fees and Rules.pdf", 5), cited("my_long-name.docx", 0),
	cited("north/plan.pdf", 2), cited("south/plan.pdf", 2),
}

// newVerifier returns a verifier of answers from verified, whose material holds one address.
func newVerifier() *verifier {
	return &verifier{passages: verified, given: func(s string) bool { return s == "https://ours.example/logo.png" }}
}

// checked runs an answer through v, cut into deltas.
func checked(v *verifier, deltas ...string) string {
	var out strings.Builder
	for _, d := range deltas {
		out.WriteString(v.add(d))
	}
	out.WriteString(v.end())
	return out.String()
}

func labelsOf(v *verifier) []string {
	var out []string
	for _, inv := range v.invented {
		out = append(out, inv.label)
	}
	return out
}

func TestVerifier(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, answer, want string
		invented           []string
	}{
		{"no brackets", "Leave is 25 days.", "Leave is 25 days.", nil},
		{"a known label", "25 days [a.pdf#page=1].", "25 days [a.pdf#page=1].", nil},
		{"known labels side by side", "x [a.pdf#page=1][notes.md].", "x [a.pdf#page=1][notes.md].", nil},
		{"a name with brackets", "x [x[1].pdf#page=3] y", "x [x[1].pdf#page=3] y", nil},
		{"a name with parentheses", "x [dir/b c (1).pdf#page=7].", "x [dir/b c (1).pdf#page=7].", nil},
		{"a name without an ending", "x [README].", "x [README].", nil},

		// Spellings of known labels.
		{"case and spaces", "x [ A.PDF#Page=1 ].", "x [a.pdf#page=1].", nil},
		{"a page with a space", "x [a.pdf #page=2].", "x [a.pdf#page=2].", nil},
		{"a page without a number sign", "x [a.pdf page=2].", "x [a.pdf#page=2].", nil},
		{"a page in words", "x [a.pdf, page 2].", "x [a.pdf#page=2].", nil},
		{"a page in short", "x [a.pdf, p. 2], y [a.pdf p2]", "x [a.pdf#page=2], y [a.pdf#page=2]", nil},
		{"a page in German", "x [a.pdf, Seite 2].", "x [a.pdf#page=2].", nil},
		{"a page as a fragment", "x [a.pdf#2].", "x [a.pdf#page=2].", nil},
		{"full-width brackets", "x【a.pdf#page=1】。", "x[a.pdf#page=1]。", nil},
		{"full-width square brackets", "x［notes.md］。", "x[notes.md]。", nil},
		{"with a marker", "x 【4:0†a.pdf#page=1】.", "x [a.pdf#page=1].", nil},
		{"a list", "x [a.pdf#page=1, notes.md].", "x [a.pdf#page=1][notes.md].", nil},
		{"a list with and", "x [a.pdf#page=1 and notes.md; README].", "x [a.pdf#page=1][notes.md][README].", nil},
		{"a list of pages", "x [a.pdf#page=1, 2].", "x [a.pdf#page=1][a.pdf#page=2].", nil},
		{"a range of pages", "x [a.pdf, pages 1-2].", "x [a.pdf#page=1][a.pdf#page=2].", nil},
		{"a range beyond what was found", "x [a.pdf#page=2-9].", "x [a.pdf#page=2].", nil},
		{"a lead-in", "x [Source: a.pdf#page=1] y [see notes.md].", "x [a.pdf#page=1] y [notes.md].", nil},
		{"among words", "x [as a.pdf#page=1 says].", "x [a.pdf#page=1].", nil},
		{"in two pairs", "x [[a.pdf#page=1]].", "x [a.pdf#page=1].", nil},
		{"with marks around", "x [`a.pdf#page=1`] y [*notes.md*]", "x [a.pdf#page=1] y [notes.md]", nil},
		{"with escapes", `x [my\_long-name.docx].`, "x [my_long-name.docx].", nil},
		{"escaped for a URL", "x [dir/b%20c%20(1).pdf#page=7].", "x [dir/b c (1).pdf#page=7].", nil},
		{"without its folder", "x [handbook.pdf#page=4].", "x [one/handbook.pdf#page=4].", nil},
		{"without its page", "x [handbook.pdf].", "x [one/handbook.pdf#page=4].", nil},
		{"without its ending", "x [handbook, page 4].", "x [one/handbook.pdf#page=4].", nil},
		{"a title", "x [T notes.md].", "x [notes.md].", nil},
		{"a page where there are none", "x [notes.md#page=1].", "x [notes.md].", nil},
		{"separators in the name", "x [terms, fees and rules.pdf#page=5, notes.md].", "x [Terms, Fees and Rules.pdf#page=5][notes.md].", nil},
		{"over a line end", "x [a.pdf\n#page=1].", "x [a.pdf#page=1].", nil},
		{"as the text of a link", "x [a.pdf#page=1](https://evil.example/?d=1).", "x [a.pdf#page=1].", nil},
		{"before a remark", "x [a.pdf#page=1](see below).", "x [a.pdf#page=1](see below).", nil},
		{"behind an exclamation mark", "Great![a.pdf#page=1]", "Great![a.pdf#page=1]", nil},

		// Invented labels.
		{"another document", "x [evil.pdf#page=1].", "x.", []string{"evil.pdf#page=1"}},
		{"another page", "x [a.pdf#page=9] y", "x y", []string{"a.pdf#page=9"}},
		{"several could be meant", "x [plan.pdf#page=2]", "x", []string{"plan.pdf#page=2"}},
		{"several pages could be meant", "x [a.pdf].", "x.", []string{"a.pdf"}},
		{"one of a list", "x [a.pdf#page=1, evil.docx].", "x [a.pdf#page=1].", []string{"evil.docx"}},
		{"first of two", "x [evil.pdf#page=1][notes.md].", "x [notes.md].", []string{"evil.pdf#page=1"}},
		{"second of two", "x [notes.md], [evil.pdf#page=1].", "x [notes.md].", []string{"evil.pdf#page=1"}},
		{"between two", "x [notes.md], [evil.pdf#page=1]; [README].", "x [notes.md]; [README].", []string{"evil.pdf#page=1"}},
		{"all of several", "x [evil.pdf#page=1], [worse.md] and y", "x and y", []string{"evil.pdf#page=1", "worse.md"}},
		{"in parentheses", "x ([evil.pdf#page=1]).", "x.", []string{"evil.pdf#page=1"}},
		{"in parentheses with others", "x ([evil.pdf#page=1], [notes.md]).", "x ([notes.md]).", []string{"evil.pdf#page=1"}},
		{"in parentheses with words", "x ([evil.pdf#page=1] says so).", "x (says so).", []string{"evil.pdf#page=1"}},
		{"at the beginning", "[evil.pdf#page=1] x", "x", []string{"evil.pdf#page=1"}},
		{"at the beginning of a line", "x\n[evil.md] y", "x\ny", []string{"evil.md"}},
		{"before a comma", "x [evil.md], y", "x, y", []string{"evil.md"}},
		{"between words", "x[evil.md]y", "xy", []string{"evil.md"}},
		{"in two pairs of brackets", "x [[evil.md]].", "x.", []string{"evil.md"}},
		{"in full-width brackets", "x【evil.md】。", "x。", []string{"evil.md"}},
		{"a marker of another service", "x 【4:0†source】.", "x.", []string{"4:0†source"}},
		{"as a link", "x [evil.pdf](https://evil.example/x) y", "x y", []string{"evil.pdf"}},
		{"over a line end, invented", "x [evil.pdf\n#page=1].", "x.", []string{"evil.pdf #page=1"}},
		{"of an ending that is not on the list", "x [evil.docx]", "x", []string{"evil.docx"}},

		// Not citations.
		{"an index", "arr[i] = b[0] + m[k][l]", "arr[i] = b[0] + m[k][l]", nil},
		{"a remark", "he said [sic] and [the end.] and [v1.2]", "he said [sic] and [the end.] and [v1.2]", nil},
		{"footnotes", "x[^1] y [1] z\n\n[^1]: see https://a.example", "x[^1] y [1] z\n\n[^1]: see https://a.example", nil},
		{"check boxes", "- [ ] a\n- [x] b", "- [ ] a\n- [x] b", nil},
		{"a link", "see [our page](https://a.example/b) now", "see [our page](https://a.example/b) now", nil},
		{"a link to a given address", "see [logo.html](https://ours.example/logo.png)", "see [logo.html](https://ours.example/logo.png)", nil},
		{"a bibliography", "x [Smith 2020, page 3]", "x [Smith 2020, page 3]", nil},
		{"a list of strings", `["a.pdf#page=1", "b.md"]`, `["a.pdf#page=1", "b.md"]`, nil},
		{"not closed", "x [a.pdf#page=1", "x [a.pdf#page=1", nil},
		{"only an opening", "x [", "x [", nil},
		{"empty", "x [] y []", "x [] y []", nil},
		{"too long", "x [" + long + long + ".pdf]", "x [" + long + long + ".pdf]", nil},
		{"within brackets of another kind", "x 【y [z] w】", "x 【y [z] w】", nil},
		{"nested remarks", "x [y [z]] w", "x [y [z]] w", nil},
		{"a wiki link", "x [[Page]] y", "x [[Page]] y", nil},
		{"many openings", strings.Repeat("[", 2000) + "]", strings.Repeat("[", 2000) + "]", nil},
		{"a Japanese heading", "【重要】確認", "【重要】確認", nil},
		{"a remark behind a citation", "x [notes.md] [sic] y", "x [notes.md] [sic] y", nil},
		{"a citation within other brackets", "x 【see [evil.docx] or [notes.md] here】 y", "x 【see or [notes.md] here】 y", []string{"evil.docx"}},
		{"a remark behind what is removed", "x [evil.md] [sic] y", "x [sic] y", []string{"evil.md"}},

		// Code.
		{"a fence", "```toml\n[data.md]\n[evil.pdf]\n```\nx [evil.pdf]", "```toml\n[data.md]\n[evil.pdf]\n```\nx", []string{"evil.pdf"}},
		{"a fence that is never closed", "```\n[evil.md]", "```\n[evil.md]", nil},
		{"a citation of a page in a fence", "```\n[evil.md#page=1] [a.pdf#page=1]\n```", "```\n[a.pdf#page=1]\n```", []string{"evil.md#page=1"}},
		{"a fence of Markdown", "```markdown\nx [evil.md].\n```", "```markdown\nx.\n```", []string{"evil.md"}},
		{"a fence with tildes", "~~~\n[evil.md]\n```\n[evil.md]\n~~~\nx [evil.md].", "~~~\n[evil.md]\n```\n[evil.md]\n~~~\nx.", []string{"evil.md"}},
		{"a line that does not close a fence", "```\n``` x\n[evil.md]\n```\nx [evil.md].", "```\n``` x\n[evil.md]\n```\nx.", []string{"evil.md"}},
		{"marks that open no fence", "``` a`b\nx [evil.md].", "``` a`b\nx.", []string{"evil.md"}},
		{"inline code", "use `f[evil.md]` x [evil.md].", "use `f[evil.md]` x.", []string{"evil.md"}},
		{"inline code with two marks", "use ``a`[evil.md]`` x", "use ``a`[evil.md]`` x", nil},
		{"a mark that nothing closes", "a ` b\nx [evil.md].", "a ` b\nx.", []string{"evil.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVerifier()
			got := checked(v, c.answer)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.invented, labelsOf(v)); diff != "" {
				t.Errorf("invented: %s", diff)
			}
			for _, deltas := range [][]string{strings.Split(c.answer, ""), randomCuts(c.answer)} {
				w := newVerifier()
				if pieces := checked(w, deltas...); pieces != c.want || !slices.Equal(labelsOf(w), c.invented) {
					t.Errorf("cut into %q the answer is %q, invented %q", deltas, pieces, labelsOf(w))
				}
			}
		})
	}
}

func randomCuts(s string) []string {
	var out []string
	r := rand.New(rand.NewPCG(1, uint64(len(s))))
	for runes := []rune(s); len(runes) > 0; {
		n := min(len(runes), 1+r.IntN(6))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

func TestVerifier_TidiesWhatATokenizerSends(t *testing.T) {
	for _, c := range []struct {
		name, want string
		deltas     []string
	}{
		{"the space comes with the bracket", "25 days.", []string{"25", " days", " [", "evil", ".pdf", "#page", "=1", "]", "."}},
		{"the bracket and the stop come together", "25 days.", []string{"25 days", " [evil.md", "]."}},
		{"the space came before", "25 days\nnext", []string{"25 days ", "[evil.md]", "\nnext"}},
		{"two spaces", "25 days and", []string{"25 days ", "[evil.md]", " and"}},
		{"at the end", "25 days", []string{"25 days", " [evil.md]"}},
		{"the parenthesis comes with the bracket", "25 (a year)", []string{"25", " ([evil.md], a year)"}},
		{"the parenthesis came before", "25 (a year)", []string{"25 (", "[evil.md]", ", a year)"}},
		{"the space came before the stop", "in full. The", []string{"in full ", "[evil.md]", ". The"}},
		{"a space on each side of it", "in full. The", []string{"in full ", "[evil.md]", " ", ". The"}},
		{"behind one that stays", "x [notes.md]. The", []string{"x ", "[notes.md] ", "[evil.md]", ". The"}},
		{"in parentheses behind one that stays", "x [notes.md]. The", []string{"x [notes.md] ", "(", "[evil.md]", ")", ". The"}},
		{"alone in parentheses", "25 and", []string{"25 ", "(", "[evil.md]", ") and"}},
		{"a line that is broken by hand", "x  \ny", []string{"x", " [evil.md]", "  \ny"}},
		{"in the indentation", "- a\n  b", []string{"- a\n  ", "[evil.md]", " b"}},
	} {
		if got := checked(newVerifier(), c.deltas...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestVerifier_LeavesJSONValid(t *testing.T) {
	v := newVerifier()
	v.json = true
	answer := `{"answer":"25 days [a.pdf#page=1][evil.pdf#page=2].","sources":["a.pdf#page=1",["evil.pdf"]],"list":[1,[2]]}`
	want := strings.Replace(answer, "[evil.pdf#page=2]", "", 1)
	if got := checked(v, strings.Split(answer, "")...); got != want {
		t.Errorf("got %s", got)
	}
}

func TestVerifier_HoldsBackLittle(t *testing.T) {
	for _, opening := range []string{"x [", "x ![", "x ![a](", "x <a ", "x [a.pdf#page=1](", "x [evil.md](", "x [a]: "} {
		v := newVerifier()
		in, out := len(opening), len(v.add(opening))
		for range 1000 {
			in += 7
			out += len(v.add("more%20x"[:7]))
			if in-out > maxTargetBytes+maxLabelBytes+100 {
				t.Errorf("%q: %d bytes are held back", opening, in-out)
				break
			}
		}
	}
}

func TestVerifier_PassesOrdinaryTextWithoutACopy(t *testing.T) {
	v := newVerifier()
	deltas := []string{" token", "\n", "é und 健康保険。", "a, (b)", " 1.5%"}
	if n := testing.AllocsPerRun(100, func() {
		for _, d := range deltas {
			if v.add(d) != d {
				t.Fatal("changed")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzVerifier puts any text around citations. The result must not depend on how the text was cut,
// and must not have a citation of a page that was not retrieved.
func FuzzVerifier(f *testing.F) {
	for _, s := range []string{"x [", "`", "```\n", "![a](", "<img src=x", "[[", "\n\n[a]: //b", "【", "](", "], [", "~~~"} {
		f.Add("text "+s, s+" text", uint8(3))
	}
	f.Add("(", ",0", uint8(0))
	form := regexp.MustCompile(`\[[^\[\]"\n]*[^\s\[\]"]#page=\d+\]`)
	f.Fuzz(func(t *testing.T, before, after string, cut uint8) {
		answer := before + "[evil.pdf#page=1]" + after + "[a.pdf#page=1]"
		var deltas []string
		step := int(cut)%9 + 1
		for s := answer; s != ""; {
			n := min(step, len(s))
			deltas = append(deltas, s[:n])
			s = s[n:]
		}
		v := newVerifier()
		whole := checked(v, answer)
		if strings.ToValidUTF8(answer, "") == answer && strings.ToValidUTF8(strings.Join(deltas, ""), "") == answer {
			if got := checked(newVerifier(), deltas...); got != whole && validDeltas(deltas) {
				t.Errorf("%q\nwhole %q\nin pieces %q", answer, whole, got)
			}
		}
		for _, mark := range form.FindAllString(whole, -1) {
			if _, ok := v.labels().exact[mark[1:len(mark)-1]]; !ok && len(mark) < maxLabelBytes {
				t.Errorf("%q has the citation %s: %q", answer, mark, whole)
			}
		}
	})
}

func validDeltas(deltas []string) bool {
	return !slices.ContainsFunc(deltas, func(d string) bool { return strings.ToValidUTF8(d, "") != d })
}
