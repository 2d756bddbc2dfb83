package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/extract"
	"parley/internal/lazyregexp"
	"parley/internal/ocr"
)

// Tesseract is the program of that name on this machine. It recognises the same text as the one in this program, in
// about a third of the time. It is safe for concurrent use.
type Tesseract struct {
	Path    string
	Version string

	program program
	args    []string
	failed  atomic.Int32 // pages in a row on which it failed and the one in this program did not
}

// maxFailures is the number of failed pages in a row after which a Tesseract is no longer used.
const maxFailures = 3

// FindTesseract looks for Tesseract 5 in PATH. The error says why a program that it found is not used: another version,
// or no data for one of the languages. data is the folder with its data; "" means its default.
func FindTesseract(ctx context.Context, languages []string, data string) (*Tesseract, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("on Windows the program is not looked for")
	}
	path, err := exec.LookPath("tesseract")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, errors.New("there is no tesseract in PATH")
	}
	t := &Tesseract{Path: path, program: program{path: path, env: []string{"LC_ALL=C", "OMP_THREAD_LIMIT=1"}}}
	if folder := absolute(os.Getenv("TESSDATA_PREFIX")); folder != "" && data == "" {
		t.program.env = append(t.program.env, "TESSDATA_PREFIX="+folder)
		t.program.reads = append(t.program.reads, folder)
	}
	if data = absolute(data); data != "" {
		t.args = append(t.args, "--tessdata-dir", data)
		t.program.reads = append(t.program.reads, data)
	}
	if err := t.check(ctx, languages); err != nil {
		return nil, fmt.Errorf("%s is not used: %w", path, err)
	}
	t.args = append(t.args, "-l", strings.Join(languages, "+"), "--oem", "1", "--psm", ocr.PageLayout)
	return t, nil
}

var versionLine = lazyregexp.New(`^tesseract v?(\d+)\.[0-9A-Za-z.-]{1,40}`)

// check asks the program for its version and its languages.
func (t *Tesseract) check(ctx context.Context, languages []string) error {
	limits := extract.Limits{Time: 10 * time.Second}
	out, err := t.program.run(ctx, limits, nil, "--version")
	if err != nil {
		return err
	}
	found := versionLine.FindSubmatch(out)
	if found == nil {
		return errors.New("it does not say its version")
	}
	t.Version = strings.TrimLeft(strings.TrimPrefix(string(found[0]), "tesseract "), "v")
	if string(found[1]) != "5" {
		return fmt.Errorf("it has version %s instead of 5", t.Version)
	}
	out, err = t.program.run(ctx, limits, nil, append(slices.Clone(t.args), "--list-langs")...)
	if err != nil {
		return err
	}
	known := strings.Fields(string(out))
	for _, l := range languages {
		if !slices.Contains(known, l) {
			return fmt.Errorf("it has no data for %s", l)
		}
	}
	return nil
}

func (t *Tesseract) usable() bool { return t != nil && t.failed.Load() < maxFailures }

// words reads a picture.
func (t *Tesseract) words(ctx context.Context, l extract.Limits, d *extract.Drawing) ([]ocr.Word, error) {
	args := slices.Clone(t.args)
	if d.DPI > 0 {
		args = append(args, "--dpi", strconv.Itoa(d.DPI))
	}
	out, err := t.program.run(ctx, l, pgm(d), append([]string{"stdin", "stdout"}, append(args, "tsv")...)...)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(out), "level\tpage_num\t") {
		return nil, &extract.Error{Reason: extract.Crashed, Detail: "tesseract does not write a table of words"}
	}
	return ocr.ParseTSV(string(out)), nil
}

// pgm encodes a picture as a portable graymap (netpbm's pgm(5)).
func pgm(d *extract.Drawing) []byte {
	size := d.Gray.Rect.Size()
	out := fmt.Appendf(nil, "P5\n%d %d\n255\n", size.X, size.Y)
	for y := range size.Y {
		out = append(out, d.Gray.Pix[y*d.Gray.Stride:][:size.X]...)
	}
	return out
}
