// Package ocr reads the text on pictures with Tesseract 5, which runs as WebAssembly in this process. English is
// in the program; files of other languages come from a folder.
//
//	r, err := ocr.New(ctx, ocr.Options{})
//	defer r.Close()
//	words, err := r.Words(ctx, picture, 300)
//	page := ocr.Compose(words, bounds)
package ocr

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"image"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/tetratelabs/wazero"

	"parley/internal/lazyregexp"
)

// Made by internal/ocr/generate, which names the packages, their versions, checksums and licences.
var (
	//go:embed data/tesseract.wasm.zst
	packedProgram []byte
	//go:embed data/eng.traineddata.zst
	packedEnglish []byte
)

// English is the language that is in the program.
const English = "eng"

// Options configure a Reader. A zero field means the default.
type Options struct {
	CacheDir  string   // where compiled code is kept for the next start; "" compiles each time
	Memory    int64    // maximum memory of the module in bytes; 512 MiB
	Languages []string // Tesseract's names of them, the most likely one first; English
	Data      string   // folder with LANGUAGE.traineddata for languages besides English; "" for none
}

// Reader reads pictures, one at a time.
type Reader struct {
	options Options
	files   map[string][]byte // traineddata by file name
	cache   wazero.CompilationCache
	runtime wazero.Runtime
	code    wazero.CompiledModule
	module  *module // nil before the first picture, and after a picture on which it failed
	api     uint64  // its TessBaseAPI
}

const wasmPage = 64 << 10

// New compiles Tesseract, which takes about 2 s, or loads it from CacheDir in about .1 s, and reads the files of
// the languages.
func New(ctx context.Context, o Options) (*Reader, error) {
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if len(o.Languages) == 0 {
		o.Languages = []string{English}
	}
	files, err := load(o.Languages, o.Data)
	if err != nil {
		return nil, err
	}
	r := &Reader{options: o, files: files}
	if err := r.compile(ctx, o.CacheDir); err != nil {
		r.Close()
		if o.CacheDir == "" {
			return nil, err
		}
		// A folder that cannot be written to costs time, not pages.
		if err := r.compile(ctx, ""); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

func (r *Reader) compile(ctx context.Context, cacheDir string) (err error) {
	r.cache = wazero.NewCompilationCache()
	if cacheDir != "" {
		if r.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return fmt.Errorf("open the folder for compiled code: %w", err)
		}
	}
	program, err := unpack(packedProgram)
	if err != nil {
		return err
	}
	config := wazero.NewRuntimeConfig().WithCompilationCache(r.cache).WithMemoryLimitPages(uint32(min(r.options.Memory, 2<<30) / wasmPage))
	r.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if r.code, err = r.runtime.CompileModule(ctx, program); err != nil {
		return fmt.Errorf("compile Tesseract: %w", err)
	}
	return nil
}

// Close frees the Reader's memory.
func (r *Reader) Close() error {
	var errs []error
	if r.runtime != nil {
		errs = append(errs, r.runtime.Close(context.Background()))
	}
	if r.cache != nil {
		errs = append(errs, r.cache.Close(context.Background()))
	}
	r.module, r.runtime, r.cache = nil, nil, nil
	return errors.Join(errs...)
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)) })

func unpack(packed []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, fmt.Errorf("unpack Tesseract: %w", err)
	}
	data, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack Tesseract: %w", err)
	}
	return data, nil
}

var languageName = lazyregexp.New(`^[A-Za-z][A-Za-z_]{1,30}$`)

// CheckLanguages reports which of the languages cannot be read with the files of a folder.
func CheckLanguages(languages []string, dir string) error {
	for _, name := range languages {
		if !languageName.MatchString(name) {
			return fmt.Errorf("%q is not a language of Tesseract: use a name like eng, deu or chi_sim", name)
		}
		if _, err := os.Stat(filepath.Join(dir, name+suffix)); dir == "" || err != nil {
			if name != English {
				return fmt.Errorf("the data for %q are missing: put %s%s of https://github.com/tesseract-ocr/tessdata_fast into a folder and name it in ingest.ocr_data", name, name, suffix)
			}
		}
	}
	return nil
}

const (
	suffix       = ".traineddata"
	maxDataBytes = 64 << 20 // of one language
)

