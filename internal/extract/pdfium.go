package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf16"

	pdfiumapi "github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// pdfium is PDFium compiled from WebAssembly, ready to be instantiated once per document. Its
// functions are called directly in the module instead of through go-pdfium's requests, which
// cost a new call stack and several table look-ups for each character of a page.
type pdfium struct {
	pool  pdfiumapi.Pool
	cache wazero.CompilationCache
	mount *pdfMount
}

// wasmPage is the unit of WebAssembly's memory.
const wasmPage = 64 << 10

// newPDFium compiles PDFium, which takes about 2 s, or loads it from cacheDir in about .1 s. A
// document may use memory bytes of the module's memory.
func newPDFium(cacheDir string, memory int64) (*pdfium, error) {
	p := &pdfium{cache: wazero.NewCompilationCache(), mount: &pdfMount{}}
	if cacheDir != "" {
		// A folder that cannot be used costs time, not documents.
		if cache, err := wazero.NewCompilationCacheWithDir(cacheDir); err == nil {
			p.cache = cache
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		MaxTotal: 1,
		Stdout:   io.Discard,
		Stderr:   io.Discard,
		FSConfig: wazero.NewFSConfig().WithFSMount(p.mount, "/"),
		RuntimeConfig: wazero.NewRuntimeConfig().
			WithCompilationCache(p.cache).
			WithMemoryLimitPages(uint32(min(memory, 2<<30) / wasmPage)),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("compile PDFium: %w", err), p.cache.Close(context.Background()))
	}
	p.pool = pool
	return p, nil
}

func (p *pdfium) close() error {
	return errors.Join(p.pool.Close(), p.cache.Close(context.Background()))
}

// pdfDocument is an open document in an instance of PDFium of its own. After the first error,
// which err holds, every call returns zeros.
type pdfDocument struct {
	instance  pdfiumapi.Pdfium
	module    api.Module
	functions map[string]api.Function
	stack     [8]uint64
	handle    uint64
	scratch   uint32 // scratchBytes of the module's memory for results
	err       error
}

const scratchBytes = 4096

// open opens a document, or fails with an *Error.
func (p *pdfium) open(f *file) (*pdfDocument, error) {
	instance, err := p.pool.GetInstance(10 * time.Second)
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	d := &pdfDocument{instance: instance, functions: map[string]api.Function{}}
	implementation := reflect.ValueOf(instance.GetImplementation())
	module, ok := implementation.Elem().FieldByName("Module").Interface().(api.Module)
	if !ok {
		return nil, errors.Join(errors.New("start PDFium: its module cannot be reached"), instance.Close())
	}
	d.module = module
	p.mount.document = f
	if err := d.load(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *pdfDocument) load() error {
	d.scratch = uint32(d.call("malloc", scratchBytes))
	path, ok := d.cString("/" + mountedName)
	if d.err != nil || d.scratch == 0 || !ok {
		return &Error{Reason: Crashed, Detail: "the PDF parser does not start"}
	}
	d.handle = d.call("FPDF_LoadDocument", path, 0)
	if d.err != nil {
		return d.failure()
	}
	if d.handle != 0 {
		return nil
	}
	// The codes of fpdfview.h: 3 is a bad format, 4 a wrong password, 5 an unknown kind of
	// encryption.
	switch d.call("FPDF_GetLastError") {
	case 4:
		return &Error{Reason: Encrypted, Detail: "the document needs a password"}
	case 5:
		return &Error{Reason: Encrypted, Detail: "the document is encrypted in a way that is not known here"}
	}
	return damaged("the file is not a PDF document that can be opened")
}

// close frees the instance with all its memory.
func (d *pdfDocument) close() {
	// The instance is thrown away whole, so an error of taking it apart changes nothing.
	_ = d.instance.Close()
}

// call calls a function of PDFium's C interface. Arguments and result are integers or addresses.
func (d *pdfDocument) call(name string, args ...uint64) uint64 {
	if d.err != nil {
		return 0
	}
	f := d.functions[name]
	if f == nil {
		if f = d.module.ExportedFunction(name); f == nil {
			d.err = fmt.Errorf("PDFium has no function %s", name)
			return 0
		}
		d.functions[name] = f
	}
	copy(d.stack[:], args)
	if err := f.CallWithStack(context.Background(), d.stack[:]); err != nil {
		d.err = fmt.Errorf("%s: %w", name, err)
		return 0
	}
	return d.stack[0]
}

// failure is the *Error for a call that trapped: PDFium ends itself that way when it gets no
// more memory, and on internal inconsistencies.
func (d *pdfDocument) failure() *Error {
	limit, _ := d.module.Memory().Definition().Max()
	if uint64(d.module.Memory().Size())*10 >= uint64(limit)*wasmPage*8 {
		return tooLarge("the document needs more memory than allowed")
	}
	return &Error{Reason: Crashed, Detail: "the PDF parser died on the document"}
}

func (d *pdfDocument) int(name string, args ...uint64) int {
	return int(int32(d.call(name, args...)))
}

func (d *pdfDocument) float64At(address uint32) float64 {
	v, _ := d.module.Memory().ReadFloat64Le(address)
	return v
}

func (d *pdfDocument) float32At(address uint32) float32 {
	v, _ := d.module.Memory().ReadFloat32Le(address)
	return v
}

// string16 calls a function that fills a buffer with UTF-16 and returns its length in bytes with
// the final zero, and returns the text.
func (d *pdfDocument) string16(name string, args ...uint64) string {
	n := d.int(name, append(args, uint64(d.scratch), scratchBytes)...)
	if n < 2 || n > scratchBytes {
		return ""
	}
	raw, _ := d.module.Memory().Read(d.scratch, uint32(n))
	units := make([]uint16, 0, n/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])|uint16(raw[i+1])<<8)
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}

// title is the title in the document's information dictionary.
func (d *pdfDocument) title() string {
	key, ok := d.cString("Title")
	if !ok {
		return ""
	}
	defer d.call("free", key)
	return sensibleTitle(d.string16("FPDF_GetMetaText", d.handle, key))
}

func (d *pdfDocument) cString(s string) (uint64, bool) {
	address := d.call("malloc", uint64(len(s)+1))
	return address, address != 0 && d.module.Memory().Write(uint32(address), append([]byte(s), 0))
}

// isFinite guards geometry, which hostile documents fill with anything.
func isFinite(vs ...float32) bool {
	for _, v := range vs {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || math.Abs(float64(v)) > 1e6 {
			return false
		}
	}
	return true
}
