package ingest

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// page builds a page from lines "kind: text": h1 … h6, p, li, th, tr, code. Blocks are separated
// by an empty line, and rows and items by a line break.
func page(number int, lines ...string) extract.Page {
	kinds := map[string]extract.Kind{"p": extract.Paragraph, "li": extract.ListItem,
		"th": extract.TableHeader, "tr": extract.TableRow, "code": extract.Code}
	p := extract.Page{Number: number}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, ": ")
		b := extract.Block{Kind: kinds[name]}
		if name[0] == 'h' {
			b.Kind, b.Level = extract.Heading, int(name[1]-'0')
		}
		if p.Text != "" {
			p.Text += "\n"
			if b.Kind != extract.TableRow && b.Kind != extract.ListItem {
				p.Text += "\n"
			}
		}
		b.Start = len(p.Text)
		p.Text += text
		b.End = len(p.Text)
		p.Blocks = append(p.Blocks, b)
	}
	return p
}

func doc(pages ...extract.Page) *extract.Document { return &extract.Document{Pages: pages} }

// prose returns n different sentences of about 60 characters.
func prose(seed string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "The %s number %d tells what happened on that long day. ", seed, i)
	}
	return strings.TrimSpace(b.String())
}

func texts(chunks []retrieval.Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, c.Text)
	}
	return out
}

// check tests the rules that hold for the chunks of every document.
func check(t *testing.T, d *extract.Document, opts SplitOptions, chunks []retrieval.Chunk) {
	t.Helper()
	opts = opts.withDefaults()
	seen := make([][]bool, len(d.Pages))
	index := map[int]int{}
	for i, p := range d.Pages {
		seen[i] = make([]bool, len(p.Text))
		index[p.Number] = i
	}
	for i, c := range chunks {
		if c.Key.Ordinal != i {
			t.Errorf("chunk %d has ordinal %d", i, c.Key.Ordinal)
		}
		if strings.TrimSpace(c.Text) == "" || len(c.Spans) == 0 {
			t.Fatalf("chunk %d is empty: %+v", i, c)
		}
		if n := utf8.RuneCountInString(c.Text); n > opts.limit() {
			t.Errorf("chunk %d has %d characters", i, n)
		}
		if c.Tokens > opts.Tokens || c.Tokens != countTokens(c.Text) {
			t.Errorf("chunk %d has %d tokens, and says %d", i, countTokens(c.Text), c.Tokens)
		}
		var joined []string
		offset := 0
		for _, s := range c.Spans {
			text := d.Pages[index[s.Page]].Text[s.Start:s.End]
			if got := c.Text[s.Offset : s.Offset+s.End-s.Start]; got != text {
				t.Errorf("chunk %d: span %+v is %q on the page and %q in the chunk", i, s, text, got)
			}
			if s.Offset != offset {
				t.Errorf("chunk %d: span %+v should be at %d", i, s, offset)
			}
			offset += len(text) + 1
			joined = append(joined, text)
			for k := s.Start; k < s.End; k++ {
				seen[index[s.Page]][k] = true
			}
		}
		if got := strings.Join(joined, "\n"); got != c.Text {
			t.Errorf("chunk %d is %q, its spans are %q", i, c.Text, got)
		}
	}
	for i, p := range d.Pages {
		for k, r := range p.Text {
			if !seen[i][k] && !unicode.IsSpace(r) {
				t.Fatalf("page %d: %q at %d is in no chunk", p.Number, r, k)
			}
		}
	}
	if diff := cmp.Diff(chunks, Split(d, opts)); diff != "" {
		t.Errorf("a second run differs: %s", diff)
	}
}

func split(t *testing.T, d *extract.Document) []retrieval.Chunk {
	t.Helper()
	chunks := Split(d, SplitOptions{})
	check(t, d, SplitOptions{}, chunks)
	return chunks
}

