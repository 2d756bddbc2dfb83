package formats

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// The sender and the attachments of a message are named in the code page of the message.
func TestMSG_ReadsNamesInTheDeclaredCodePage(t *testing.T) {
	for page, want := range map[int][3]string{
		1252: {"é", "Zoë Bü", "Çå æß"}, 1250: {"Ł", "Řehoř", "Żółw ťůě"}, 1257: {"ž", "Jānis", "Šķēle ųų"},
		1254: {"ş", "Gülşı", "Ağaç ıİ"}, 1251: {"я", "Мария", "Отчёт год"}, 20866: {"я", "Мария", "Отчёт год"},
		28595: {"я", "Мария", "Отчёт год"}, 1253: {"ω", "Ελένη", "Έκθεση ώρ"}, 1255: {"א", "שלמה", "דוח שנתי"},
		1256: {"ب", "محمد", "تقرير سنة"}, 932: {"林", "山田太郎", "報告カキあい東京"}, 936: {"王", "联通王李", "年度报告周吴徐孙"},
		949: {"김", "최정강조", "보고서신권황안송"}, 950: {"林", "陳林黃張", "年度報告許鄭謝洪"},
	} {
		in := extracttest.Input("a.msg", extracttest.CompoundFile(t, fmt.Sprintf("poi-names-%d.msg", page)))
		in.Spool = t.TempDir()
		doc, err := (&extract.Extractor{CacheDir: extracttest.ParserCache}).File(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("P From: %s⏎To: %s\nP Body.\nP Attachments: %s.txt\n", want[0], want[1], want[2])
		if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
			t.Errorf("code page %d: %s", page, diff)
		}
	}
}
