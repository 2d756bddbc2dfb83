package ingest

import (
	"testing"

	"parley/internal/documents/crawl"
	"parley/internal/fetch"
)

func TestPageFile_HasTheExtensionOfItsFormat(t *testing.T) {
	for _, c := range []struct{ url, media, want string }{
		{"https://example.com/", "text/html", "example.com.html"},
		{"https://example.com/docs/", "text/html", "docs.html"},
		{"https://example.com/a.html", "text/html", "a.html"},
		{"https://example.com/a.php?x=1.pdf", "text/html", "a.php.html"},
		{"https://example.com/report.PDF", "application/pdf", "report.PDF"},
		{"https://example.com/download?id=1", "application/pdf", "download.pdf"},
		{"https://example.com/README.md", "text/plain", "README.md"},
		{"https://example.com/LICENSE", "text/plain", "LICENSE.txt"},
		{"https://example.com/page.html", "text/plain", "page.html.txt"},
		{"https://example.com/plan.docx", "application/octet-stream", "plan.docx"},
	} {
		if got := pageFile(crawl.Visit{URL: c.url, Page: &fetch.Page{MediaType: c.media}}); got != c.want {
			t.Errorf("%s as %s is %q, want %q", c.url, c.media, got, c.want)
		}
	}
	if got := pageFile(crawl.Visit{URL: "https://w/wiki/A.B", Wiki: true, Page: &fetch.Page{MediaType: "text/x-wiki"}}); got != "A.B.wiki" {
		t.Errorf("an article is %q", got)
	}
}

func TestAcceptsPage_TakesTextsAndOfficeFiles(t *testing.T) {
	for _, c := range []struct {
		media, url string
		want       bool
	}{
		{"text/html", "https://h/", true}, {"application/pdf", "https://h/x", true}, {"application/json", "https://h/x.json", false},
		{"image/png", "https://h/x", false}, {"application/zip", "https://h/x.zip", false}, {"text/css", "https://h/x.css", false},
		{"application/octet-stream", "https://h/x.docx?y", true}, {"application/octet-stream", "https://h/x.exe", false},
		{"application/rss+xml", "https://h/feed", false},
	} {
		if got := AcceptsPage(c.media, c.url); got != c.want {
			t.Errorf("%s at %s: %v", c.media, c.url, got)
		}
	}
}