func TestSplit_KeepsAShortDocumentWhole(t *testing.T) {
	d := doc(page(0, "h1: Title", "p: One sentence. Another one."))
	got := split(t, d)
	want := []retrieval.Chunk{{
		Text: "Title\n\nOne sentence. Another one.", Headings: []string{"Title"},
		Spans: []retrieval.Span{{End: len(d.Pages[0].Text)}}, Tokens: 8,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSplit_CutsProseAtSentencesWithOverlap(t *testing.T) {
	chunks := split(t, doc(page(1, "p: "+prose("story", 60))))
	if len(chunks) < 3 || len(chunks) > 5 {
		t.Fatalf("%d chunks", len(chunks))
	}
	for i, c := range chunks {
		if !strings.HasPrefix(c.Text, "The story") || !strings.HasSuffix(c.Text, "day.") {
			t.Errorf("chunk %d is cut within a sentence: %q", i, c.Text)
		}
		if i == 0 {
			continue
		}
		if last := chunks[i-1].Spans[0]; c.Spans[0].Start >= last.End || c.Spans[0].Start < last.End-100 {
			t.Errorf("chunk %d starts at %d, the one before ends at %d", i, c.Spans[0].Start, last.End)
		}
	}
}

func TestSplit_StartsAChunkAtAHeadingWhenTheSectionBeforeIsLargeEnough(t *testing.T) {
	chunks := split(t, doc(page(0,
		"h1: Guide", "h2: One", "p: "+prose("first", 6), "h2: Two", "p: "+prose("second", 6))))
	if len(chunks) != 2 {
		t.Fatalf("%d chunks: %q", len(chunks), texts(chunks))
	}
	want := [][]string{{"Guide", "One"}, {"Guide", "Two"}}
	if diff := cmp.Diff(want, [][]string{chunks[0].Headings, chunks[1].Headings}); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(chunks[1].Text, "Two\n\nThe second") {
		t.Errorf("overlap across a heading: %q", chunks[1].Text)
	}
}

func TestSplit_MergesSmallSections(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("h2: Section %d", i), "p: "+prose(fmt.Sprint("part", i), 1))
	}
	chunks := split(t, doc(page(0, lines...)))
	for i, c := range chunks {
		if n := utf8.RuneCountInString(c.Text); n < 250 {
			t.Errorf("chunk %d has %d characters", i, n)
		}
		if !strings.HasPrefix(c.Text, "Section") {
			t.Errorf("chunk %d starts with %q", i, c.Text)
		}
	}
}

func TestSplit_GivesEachSectionThatAQuestionHeadsItsOwnChunk(t *testing.T) {
	chunks := split(t, doc(page(0,
		"h1: Questions", "p: Asked often.",
		"h2: Is it free?", "p: Yes.",
		"h2: 它是免费的吗？", "p: 是的。",
		"h2: How do I install it?", "p: It depends.", "h3: Linux", "p: With apt.", "h3: Windows", "p: With winget.",
		"h2: Licence", "p: Apache.", "h2: Authors", "p: Many.")))
	want := []string{
		"Questions\n\nAsked often.",
		"Is it free?\n\nYes.",
		"它是免费的吗？\n\n是的。",
		"How do I install it?\n\nIt depends.\n\nLinux\n\nWith apt.\n\nWindows\n\nWith winget.",
		"Licence\n\nApache.\n\nAuthors\n\nMany.",
	}
	if diff := cmp.Diff(want, texts(chunks)); diff != "" {
		t.Error(diff)
	}
}

func TestSplit_NeverLeavesAHeadingAtTheEndOfAChunk(t *testing.T) {
	for n := range 40 {
		chunks := split(t, doc(
			page(1, "h1: Chapter", "p: "+prose("text", n+1), "h2: Next"),
			page(2, "p: "+prose("more", 3))))
		for i, c := range chunks {
			if strings.HasSuffix(c.Text, "Next") {
				t.Errorf("%d sentences: chunk %d ends with a heading: %q", n, i, c.Text)
			}
		}
	}
}

func TestSplit_EndsChunksWithThePage(t *testing.T) {
	chunks := split(t, doc(page(1, "p: "+prose("left", 10)), page(2, "p: "+prose("right", 10))))
	if len(chunks) != 2 {
		t.Fatalf("%d chunks", len(chunks))
	}
	for i, c := range chunks {
		if len(c.Spans) != 1 || c.Spans[0].Page != i+1 {
			t.Errorf("chunk %d has spans %+v", i, c.Spans)
		}
	}
}

func TestSplit_CompletesASentenceThatGoesOnOnTheNextPage(t *testing.T) {
	chunks := split(t, doc(
		page(1, "p: "+prose("left", 8)+" The plan covers"),
		page(2, "p: glasses and hearing aids. "+prose("right", 2), "p: "+prose("after", 8))))
	if len(chunks) != 2 {
		t.Fatalf("%d chunks: %q", len(chunks), texts(chunks))
	}
	c := chunks[0]
	if !strings.Contains(c.Text, "The plan covers\nglasses and hearing aids. The right number 0") {
		t.Errorf("not completed: %q", c.Text)
	}
	if got := c.PageAt(strings.Index(c.Text, "glasses")); got != 2 {
		t.Errorf("the rest of the sentence is said to be on page %d", got)
	}
	if got := c.PageAt(strings.Index(c.Text, "The plan")); got != 1 {
		t.Errorf("the sentence is said to begin on page %d", got)
	}
	if !strings.HasPrefix(chunks[1].Text, "The after number 0") {
		t.Errorf("the next chunk begins with %q", chunks[1].Text)
	}
}

func TestSplit_CompletesAListThatGoesOnOnTheNextPage(t *testing.T) {
	chunks := split(t, doc(
		page(1, "p: "+prose("left", 5), "li: • Apples", "li: • Pears"),
		page(2, "li: • Plums", "p: "+prose("right", 5))))
	if len(chunks) != 2 || !strings.HasSuffix(chunks[0].Text, "• Pears\n• Plums") {
		t.Errorf("%q", texts(chunks))
	}
}

func TestSplit_MergesShortPages(t *testing.T) {
	var pages []extract.Page
	for i := range 9 {
		pages = append(pages, page(i+1, "p: "+prose(fmt.Sprint("slide", i), 2)))
	}
	chunks := split(t, doc(pages...))
	if len(chunks) != 3 {
		t.Errorf("%d chunks: %q", len(chunks), texts(chunks))
	}
}

func TestSplit_RepeatsTheTablesHeader(t *testing.T) {
	lines := []string{"h1: Prices", "th: Item | Price | Remark"}
	for i := range 80 {
		lines = append(lines, fmt.Sprintf("tr: Thing %d | %d.50 | as long as stocks last", i, i))
	}
	chunks := split(t, doc(page(1, lines...)))
	if len(chunks) < 3 {
		t.Fatalf("%d chunks", len(chunks))
	}
	for i, c := range chunks[1:] {
		if !strings.HasPrefix(c.Text, "Item | Price | Remark\nThing") || len(c.Spans) != 2 {
			t.Errorf("chunk %d: %q", i+1, c.Text)
		}
		if !strings.HasSuffix(c.Text, "last") {
			t.Errorf("chunk %d is cut within a row: %q", i+1, c.Text)
		}
	}
}

func TestSplit_KeepsCodeWholeWhereItFits(t *testing.T) {
	code := strings.TrimSpace(strings.Repeat("if x. Then y.\n    return fmt.Sprint(x)\n\n", 18))
	chunks := split(t, doc(page(0, "p: "+prose("before", 9), "code: "+code, "p: "+prose("after", 9))))
	whole := 0
	for _, c := range chunks {
		if strings.Contains(c.Text, code) {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("the code is whole in %d chunks: %q", whole, texts(chunks))
	}
}

func TestSplit_CutsWhatIsTooLong(t *testing.T) {
	for name, line := range map[string]string{
		"words":      strings.Repeat("word ", 2000),
		"no space":   strings.Repeat("x", 5000),
		"chinese":    strings.Repeat("北京是中华人民共和国的首都", 400),
		"emoji":      strings.Repeat("👩‍💻", 1000),
		"random":     strings.Repeat("xq9Zj%", 1000),
		"indented":   strings.Repeat(" ", 5000) + "code",
		"one letter": "a",
	} {
		for _, kind := range []string{"p", "tr", "code", "th", "h1", "li"} {
			t.Run(name+" "+kind, func(t *testing.T) { split(t, doc(page(1, kind+": "+line))) })
		}
	}
}

func TestSplit_ObeysTheTokenLimitBeforeTheCharacters(t *testing.T) {
	chunks := split(t, doc(page(1, "p: "+strings.Repeat("도시로 간 쥐 이야기를 들어 보세요. ", 200))))
	for i, c := range chunks {
		if utf8.RuneCountInString(c.Text) > 1000 {
			t.Errorf("chunk %d has %d characters and %d tokens", i, utf8.RuneCountInString(c.Text), c.Tokens)
		}
	}
}

func TestSplit_KeepsWordsOutsideOfBlocks(t *testing.T) {
	p := page(1, "p: in a block", "p: in another")
	p.Text = "before " + p.Text + " after"
	split(t, doc(p))
}

func TestSplit_GivesNoChunkForNoText(t *testing.T) {
	if chunks := split(t, doc(page(1), extract.Page{Number: 2, Text: " \n\u00a0 "})); len(chunks) != 0 {
		t.Errorf("%q", texts(chunks))
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("One sentence. And\fanother page. 北京。", "h p\ftl", 100, 20, 64)
	f.Add(strings.Repeat("a,b\n", 80)+"\f"+strings.Repeat("zz. ", 90), "tTTc\fpl", 50, 10, 16)
	f.Add(prose("fuzz", 20)+"\f"+prose("next", 3), "1pp2p\fpl", 300, 100, 40)
	f.Fuzz(func(t *testing.T, text, kinds string, size, overlap, tokens int) {
		if len(text) > 20_000 || size > 5000 {
			return
		}
		d := fuzzDoc(strings.ToValidUTF8(text, "?"), kinds)
		opts := SplitOptions{Size: size, Overlap: overlap, Min: size / 4, Tokens: tokens}
		check(t, d, opts, Split(d, opts))
		for _, p := range fuzzDoc(text, kinds).Pages { // only must not panic
			Split(doc(p), opts)
		}
	})
}

// fuzzDoc makes a page of each text between form feeds, and splits it into as many blocks as kinds has
// letters for it.
func fuzzDoc(text, kinds string) *extract.Document {
	d := &extract.Document{}
	pageKinds := strings.Split(kinds, "\f")
	for i, s := range strings.Split(text, "\f") {
		p := extract.Page{Number: i + 1, Text: s}
		ks := pageKinds[i%len(pageKinds)]
		for k := range len(ks) {
			b := extract.Block{Kind: extract.Kind(ks[k] % 6), Level: int(ks[k]>>4) % 7,
				Start: runeStart(s, len(s)*k/len(ks)), End: runeStart(s, len(s)*(k+1)/len(ks))}
			p.Blocks = append(p.Blocks, b)
		}
		d.Pages = append(d.Pages, p)
	}
	return d
}
