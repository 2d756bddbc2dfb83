package notes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

// Pandoc wrote the same text in all of these formats.
func TestPandoc_WritesTheSameInAllFormats(t *testing.T) {
	const intro = "H1 Guide to the plan\n" +
		"P The deductible is 4711 euros for everyone in Köln, see the site. It is paid once a year, and plan_id says which one.\n" +
		"H2 Costs\nP You pay:\nL • 20 % at the doctor\nL • nothing in an emergency, which lasts at most a day\nL 1. first aid\nL 2. transport\n" +
		"TH Plan | Price | From\nTR Plan: Gold; Price: 150; From: 2024-03-05\nTR Plan: Silver; Price: 75; From: 2024-04-01\n" +
		"H3 Formula\nP The price is $p = \\frac{a}{b}$ and so\nP $$ E = m c^2 $$\n" +
		"C def price(a, b):⏎    # comment⏎    return a / b % 3\nP A quotation of the law.\n"
	deeper := strings.NewReplacer("H1 ", "H2 ", "H2 ", "H3 ", "H3 ", "H4 ") // below the title of the document
	org := strings.NewReplacer("$p = \\frac{a}{b}$", "\\(p = \\frac{a}{b}\\)", "$$ E = m c^2 $$", "\\[ E = m c^2 \\]")
	for name, want := range map[string]string{
		"guide.rst":   intro + "P Deductible What you pay yourself.\nP The end. [1]\nP [1] Ask us by June 30.\n",
		"guide.adoc":  deeper.Replace(intro) + "L Deductible: What you pay yourself.\nP The end. (Ask us by June 30.)\n",
		"guide.org":   org.Replace(intro) + "L • Deductible: What you pay yourself.\nP The end.[fn:1]\nP [fn:1] Ask us by June 30.\n",
		"guide.tex":   deeper.Replace(intro) + "L Deductible What you pay yourself.\nP The end. (Ask us by June 30.)\n",
		"guide.ipynb": intro + "P Deductible⏎What you pay yourself.\nP The end.[1]\nP [1] Ask us by June 30.\n",
	} {
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, name, extracttest.Pandoc(t, name)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNotes_ReadWhatPeopleWrite(t *testing.T) {
	for name, c := range map[string]struct{ ext, text, want string }{
		"rst notes": {"rst", "=====\nTitle\n=====\n\n.. comment\n   more\n\n.. _target:\n\n.. warning:: Take *care*.\n\n   Always.\n\n.. image:: a.png\n   :alt: A picture\n\n.. toctree::\n\n   a\n",
			"H1 Title\nP Take care.\nP Always.\nP A picture\n"},
		"rst grid": {"rst", "+-----+-----+\n| A   | B   |\n+=====+=====+\n| 1   | two |\n|     | 2   |\n+-----+-----+\n\nUse ``x_`` and :ref:`that <there>`::\n\n   code\n",
			"TH A | B\nTR A: 1; B: two 2\nP Use x_ and that:\nC code\n"},
		"rst list table": {"rst", ".. list-table:: Prices\n   :header-rows: 1\n\n   * - Plan\n     - Price\n   * - Gold\n     - 150\n", "P Prices\nTH Plan | Price\nTR Plan: Gold; Price: 150\n"},
		"adoc": {"adoc", "= Title\n:name: Parley\n// comment\n\n{name} is https://x.org[here^].\n\nNOTE: Look.\n\n.Listing\n[source,sh]\n----\nls -l\n----\n\n|===\n|A |B\n\n|1\n|2\n|===\n\ninclude::x.adoc[]\nimage::p.png[A plan,200]\n",
			"H1 Title\nP Parley is here.\nP NOTE: Look.\nP Listing\nC ls -l\nTH A | B\nTR A: 1; B: 2\nP A plan\n"},
		"org": {"org", "#+TITLE: Plan\n* TODO [#A] First :work:\n:PROPERTIES:\n:ID: x\n:END:\n# comment\nText with [[https://x.org][a link]] and =code=.\n| A | B |\n|---+---|\n| 1 | 2 |\n: fixed\n#+begin_quote\nSaid.\n#+end_quote\n",
			"H1 First\nP Text with a link and code.\nTH A | B\nTR A: 1; B: 2\nC fixed\nP Said.\n"},
		"tex": {"tex", "\\documentclass{article}\n\\title{On \\emph{Things}}\n\\begin{document}\n\\maketitle\n\\section{Caf\\'e \\& co}\nA 5\\% rise~\\cite{x}, see \\ref{y}. % hidden\nStra\\ss e\\footnote{Note.} costs \\$5 --- `` so ''.\n\\begin{figure}\\includegraphics[width=1cm]{a}\\caption{A \\textbf{plot}}\\label{f}\\end{figure}\n\\begin{tabular}{ll}\nA & B \\\\ \\hline\n1 & 2 \\\\\n\\end{tabular}\n\\begin{verbatim}\na % b\n\\end{verbatim}\n\\end{document}\nafter\n",
			"H1 On Things\nH2 Café & co\nP A 5% rise [x], see [y]. Straße (Note.) costs $5 — “ so ”.\nP A plot\nTH A | B\nTR A: 1; B: 2\nC a % b\n"},
	} {
		if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, "a."+c.ext, []byte(c.text)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSubtitles_PutEachMinuteOnAPage(t *testing.T) {
	const vtt = "WEBVTT\nKind: captions\n\nNOTE hidden\n\n1\n00:00:01.000 --> 00:00:03.000 align:start\n<v Ada>Good <i>morning</i>.\n\n00:00:59.000 --> 00:01:01.000\n<v Bob>We begin &amp; talk\n\n" +
		"00:01:02.000 --> 00:01:03.000\nWe begin &amp; talk\nof prices.\n\n01:02:03.000 --> 01:02:05.000\nThe end.\n"
	const srt = "1\r\n00:00:01,000 --> 00:00:03,000\r\n{\\an8}Hello.\r\n\r\n2\r\n00:02:59,000 --> 00:03:01,000\r\n<b>Later.</b>\r\n"
	const sbv = "0:00:01.000,0:00:04.000\nHello there.\n\n0:01:05.000,0:01:09.000\nAt 0:02:00.000, the bell[br]rings.\n"
	for name, c := range map[string]struct{ text, want string }{
		"a.sbv": {sbv, "page 1\nH1 0:00:00\nP Hello there.\npage 2\nH1 0:01:00\nP At 0:02:00.000, the bell rings.\n"},
		"a.vtt": {vtt, "page 1\nH1 0:00:00\nP Ada: Good morning.\nP Bob: We begin & talk of prices.\npage 63\nH1 1:02:00\nP The end.\n"},
		"a.srt": {srt, "page 1\nH1 0:00:00\nP Hello.\npage 3\nH1 0:02:00\nP Later.\n"},
	} {
		if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, name, []byte(c.text)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzNotes(f *testing.F) {
	kinds := []string{"rst", "adoc", "org", "tex", "vtt"}
	for i, name := range []string{"guide.rst", "guide.adoc", "guide.org", "guide.tex"} {
		f.Add(uint8(i), string(extracttest.Pandoc(f, name)))
	}
	f.Add(uint8(3), `\begin{enumerate}\item[a\emph{b\section{c}\verb|\'`)
	f.Add(uint8(3), `A\'`)
	f.Add(uint8(3), "A{}\u0301 b\\'{}c\\~\u0301")
	f.Add(uint8(4), "WEBVTT\n\n1:00.000 --> 2\n<v A>b\n\n999:59:00.0 --> x\nc\n")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		extracttest.CheckAnyInput(t, "a."+kinds[int(kind)%len(kinds)], []byte(text))
	})
}

func TestSubtitles_HaveTheTitleOfTheirFile(t *testing.T) {
	doc := extracttest.Read(t, "town_hall-2026.vtt", []byte("WEBVTT\n\n00:01.000 --> 00:02.000\nHello.\n"))
	if doc.Title != "town hall 2026" {
		t.Errorf("the title is %q", doc.Title)
	}
}
