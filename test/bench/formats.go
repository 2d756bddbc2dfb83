package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"parley/internal/format"
	"parley/internal/lexical/lexicaltest"
	"parley/internal/retrieval"
	"parley/internal/store"
)

const (
	formatFiles    = 20
	formatPassages = 60 // passages of a file
	perPage        = 3  // passages on a page or slide
	longPDF        = 1000
)

// formatKind generates files of a format.
type formatKind struct {
	format string // its name in package extract
	ext    string
	make   func(passages []string) ([]byte, error)
	holds  int // documents in a container file; 0 if the file is a document
}

// makers generate the files. A test compares their formats with the supported ones.
var makers = []formatKind{
	{"PDF", "pdf", makePDF, 0}, {"Word", "docx", makeDOCX, 0}, {"PowerPoint", "pptx", makePPTX, 0}, {"Excel", "xlsx", makeXLSX, 0}, {"Excel binary", "xlsb", makeXLSB, 0}, {"Excel 97–2003", "xls", makeXLS, 0},
	{"OpenDocument text", "odt", makeODT, 0}, {"OpenDocument spreadsheet", "ods", makeODS, 0},
	{"OpenDocument presentation", "odp", makeODP, 0}, {"flat OpenDocument", "fodt", makeFODT, 0}, {"EPUB", "epub", makeEPUB, 0},
	{"RTF", "rtf", makeRTF, 0}, {"HTML", "html", makeHTML, 0}, {"Markdown", "md", makeText, 0}, {"Jupyter notebook", "ipynb", makeNotebook, 0}, {"MediaWiki", "wiki", makeWiki, 0},
	{"MediaWiki dump", "xml", makeWikiDump, containerParts}, {"CSV", "csv", makeCSV, 0}, {"CSV", "tsv", makeTSV, 0},
	{"JSON", "json", makeJSON, 0}, {"JSON", "jsonl", makeJSONL, 0}, {"Word XML", "xml", makeWordXML, 0},
	{"Excel XML", "xml", makeExcelXML, 0}, {"XML", "xml", makeXML, 0}, {"e-mail", "eml", makeEML, 0}, {"Outlook message", "msg", makeMSG, 0}, {"TNEF", "tnef", makeTNEF, 0}, {"SVG", "svg", makeSVG, 0},
	{"mailbox", "mbox", makeMailbox, containerParts}, {"ZIP archive", "zip", makeArchive, containerParts},
	{"tar archive", "tar", makeTAR, containerParts}, {"gzip archive", "tgz", makeTGZ, containerParts},
	{"xz archive", "xz", makeTXZ, containerParts}, {"Zstandard archive", "zst", makeTZST, containerParts}, {"RAR archive", "rar", makeRAR, containerParts}, {"plain text", "txt", makeText, 0},
}

// notMeasured are the formats without generated files, with the reason.
var notMeasured = map[string]string{
	"image":              "it has no text but its name",
	"iWork":              "only its preview is read, which is a PDF document or a picture",
	"recording":          "a model transcribes it",
	"bzip2 archive":      "Go's library does not write it; what it holds is a tar archive",
	"Word 97–2003":       "no Go library writes it, and it has tables of bytes in several streams",
	"PowerPoint 97–2003": "no Go library writes it",
	"Parquet":            "no library that writes it is in the program",
	"7-Zip archive":      "no Go library writes it; LZMA is measured with xz",
}

// measured returns the makers, with the maker of plain text for text formats that have none.
func measured() []formatKind {
	all := slices.Clone(makers)
	for _, f := range format.Table {
		made := slices.ContainsFunc(makers, func(k formatKind) bool { return k.format == f.Name })
		if !made && !f.Binary && !f.Unread && notMeasured[f.Name] == "" {
			all = append(all, formatKind{f.Name, slices.Concat(f.Extensions, f.Rare)[0], makeText, 0})
		}
	}
	return all
}

// formats measures the ingestion of generated files of each format, and of a PDF file of a thousand
// pages, from the start of the program to its end.
func (b *bench) formats(ctx context.Context) error {
	g := lexicaltest.New(1)
	for _, f := range measured() {
		dir, err := os.MkdirTemp(b.work, f.ext+"-")
		if err != nil {
			return err
		}
		text := 0
		for i := range formatFiles {
			g.Document()
			passages := make([]string, formatPassages)
			for n := range passages {
				passages[n] = g.Passage()
				text += len(passages[n])
			}
			data, err := f.make(passages)
			if err != nil {
				return fmt.Errorf("make a file of the format %s: %w", f.format, err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("report-%d.%s", i, f.ext)), data, 0o600); err != nil {
				return err
			}
		}
		what := fmt.Sprintf("ingestion of %d files: %s (.%s)", formatFiles, f.format, f.ext)
		if err := b.ingestFormat(ctx, what, dir, text, formatFiles*max(f.holds, 1)); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(b.work, "long-")
	if err != nil {
		return err
	}
	passages, text := make([]string, longPDF*perPage), 0
	for i := range passages {
		passages[i] = g.Passage()
		text += len(passages[i])
	}
	data, err := makePDF(passages)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "long.pdf"), data, 0o600); err != nil {
		return err
	}
	return b.ingestFormat(ctx, fmt.Sprintf("ingestion of one PDF file of %d pages within extract.memory", longPDF), dir, text, 1)
}

// ingestFormat measures the ingestion of a folder with a number of bytes of text. All files must
// become documents. PDFium is compiled before.
func (b *bench) ingestFormat(ctx context.Context, what, dir string, text, documents int) error {
	program, err := b.build(ctx)
	if err != nil {
		return err
	}
	p := &passages{data: filepath.Join(dir, ".data")}
	if err := b.warmCache(ctx, program, p.data); err != nil {
		return err
	}
	took, err := consume(exec.CommandContext(ctx, program, "ingest", "--data", p.data, dir))
	if err != nil {
		return err
	}
	err = p.with(ctx, func(corpus *retrieval.Corpus, stored *store.Corpus) error {
		p.stats, err = stored.Stats(ctx, namespace)
		return err
	})
	if err != nil {
		return err
	}
	if p.stats.Documents != documents {
		return fmt.Errorf("%s: there are %d documents of %d", what, p.stats.Documents, documents)
	}
	seconds := took.wall.Seconds()
	b.add(what, "", "%.0f pages/s, %.2f MB/s, %.2f MB of text/s, %.0f passages/s (%d pages, %.1f MB, CPU %.1f s)",
		float64(p.stats.Pages)/seconds, float64(p.stats.Bytes)/1e6/seconds, float64(text)/1e6/seconds, float64(p.stats.Chunks)/seconds,
		p.stats.Pages, float64(p.stats.Bytes)/1e6, took.cpu.Seconds())
	return os.RemoveAll(dir)
}

// warmCache gives a data folder the compiled PDF parser, which an ingestion would otherwise make
// first.
func (b *bench) warmCache(ctx context.Context, program, data string) error {
	cache := filepath.Join(b.work, "format-cache")
	if _, err := os.Stat(cache); err != nil {
		first := filepath.Join(b.work, "format-first")
		file := filepath.Join(b.work, "first.pdf")
		pdf, err := makePDF([]string{"one", "two"})
		if err == nil {
			err = os.WriteFile(file, pdf, 0o600)
		}
		if err != nil {
			return err
		}
		if _, err := consume(exec.CommandContext(ctx, program, "ingest", "--data", first, file)); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(first, "cache"), cache); err != nil {
			return fmt.Errorf("keep the compiled parser: %w", err)
		}
	}
	return os.CopyFS(filepath.Join(data, "cache"), os.DirFS(cache))
}