// load reads the files of languages. English in the folder takes precedence over that in the program.
func load(languages []string, dir string) (map[string][]byte, error) {
	if err := CheckLanguages(languages, dir); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range languages {
		data, err := readData(filepath.Join(dir, name+suffix))
		switch {
		case dir != "" && err == nil:
		case name == English:
			if data, err = unpack(packedEnglish); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("read the data of a language: %w", err)
		}
		files[name+suffix] = data
	}
	return files, nil
}

func readData(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDataBytes+1))
	if err == nil && len(data) > maxDataBytes {
		err = fmt.Errorf("%s has more than %d MiB", filepath.Base(name), maxDataBytes>>20)
	}
	return data, err
}

// Words reads the words on a picture of dpi dots an inch. It returns ctx's error within a second after ctx has ended.
func (r *Reader) Words(ctx context.Context, picture *image.Gray, dpi int) ([]Word, error) {
	tsv, err := r.tsv(ctx, picture, dpi)
	if err != nil {
		r.stop() // it may be in any state
		return nil, err
	}
	return ParseTSV(tsv), nil
}

// stop discards the instance; the next picture gets a new one.
func (r *Reader) stop() {
	if r.module != nil {
		_ = r.module.Close(context.Background()) // it is no longer needed
		r.module = nil
	}
	_ = r.runtime.Module("a").Close(context.Background())
}

func (r *Reader) tsv(ctx context.Context, picture *image.Gray, dpi int) (string, error) {
	if r.module == nil {
		if err := r.start(ctx); err != nil {
			return "", err
		}
	}
	m, size := r.module, picture.Rect.Size()
	pixels := picture.Pix
	if picture.Stride != size.X {
		pixels = pixels[:0:0]
		for y := range size.Y {
			pixels = append(pixels, picture.Pix[y*picture.Stride:][:size.X]...)
		}
	}
	at, err := m.bytes(ctx, pixels)
	if err != nil {
		return "", err
	}
	steps := []struct {
		name string
		args []uint64
	}{
		{exportImage, []uint64{r.api, at, uint64(size.X), uint64(size.Y), 1, uint64(size.X), 1, 0}},
		{exportFree, []uint64{at}}, // Tesseract has a copy
		{exportDPI, []uint64{r.api, uint64(dpi)}},
		{exportRead, []uint64{r.api, 0}},
	}
	var failed uint64
	for _, s := range steps {
		if failed, err = m.call(ctx, s.name, s.args...); err != nil {
			return "", err
		}
	}
	if failed != 0 {
		return "", errors.New("the picture cannot be read by Tesseract")
	}
	text, err := m.call(ctx, exportTSV, r.api, 0)
	if err != nil {
		return "", err
	}
	tsv := cStringAt(m.Memory(), uint32(text))
	for _, s := range []struct {
		name string
		arg  uint64
	}{{exportFree, text}, {exportClear, r.api}} {
		if _, err := m.call(ctx, s.name, s.arg); err != nil {
			return "", err
		}
	}
	return tsv, nil
}

// start makes an instance that knows the languages.
func (r *Reader) start(ctx context.Context) error {
	m, err := start(ctx, r.runtime, r.code, r.files)
	if err != nil {
		return err
	}
	r.module = m
	if r.api, err = m.call(ctx, exportNew); err != nil {
		return err
	}
	folder, err := m.cString(ctx, "/")
	if err != nil {
		return err
	}
	languages, err := m.cString(ctx, strings.Join(r.options.Languages, "+"))
	if err != nil {
		return err
	}
	const lstm = 1 // OEM_LSTM_ONLY
	failed, err := m.call(ctx, exportOpen, r.api, folder, languages, lstm)
	if err == nil && failed != 0 {
		err = fmt.Errorf("start Tesseract: it cannot use %s", strings.Join(slices.Sorted(maps.Keys(r.files)), ", "))
	}
	if err != nil {
		return err
	}
	return r.set(ctx, "tessedit_pageseg_mode", PageLayout)
}

// PageLayout is PSM_AUTO, the default of the program tesseract: the page is divided into blocks. The library's own default
// treats a page as one block, and reads across columns.
const PageLayout = "3"

func (r *Reader) set(ctx context.Context, variable, value string) error {
	name, err := r.module.cString(ctx, variable)
	if err != nil {
		return err
	}
	to, err := r.module.cString(ctx, value)
	if err != nil {
		return err
	}
	known, err := r.module.call(ctx, exportVariable, r.api, name, to)
	if err == nil && known == 0 {
		err = fmt.Errorf("start Tesseract: it has no setting %s", variable)
	}
	return err
}
