package sandbox

import (
	"context"
	"errors"
	"fmt"
	"image"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/ocr/ocrtest"
	"parley/test/needs"
)

// fakeTesseract puts a script named tesseract before the programs of the system. It says a version and languages, and does
// something else when it is to read a page.
func fakeTesseract(t *testing.T, version, languages, read string) {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*--version*) %s;;\n*--list-langs*) printf 'List of languages (1):\\n%s\\n';;\n*) %s;;\nesac\n", version, languages, read)
	if err := os.WriteFile(filepath.Join(dir, "tesseract"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("TESSDATA_PREFIX", "")
}

const version5 = "echo tesseract 5.9.1"

func foundTesseract(t *testing.T) *Tesseract {
	t.Helper()
	found, err := FindTesseract(t.Context(), []string{"eng"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFindTesseract_TakesOnlyOneThatReadsAsTheBuiltInOneDoes(t *testing.T) {
	for _, c := range []struct{ version, languages, want string }{
		{version5, `deu\neng\nosd`, ""},
		{"echo tesseract v5.0.0-alpha.20200328", "eng", ""},
		{version5, "deu", "no data for eng"},
		{"echo tesseract 4.1.1", "eng", "version 4.1.1 instead of 5"},
		{"echo tesseract 50.1.1", "eng", "instead of 5"},
		{"echo Usage: something else", "eng", "does not say its version"},
		{"exit 3", "eng", "exit status 3"},
		{"kill -SEGV $$", "eng", "failed"},
	} {
		fakeTesseract(t, c.version, c.languages, "exit 1")
		found, err := FindTesseract(t.Context(), []string{"eng"}, "")
		if c.want == "" && (err != nil || found.Version != strings.TrimLeft(strings.Fields(c.version)[2], "v")) {
			t.Errorf("%s: %+v, %v", c.version, found, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v", c.version, c.languages, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := FindTesseract(t.Context(), []string{"eng"}, ""); err == nil || !strings.Contains(err.Error(), "no tesseract in PATH") {
		t.Errorf("without one: %v", err)
	}
}

func TestTesseract_ThatMisbehavesIsAnErrorWithinItsLimits(t *testing.T) {
	drawing := &extract.Drawing{Gray: image.NewGray(image.Rect(0, 0, 2000, 1000)), DPI: 300} // more than a pipe holds
	for name, c := range map[string]struct {
		read   string
		reason extract.Reason
	}{
		"hangs":                    {"sleep 1000", extract.Timeout},
		"hangs in its child":       {"sleep 1000 & wait", extract.Timeout},
		"crashes":                  {"kill -SEGV $$", extract.Crashed},
		"fails":                    {"echo Error opening data file >&2; exit 1", extract.Crashed},
		"writes something else":    {`printf 'PK\003\004\377\000'`, extract.Crashed},
		"writes nothing":           {"true", extract.Crashed},
		"writes without an end":    {"yes 5", extract.TooLarge},
		"takes too much memory":    {`awk 'BEGIN { s = "x"; for (i = 0; i < 40; i++) s = s s; print length(s) }'`, extract.Crashed},
		"closes its input at once": {"exec 0<&-; echo no", extract.Crashed},
	} {
		fakeTesseract(t, version5, "eng", c.read)
		limits := extract.Limits{Time: time.Minute, MemoryBytes: 256 << 20}
		if needs.Race {
			limits.MemoryBytes *= 4 // what sets the limits is this program, too, which takes more then
		}
		if c.reason == extract.Timeout {
			limits.Time = time.Second
		}
		_, err := foundTesseract(t).words(t.Context(), limits, drawing)
		if got := extracttest.ReasonOf(err); got != c.reason {
			t.Errorf("one that %s: %v", name, err)
		}
	}
	fakeTesseract(t, version5, "eng", "sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := foundTesseract(t).words(ctx, extract.Limits{Time: time.Hour}, drawing); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestProgram_ReachesNeitherOtherFilesNorTheNetwork(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("42"), 0o600); err != nil {
		t.Fatal(err)
	}
	cat := program{path: "/bin/cat", reads: []string{filepath.Dir(secret)}}
	if out, err := cat.run(t.Context(), extract.Limits{}, nil, secret); err != nil || string(out) != "42" {
		t.Errorf("a file that it may read: %q, %v", out, err)
	}
	if _, ok := Confinement(); !ok {
		t.Skip("the kernel has no Landlock")
	}
	cat.reads = nil
	if out, err := cat.run(t.Context(), extract.Limits{}, nil, secret); err == nil {
		t.Errorf("another file: %q", out)
	}
	bash, err := exec.LookPath("bash")
	if err != nil || !isolated() {
		t.Skip("there is no bash, or the kernel gives processes no network of their own")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if _, err := (program{path: bash}).run(t.Context(), extract.Limits{}, nil, "-c", fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", port)); err == nil {
		t.Error("it connects to a server of the machine")
	}
}

// scanOf is a PDF file of pages with a few words.
func scanOf(t *testing.T, pages int) extract.Request {
	t.Helper()
	picture := ocrtest.Picture(t, 1500, 400, .02, ocrtest.Paragraph(120, 150, "Lost keys are replaced", "for a fee of $45 each.")...)
	var all []*image.Gray
	for range pages {
		all = append(all, picture)
	}
	return extract.Request{Name: "scan.pdf", Path: written(t, string(extracttest.ScannedPDF(t, all...)))}
}

// pageLimits are those of the recognition of a page. The race detector keeps several bytes for each one.
var pageLimits = func() extract.Limits {
	limits := extract.Limits{Time: 5 * time.Minute, MemoryBytes: 768 << 20}
	if needs.Race {
		limits.MemoryBytes = 2 << 30
	}
	return limits
}()

func TestRecognise_FallsBackFromATesseractThatFails_AndThenDoesWithout(t *testing.T) {
	fakeTesseract(t, version5, "eng", "exit 1")
	found, failures := foundTesseract(t), 0
	pool := newTestPool(t, Options{Workers: 1, Limits: pageLimits, Tesseract: found, Failed: func(error) { failures++ }})
	const pages = maxFailures + 1
	scan := scanOf(t, pages)
	for page := range pages {
		seen, err := pool.Recognise(t.Context(), scan, page+1, []string{"eng"}, "")
		if err != nil || seen.Number != page+1 || seen.Text != "Lost keys are replaced for a fee of $45 each." {
			t.Fatalf("page %d: %+v, %v", page+1, seen, err)
		}
	}
	if failures != maxFailures || found.usable() {
		t.Errorf("%d failures, still used: %t", failures, found.usable())
	}
	if _, err := pool.Recognise(t.Context(), scan, pages+1, []string{"eng"}, ""); extracttest.ReasonOf(err) != extract.Damaged {
		t.Errorf("a page that there is not: %v", err)
	}
}

func TestRecognise_BySystemsTesseractGivesTheSameWordsAndBoxes(t *testing.T) {
	if _, err := exec.LookPath("tesseract"); err != nil {
		needs.Missing(t, "tesseract (tesseract-ocr) is not installed")
	}
	found := foundTesseract(t)
	outside := newTestPool(t, Options{Workers: 1, Limits: pageLimits, Tesseract: found, Failed: func(err error) { t.Error(err) }})
	inside := newTestPool(t, Options{Workers: 1, Limits: pageLimits})
	scan := scanOf(t, 1)
	theirs, err := outside.Recognise(t.Context(), scan, 1, []string{"eng"}, "")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := inside.Recognise(t.Context(), scan, 1, []string{"eng"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Text != ours.Text || theirs.Number != ours.Number || len(theirs.Boxes) != len(ours.Boxes) {
		t.Fatalf("%+v\ninstead of\n%+v", theirs, ours)
	}
	const near = .003 // of the page
	for i, b := range ours.Boxes {
		other := theirs.Boxes[i].Box
		if max(b.Box.X-other.X, other.X-b.Box.X, b.Box.Y-other.Y, other.Y-b.Box.Y) > near {
			t.Errorf("word %d stands at %+v instead of %+v", i, other, b.Box)
		}
	}
	fakeTesseract(t, version5, "eng", "exit 1")
	if page, err := outside.Recognise(t.Context(), scan, 1, []string{"eng"}, ""); err != nil || page.Text != ours.Text {
		t.Errorf("it is looked for again: %v", err)
	}
}
