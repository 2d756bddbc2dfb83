package markup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestXML_ReadsElementsByTheirForm(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 40))
	for name, c := range map[string]struct{ data, want string }{
		"records": {
			`<books><book id="1"><name>Faust</name><year>1808</year></book><book><name>Emma</name></book></books>`,
			"P name: Faust⏎year: 1808\nP name: Emma\n",
		},
		"prose": {
			`<?xml version="1.0" encoding="ISO-8859-1"?><doc><title>On caf` + "\xe9" + `s</title><p>It is <b>here</b>, ` + long + `</p><p>short</p></doc>`,
			"H1 On cafés\nP It is here, " + long + "\nP short\n",
		},
		"records beside a text": {
			`<all>Some text<one><name>Ann</name><city>Bonn</city></one></all>`,
			"P name: Ann⏎city: Bonn\nP all: Some text\n",
		},
		"a footnote": {
			`<book><para>Before<footnote><para>Aside.</para></footnote> and after.</para><p>One.<br/>Two</p></book>`,
			"P Before Aside. and after.⏎One. Two\n",
		},
		"tables": {
			`<doc><p>Look:</p><tgroup><thead><row><entry>Plan</entry><entry>Price</entry></row></thead><tbody><row><entry><para>Plus</para><para>Max</para></entry><entry>5</entry></row></tbody></tgroup>
<p>And</p><table><tr><td>Ann</td><td/></tr><tr><td>Bo</td><td>Bonn</td></tr></table></doc>`,
			"P Look:\nTH Plan | Price\nTR Plan: Plus Max; Price: 5\nP And\nTR Ann\nTR Bo | Bonn\n",
		},
		"bare ampersands":            {`<a><b>R&D & more &unknown; AT&T</b><c href="x?a=1&b=2">two</c></a>`, "P b: R&D & more &unknown; AT&T⏎c: two\n"},
		"an end without a beginning": {`<a><b>one</b></x><c>two</c></a>`, "P b: one\n"},
		"cut off":                    {`<a><b>one</b><b>two</b><b>thr`, "P b: one⏎b: two\n"},
		"entities":                   {`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><b>one</b><c>&x;</c></a>`, "P b: one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, "a.xml", []byte(c.data)))); diff != "" {
				t.Error(diff)
			}
		})
	}
	extracttest.WantReason(t, "a.xml", []byte("hello"), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.xml", []byte("<a"), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.xml", []byte(strings.Repeat("<a>", 1000)), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.xml", []byte("<a><b>"+long+"</b></a>"), extract.Limits{TextBytes: 50}, extract.TooLarge)
}

func TestXML_FillsInTheEntitiesThatItDeclaresAndThoseOfHTML(t *testing.T) {
	data := `<?xml version="1.0"?><!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "docbookx.dtd" [
<!ENTITY % more "x"> <!ENTITY ware "Acme <b>Mixer</b>&#160;3"> <!ENTITY firm 'A &amp; B'> <!ENTITY legal SYSTEM "legal.xml">
<!ENTITY lol "&ware;&ware;"> <!ENTITY huge "` + strings.Repeat("x", 1000) + `"> ]>
<book><title>The &ware; manual</title><para>&firm; caf&eacute;&nbsp;here. &legal; &lol;&huge; The end.</para></book>`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.xml", []byte(data))), "H1 The Acme Mixer 3 manual\nP A & B café here. &ware;&ware; The end.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	twice := `<!DOCTYPE d [<!ENTITY a "one">]><!DOCTYPE d [<!ENTITY a "two">]><p>Only &a; counts.</p>`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.xml", []byte(twice))), "P Only one counts.\n"; got != want {
		t.Errorf("of two document types: %q, want %q", got, want)
	}
	if got, want := extracttest.Outline(extracttest.Read(t, "a.xml", []byte("<p>5&nbsp;000 &euro;</p>"))), "P 5 000 €\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestXML_ReadsOfficeDocumentsOfOneFile(t *testing.T) {
	word := `<?xml version="1.0"?><w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"><w:body>` + extracttest.Para("", "Hello") +
		`<w:tbl><w:tr>` + extracttest.Cell("a") + extracttest.Cell("b") + `</w:tr></w:tbl></w:body></w:wordDocument>`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.xml", []byte(word))), "P Hello\nTR a | b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	excel := `<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Worksheet ss:Name="Staff"><Table><Row><Cell><Data ss:Type="String">Name</Data></Cell><Cell ss:Index="3"><Data ss:Type="String">Since</Data></Cell></Row>
<Row ss:Index="3"><Cell><Data ss:Type="String"><B>An</B>n</Data></Cell><Cell/><Cell><Data ss:Type="DateTime">2020-01-31T00:00:00.000</Data></Cell></Row></Table></Worksheet></Workbook>`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.xls", []byte(excel))), "H1 Staff\nTH Name | Since\nTR Name: Ann; Since: 2020-01-31\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzXML(f *testing.F) {
	f.Add([]byte(`<a><b>c</b><title>d</title><p>e <i>f</i></p></a>`))
	f.Add([]byte(`<?xml version="1.0"?><Workbook><Worksheet ss:Name="x"><Row ss:Index="9"><Cell><Data ss:Type="Number">1.5</Data></Cell></Row></Worksheet></Workbook>`))
	f.Add([]byte("<mediawiki><page><title>a</title><ns>0</ns><text>b</text></page></mediawiki>"))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.xml", data) })
}
