//go:build unix

package pdf

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"parley/internal/extract"
	"parley/test/needs"
)

// BenchmarkReports reads the PDF files of a folder, PARLEY_BENCH_PDF, and says how many pages a second of processor time that
// is, and how many it would be if nothing but PDFium's parsing took time.
func BenchmarkReports(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("PARLEY_BENCH_PDF"), "*.pdf"))
	if err != nil || os.Getenv("PARLEY_BENCH_PDF") == "" || len(files) == 0 {
		needs.Missing(b, "PARLEY_BENCH_PDF, a folder of PDF files")
	}
	p, err := newPDFium(needs.ParserCache(), 1<<30)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	pages := 0
	var alone, whole time.Duration
	for b.Loop() {
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			d, err := p.open(&extract.File{Content: bytes.NewReader(data), Size: int64(len(data)), Parser: p})
			if err != nil {
				b.Fatal(err)
			}
			n := d.int("FPDF_GetPageCount", d.handle)
			began := processorTime(b)
			for i := range n {
				page := d.call("FPDF_LoadPage", d.handle, uint64(i))
				d.call("FPDFText_ClosePage", d.call("FPDFText_LoadPage", page))
				d.call("FPDF_ClosePage", page)
			}
			parsed := processorTime(b)
			for i := range n {
				r := pdfReader{doc: d}
				r.read(i)
			}
			pages, alone, whole = pages+n, alone+parsed-began, whole+processorTime(b)-parsed
			d.close()
		}
	}
	b.ReportMetric(float64(pages)/whole.Seconds(), "pages/CPU-s")
	b.ReportMetric(float64(pages)/alone.Seconds(), "PDFium-pages/CPU-s")
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
