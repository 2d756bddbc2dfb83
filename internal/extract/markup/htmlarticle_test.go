package markup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
)

// page writes web pages at random: an article, or a reference page, or a thread, and what stands around it.
type page struct {
	rng  *rand.Rand
	next int
	b    strings.Builder
}

// words are n words of which each stands on the page once.
func (p *page) words(n int) string {
	var w []string
	for range n {
		p.next++
		w = append(w, fmt.Sprintf("word%d", p.next))
	}
	return strings.Join(w, " ")
}

// sentences are paragraphs' worth of prose with commas and stops.
func (p *page) sentences(n int) string {
	var s []string
	for range n {
		s = append(s, p.words(8+p.rng.IntN(10))+", "+p.words(5+p.rng.IntN(8))+".")
	}
	return strings.Join(s, " ")
}

// around writes furniture: links and teasers as sites place them beside and below an article.
func (p *page) around(n int) {
	for range n {
		switch p.rng.IntN(4) {
		case 0:
			p.b.WriteString(`<div class="related-stories"><h3>More stories</h3>`)
			for range 4 {
				fmt.Fprintf(&p.b, `<div class="card"><a href="/x"><h4>%s</h4><p>%s</p></a></div>`, p.words(7), p.words(15))
			}
			p.b.WriteString(`</div>`)
		case 1:
			p.b.WriteString(`<section id="comments"><h3>Comments</h3>`)
			for range 5 {
				fmt.Fprintf(&p.b, `<div class="comment"><b>%s</b><p>%s</p></div>`, p.words(1), p.sentences(2))
			}
			p.b.WriteString(`</section>`)
		case 2:
			p.b.WriteString(`<div class="list"><ul>`)
			for range 20 {
				fmt.Fprintf(&p.b, `<li><a href="/y">%s</a></li>`, p.words(6))
			}
			p.b.WriteString(`</ul></div>`)
		default:
			fmt.Fprintf(&p.b, `<div class="newsletter"><h3>%s</h3><p>%s</p></div>`, p.words(4), p.sentences(3))
		}
	}
}

// shared returns how many of the words of want are in got, and how many words got has.
func shared(want, got string) (both, all int) {
	found := map[string]bool{}
	for _, w := range strings.FieldsFunc(got, func(r rune) bool { return strings.ContainsRune(" \n.,:|#", r) }) {
		if strings.HasPrefix(w, "word") {
			found[w] = true
		}
	}
	for w := range strings.FieldsSeq(want) {
		if found[strings.Trim(w, ".,")] {
			both++
		}
	}
	return both, len(found)
}

// An article is read without what stands around it, however much that is; measured as F1 over words.
func TestHTML_FindsTheArticleAmongTeasersAndComments(t *testing.T) {
	total := 0.0
	const pages = 60
	for seed := range pages {
		p := &page{rng: rand.New(rand.NewPCG(11, uint64(seed)))}
		p.b.WriteString(`<!doctype html><html><head><title>News</title>`)
		if p.rng.IntN(2) == 0 {
			p.b.WriteString(`<meta property="og:type" content="article">`)
		}
		p.b.WriteString(`</head><body><div class="page">`)
		fmt.Fprintf(&p.b, `<div class="top"><a href="/">%s</a></div><div class="content">`, p.words(3))
		article := p.words(6)
		tag := []string{"article", "div", "main"}[p.rng.IntN(3)]
		fmt.Fprintf(&p.b, `<%s class="story"><h1>%s</h1>`, tag, article)
		for range 4 + p.rng.IntN(8) {
			text := p.sentences(2 + p.rng.IntN(3))
			article += " " + text
			fmt.Fprintf(&p.b, "<p>%s</p>", text)
		}
		fmt.Fprintf(&p.b, "</%s>", tag)
		p.around(p.rng.IntN(8))
		p.b.WriteString(`</div></div></body></html>`)
		got := extracttest.Outline(extracttest.Read(t, "a.html", []byte(p.b.String())))
		both, all := shared(article, got)
		precision, recall := float64(both)/float64(max(all, 1)), float64(both)/float64(len(strings.Fields(article)))
		f1 := 2 * precision * recall / max(precision+recall, 1e-9)
		if total += f1; f1 < .8 {
			t.Logf("seed %d: precision %.2f, recall %.2f", seed, precision, recall)
		}
	}
	if mean := total / pages; mean < .97 {
		t.Errorf("F1 is %.3f, want at least .97", mean)
	}
}

// What is no article stays whole: pages of many short sections, and threads.
func TestHTML_KeepsReferencePagesAndThreadsWhole(t *testing.T) {
	for seed := range 40 {
		p := &page{rng: rand.New(rand.NewPCG(12, uint64(seed)))}
		want := ""
		p.b.WriteString(`<!doctype html><html><head><title>Reference</title></head><body><div class="content">`)
		for range 10 + p.rng.IntN(30) {
			name, text := p.words(2), p.sentences(1+p.rng.IntN(2))
			want += " " + name + " " + text
			switch seed % 4 {
			case 0:
				fmt.Fprintf(&p.b, `<div class="section"><h2 id="x">%s</h2><p>%s</p></div>`, name, text)
			case 1:
				fmt.Fprintf(&p.b, `<dl><dt>%s</dt><dd>%s</dd></dl>`, name, text)
			case 2:
				fmt.Fprintf(&p.b, `<div class="comment"><b>%s</b><div class="commtext">%s</div></div>`, name, text)
			default:
				fmt.Fprintf(&p.b, `<section><h3>%s</h3><pre>%s</pre><p>%s</p></section>`, name, p.words(5), text)
			}
		}
		p.b.WriteString(`</div></body></html>`)
		got := extracttest.Outline(extracttest.Read(t, "a.html", []byte(p.b.String())))
		if both, _ := shared(want, got); both < len(strings.Fields(want)) {
			t.Errorf("seed %d: %d of %d words are read", seed, both, len(strings.Fields(want)))
		}
	}
}
