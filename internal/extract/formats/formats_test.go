package formats

import (
	"context"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestFile_GoesByContentBeforeExtension(t *testing.T) {
	pdf := extracttest.MakePDF(extracttest.Set("R", 11, 72, 700, "A sentence in a PDF document."))
	docx := extracttest.MakeZIP(t, "[Content_Types].xml", "", "word/document.xml", `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Word here</w:t></w:r></w:p></w:body></w:document>`)
	odt := extracttest.MakeZIP(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml",
		`<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">`+
			`<office:body><office:text><text:p>Writer here</text:p></office:text></office:body></office:document-content>`)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a.txt", pdf, "page 1\nP A sentence in a PDF document.\n"},
		{"noextension", pdf, "page 1\nP A sentence in a PDF document.\n"},
		{"a.zip", docx, "P Word here\n"},
		{"a.odt", docx, "P Word here\n"},
		{"a.docx", odt, "P Writer here\n"},
		{"a.xlsx", odt, "P Writer here\n"},
		{"a.pdf", []byte("<!DOCTYPE html><p>Not found</p>"), "P Not found\n"},
		{"a.txt", []byte("<html> is a tag\n"), "P <html> is a tag\n"},
		{"README", []byte("Plain text"), "P Plain text\n"},
		{`dir.pdf\README`, []byte("Plain text"), "P Plain text\n"},
		{"A.MD", []byte("# Big"), "H1 Big\n"},
	} {
		if got := extracttest.Outline(extracttest.Read(t, c.name, c.data)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFile_RefusesWithAReason(t *testing.T) {
	for _, c := range []struct {
		name, data string
		limits     extract.Limits
		want       extract.Reason
		detail     string // part of it
	}{
		{"a.txt", "", extract.Limits{}, extract.Empty, "no bytes"},
		{"a.txt", " \n\t\n", extract.Limits{}, extract.Empty, "no text"},
		{"a.md", "[//]: # (nothing)\n", extract.Limits{}, extract.Empty, "no text"},
		{"a.doc", "hello", extract.Limits{}, extract.Damaged, "cut off"},
		{"a.ppt", "hello", extract.Limits{}, extract.Damaged, "cut off"},
		{"a.rtf", "{\\rtf1 }", extract.Limits{}, extract.Empty, "no text"},
		{"a.xyz", "hello", extract.Limits{}, extract.Unsupported, ".xyz"},
		{"a.xlsx", "hello", extract.Limits{}, extract.Damaged, "cut off"},
		{"a.whl", "hello", extract.Limits{}, extract.Unsupported, "program archive"},
		{"a", "\x7fELF\x01\x02", extract.Limits{}, extract.Unsupported, "program"},
		{"a", "\x01\x02\x03", extract.Limits{}, extract.Unsupported, "this"},
		{"a.svg", "<svg/>", extract.Limits{}, extract.Empty, "no text"},
		{"a.pdf", "hello", extract.Limits{}, extract.Damaged, "PDF"},
		{"a.pdf", "%PDF-1.4\nhello", extract.Limits{}, extract.Damaged, "PDF"},
		{"a.docx", "PK\x03\x04 and no more", extract.Limits{}, extract.Damaged, "cut off"},
		{"a.docx", "hello", extract.Limits{}, extract.Damaged, "cut off"},
		{"a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", extract.Limits{}, extract.Damaged, "cut off"},
		{"a.txt", strings.Repeat("\x00\x01\x02\x03", 100), extract.Limits{}, extract.Damaged, "encoding"},
		{"a.txt", "hello world", extract.Limits{FileBytes: 5}, extract.TooLarge, "at most"},
		{"a.txt", "hello world", extract.Limits{TextBytes: 5}, extract.TooLarge, "at most"},
		{"a.csv", "a,b,c\n" + strings.Repeat("1,2,3\n", 100), extract.Limits{TextBytes: 1000}, extract.TooLarge, "more than"},
	} {
		refused := extracttest.WantReason(t, c.name, []byte(c.data), c.limits, c.want)
		if !strings.Contains(refused.Detail, c.detail) {
			t.Errorf("%s: detail %q, want %q in it", c.name, refused.Detail, c.detail)
		}
	}
}

func TestFile_ReportsAPanicAsCrashed(t *testing.T) {
	saved := extract.Unregister("CSV")
	t.Cleanup(func() {
		extract.Unregister("CSV")
		extract.Register("CSV", saved)
	})
	extract.Register("CSV", extract.Reader{Read: func(context.Context, *extract.File) (*extract.Document, error) { panic("as asked") }})
	extracttest.WantReason(t, "a.csv", []byte("hello"), extract.Limits{}, extract.Crashed)
}

func TestSupports(t *testing.T) {
	for _, c := range []struct {
		name, head string // "-" for a head that is not known
		want       bool
	}{
		{"a.pdf", "-", true}, {"b/A.PDF", "anything", true}, {"README", "-", true}, {"README", "text", true},
		{"README", "\x7fELF", false}, {"v1.2/README", "-", true}, {"a.whl", "-", false}, {"a.jar", "-", false},
		{"a.exe", "-", true}, {"a.exe", "MZ\x00", false}, {"a.exe", "%PDF-1.4", true}, {"a.bin", "PK\x03\x04", true},
		{"a.xyz", "text", false}, {"a.doc", "-", true}, {"a.doc", "{\\rtf1", true}, {"a.ppt", "text", true},
	} {
		var head []byte
		if c.head != "-" {
			head = []byte(c.head)
		}
		if got := extract.Supports(c.name, head); got != c.want {
			t.Errorf("Supports(%q, %q) = %v, want %v", c.name, head, got, c.want)
		}
	}
}

func TestCSV_RowsReadAlone(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"comma": {
			"Plan,Deductible,Note\nStandard,\"$2,000\",\nPlus,$500,\"two\nlines\"\n",
			"TH Plan | Deductible | Note\nTR Plan: Standard; Deductible: $2,000\nTR Plan: Plus; Deductible: $500; Note: two lines\n",
		},
		"semicolon": {
			"Stadt;Preis\nKöln;1,5\nBonn;2,5\n",
			"TH Stadt | Preis\nTR Stadt: Köln; Preis: 1,5\nTR Stadt: Bonn; Preis: 2,5\n",
		},
		"tab": {"a\tb\n1\t2\n", "TH a | b\nTR a: 1; b: 2\n"},
		"bar": {"a|b\n1|2\n", "TH a | b\nTR a: 1; b: 2\n"},
		"no header": {
			"1,2\n3,4\n",
			"TR 1 | 2\nTR 3 | 4\n",
		},
		"title above": {
			"Prices of 2024,\nfruit,price\napple,3\n",
			"TR Prices of 2024\nTH fruit | price\nTR fruit: apple; price: 3\n",
		},
		"one column":  {"apple\npear\n", "TR apple\nTR pear\n"},
		"stray quote": {"a,b\n5\" pipe,2\n", "TH a | b\nTR a: 5\" pipe; b: 2\n"},
	} {
		if got := extracttest.Outline(extracttest.Read(t, "a.csv", []byte(c.data))); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestPlain_FindsParagraphsListsAndHeadings(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"wrapped lines are joined": {
			"The quick brown fox jumps over the lazy dog and runs away\ninto the forest behind the hill, where nobody finds it at\nall.\n\nNext one.\n",
			"P The quick brown fox jumps over the lazy dog and runs away into the forest behind the hill, where nobody finds it at all.\nP Next one.\n",
		},
		"other lines stay": {
			"Name: Ada\nCity: London\nYear: 1815\n",
			"P Name: Ada⏎City: London⏎Year: 1815\n",
		},
		"lists": {
			"To do:\n- first\n- second\n\n1. one\n2) two\n",
			"P To do:\nL - first\nL - second\nL 1. one\nL 2) two\n",
		},
		"headings": {
			"INTRODUCTION\n\nText.\n\nPart two\n========\nMore.\n\n1.2 Scope of work\n\nEnd.\n",
			"H1 INTRODUCTION\nP Text.\nH1 Part two\nP More.\nH1 1.2 Scope of work\nP End.\n",
		},
		"a table": {
			"name\tage\tcity\nAda\t36\tLondon\nKurt\t71\tPrinceton\n",
			"TH name | age | city\nTR name: Ada; age: 36; city: London\nTR name: Kurt; age: 71; city: Princeton\n",
		},
		"columns that spaces align": {
			"Prices from May\n\nRoom          Adult     Child\nDormitory    £18.00     £9.00\nGarden hut   £36.00\nTwin room    £41.50    £12.00\nBreakfast is extra.\n",
			"P Prices from May\nTH Room | Adult | Child\nTR Room: Dormitory; Adult: £18.00; Child: £9.00\nTR Room: Garden hut; Adult: £36.00\n" +
				"TR Room: Twin room; Adult: £41.50; Child: £12.00\nP Breakfast is extra.\n",
		},
		"a table that psql printed": {
			" id |  name  | since\n----+--------+------------\n  1 | Ada    | 2019-04-01\n  2 | Grace  |\n(2 rows)\n",
			"TH id | name | since\nTR id: 1; name: Ada; since: 2019-04-01\nTR id: 2; name: Grace\nP (2 rows)\n",
		},
		"a table that MySQL printed": {
			"+------+-------+\n| city | post  |\n|      | code  |\n+------+-------+\n| Ulm  | 89073 |\n| Bonn | 53111 |\n+------+-------+\n",
			"TH city | post code\nTR city: Ulm; post code: 89073\nTR city: Bonn; post code: 53111\n",
		},
		"columns in Japanese": {
			"品目      価格\nりんご    120\nぶどう    480\nもも      300\n",
			"TH 品目 | 価格\nTR 品目: りんご; 価格: 120\nTR 品目: ぶどう; 価格: 480\nTR 品目: もも; 価格: 300\n",
		},
		"a sum below a table, and a bar within a cell": {
			"Item           Price\n-------------  -----\nApples          3.00\nPears|Plums     2.00\n               -----\n                5.00\n",
			"TH Item | Price\nTR Item: Apples; Price: 3.00\nTR Item: Pears|Plums; Price: 2.00\nTR Price: 5.00\n",
		},
		"a line below a table": {
			" customer_id | total\n-------------+-------\n           1 |    20\n           2 |    30\n(2 rows)\n",
			"TH customer_id | total\nTR customer_id: 1; total: 20\nTR customer_id: 2; total: 30\nP (2 rows)\n",
		},
		"a table below an underlined title": {
			"Prices\n======\nRoom          Adult\nDormitory    £18.00\nTwin room    £41.50\nGarden hut   £36.00\n",
			"H1 Prices\nTH Room | Adult\nTR Room: Dormitory; Adult: £18.00\nTR Room: Twin room; Adult: £41.50\nTR Room: Garden hut; Adult: £36.00\n",
		},
		"labels without colons are no table": {
			"Customer    Miller\nOrder       4711\nTotal       120.00\n",
			"P Customer    Miller⏎Order       4711⏎Total       120.00\n",
		},
		"cells of a ruled table that were wrapped": {
			"Option      Meaning\n----------  -----------------\n--quiet     Says nothing but\n            errors.\n--force     Overwrites.\n",
			"TH Option | Meaning\nTR Option: --quiet; Meaning: Says nothing but errors.\nTR Option: --force; Meaning: Overwrites.\n",
		},
		"a list of changed files is no table": {
			" src/fccfg.c  |  21 ++++-\n src/fcdir.c  |   2 +-\n src/fchash.c | 181 +++++++\n",
			"P src/fccfg.c  |  21 ++++-⏎src/fcdir.c  |   2 +-⏎src/fchash.c | 181 +++++++\n",
		},
		"a line that is too long for a table stays whole": {
			"Name   Text\n-----  -----\nfoo    " + strings.Repeat("w ", 300) + "end\nbar    short\n",
			"P Name   Text⏎-----  -----⏎foo    " + strings.Repeat("w ", 300) + "end⏎bar    short\n",
		},
		"labels with their values are no table": {
			"Name:    Ada\nAge:     36\nZip:     12345\n",
			"P Name:    Ada⏎Age:     36⏎Zip:     12345\n",
		},
		"Windows lines and odd characters": {
			"one\r\ntwo\u00a0three\u00adfour\ufeff\x07\r\n\r\n\u202eabc\u202c ﬁne\n",
			"P one⏎two threefour\nP abc fine\n",
		},
		"decomposed letters": {"Ko\u0308ln\n", "P Köln\n"},
	} {
		if got := extracttest.Outline(extracttest.Read(t, "a.txt", []byte(c.data))); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestPlain_LosesNoWordOfACellThatManyLinesGoOnWith(t *testing.T) {
	lines := strings.Repeat("       "+strings.Repeat("word ", 50)+"\n", 40)
	got := extracttest.Outline(extracttest.Read(t, "a.txt", []byte("Name   Text\n-----  -----\nfoo    one\n"+lines+"bar    short\n")))
	if n := strings.Count(got, "word"); n != 2000 {
		t.Errorf("%d words of 2000 were read", n)
	}
	if n := strings.Count(got, "\n"); n > 10 {
		t.Errorf("the cell was cut into %d blocks", n)
	}
}
