package pdf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"

	pdfiumapi "github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/text/unicode/norm"

	"parley/internal/attribute"
	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
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
	p, err := compilePDFium(cacheDir, memory)
	if err != nil && cacheDir != "" {
		// A folder that cannot be written to costs time, not documents.
		return compilePDFium("", memory)
	}
	return p, err
}

func compilePDFium(cacheDir string, memory int64) (*pdfium, error) {
	p := &pdfium{cache: wazero.NewCompilationCache(), mount: &pdfMount{}}
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, fmt.Errorf("open the folder for compiled code: %w", err)
		}
		p.cache = cache
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

// Close frees PDFium.
func (p *pdfium) Close() error {
	return errors.Join(p.pool.Close(), p.cache.Close(context.Background()))
}

// pdfDocument is an open document in an instance of PDFium of its own. After the first error,
// which err holds, every call returns zeros.
type pdfDocument struct {
	instance  pdfiumapi.Pdfium
	module    api.Module
	functions map[string]api.Function
	stack     [10]uint64 // arguments of a call, at most 10
	handle    uint64
	mended    bool   // its end was missing
	scratch   uint32 // scratchBytes of the module's memory for results
	err       error
}

const scratchBytes = 4096

// openPDF opens the document with the loaded PDFium. The caller closes it.
func openPDF(f *extract.File) (*pdfDocument, error) {
	p, ok := f.Parser.(*pdfium)
	if !ok {
		return nil, errors.New("PDFium is not loaded")
	}
	return p.open(f)
}

// open opens a document, or fails with an *Error.
func (p *pdfium) open(f *extract.File) (*pdfDocument, error) {
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
	err = d.load(f.Passwords)
	if refused, ok := errors.AsType[*extract.Error](err); ok && refused.Reason == extract.Damaged {
		if mended, found := mendPDF(f); found {
			p.mount.document, d.mended = mended, true
			err = d.load(nil)
		}
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// load opens the document with the first of the passwords that fits, if it needs one.
func (d *pdfDocument) load(passwords []string) error {
	d.scratch = uint32(d.call("malloc", scratchBytes))
	path, ok := d.cString("/" + mountedName)
	if d.err != nil || d.scratch == 0 || !ok {
		return &extract.Error{Reason: extract.Crashed, Detail: "the PDF parser does not start"}
	}
	const wrongPassword = 4 // of fpdfview.h, as are the codes below
	code := d.try(path, "")
	for _, password := range pdfPasswords(passwords) {
		if d.err != nil || d.handle != 0 || code != wrongPassword {
			break
		}
		code = d.try(path, password)
	}
	switch {
	case d.err != nil:
		return d.failure()
	case d.handle != 0:
		return nil
	case code == wrongPassword && len(passwords) > 0:
		return &extract.Error{Reason: extract.Encrypted, Detail: "none of the passwords given opens the document"}
	case code == wrongPassword:
		return &extract.Error{Reason: extract.Encrypted, Detail: "the document needs a password"}
	case code == 5:
		return &extract.Error{Reason: extract.Encrypted, Detail: "the document is encrypted with a method that Parley does not support"}
	}
	return extract.Damagedf("the file is not a PDF document that can be opened")
}

// try opens the document with a password, and returns PDFium's error code.
func (d *pdfDocument) try(path uint64, password string) int {
	secret := uint64(0)
	if password != "" {
		address, ok := d.cString(password)
		if !ok {
			return 0
		}
		defer d.call("free", address)
		secret = address
	}
	if d.handle = d.call("FPDF_LoadDocument", path, secret); d.handle != 0 {
		return 0
	}
	return d.int("FPDF_GetLastError")
}

// pdfPasswords adds to passwords the form that ISO 32000-2 requires (section 7.6.4.3.3), that of SASLprep (RFC 4013):
// without invisible characters, with plain spaces, and in NFKC. PDFium tries each in UTF-8 and in Latin-1.
func pdfPasswords(passwords []string) []string {
	var all []string
	for _, p := range passwords {
		all = append(all, p)
		if prepared := saslPrep(p); prepared != p {
			all = append(all, prepared)
		}
	}
	return all
}

func saslPrep(s string) string {
	return norm.NFKC.String(strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Zs, r):
			return ' '
		case r == 0xad, r == 0x34f, r == 0x1806, r >= 0x180b && r <= 0x180d, r >= 0x200b && r <= 0x200d, r == 0x2060,
			r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff:
			return -1
		}
		return r
	}, s))
}

// close frees the instance with all its memory.
func (d *pdfDocument) close() {
	// The whole instance is discarded, so an error while closing it does not matter.
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

// failure returns the *extract.Error for a call that trapped. PDFium traps if it gets no more memory, and on internal
// inconsistencies.
func (d *pdfDocument) failure() *extract.Error {
	limit, _ := d.module.Memory().Definition().Max()
	if uint64(d.module.Memory().Size())*10 >= uint64(limit)*wasmPage*8 {
		return extract.TooLargef("the document needs more memory than allowed")
	}
	return &extract.Error{Reason: extract.Crashed, Detail: "the PDF parser died on the document"}
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
	return strings.TrimRight(codepage.UTF16(raw), "\x00")
}

// info returns an entry of the document's information dictionary (ISO 32000-2, section 14.3.3).
func (d *pdfDocument) info(name string) string {
	key, ok := d.cString(name)
	if !ok {
		return ""
	}
	defer d.call("free", key)
	return d.string16("FPDF_GetMetaText", d.handle, key)
}

// describe sets the title and the attributes that the document gives.
func (d *pdfDocument) describe(doc *extract.Document) {
	doc.Title = compose.SensibleTitle(d.info("Title"))
	values := attribute.Values{}
	for entry, name := range map[string]string{"Author": "author", "Subject": "subject"} {
		values.Add(name, compose.OneLine(compose.Clean(d.info(entry))))
	}
	values.AddAll("keywords", compose.OneLine(compose.Clean(d.info("Keywords"))))
	values.Add("created", pdfDate(d.info("CreationDate")))
	values.Add("modified", pdfDate(d.info("ModDate")))
	doc.Meta.Attributes = values.Encode()
}

var pdfDatePattern = lazyregexp.New(`^D:(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?)?)?(?:Z|([+-]\d\d)'?(\d\d)?)?`)

// pdfDate returns a date such as D:20260301120000+01'00' (section 7.9.4) as RFC 3339, or only the day; "" if it is not a date.
func pdfDate(s string) string {
	m := pdfDatePattern.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	text := fmt.Sprintf("%s-%s-%s", m[1], cmp.Or(m[2], "01"), cmp.Or(m[3], "01"))
	if m[4] != "" {
		zone := "Z"
		if m[7] != "" {
			zone = m[7] + ":" + cmp.Or(m[8], "00")
		}
		text += fmt.Sprintf("T%s:%s:%s%s", m[4], m[5], cmp.Or(m[6], "00"), zone)
	}
	if _, ok := attribute.Moment(text); !ok {
		return ""
	}
	return text
}

func (d *pdfDocument) cString(s string) (uint64, bool) {
	address := d.call("malloc", uint64(len(s)+1))
	return address, address != 0 && d.module.Memory().Write(uint32(address), append([]byte(s), 0))
}

// isFinite reports whether all values are finite. Hostile documents contain any geometry.
func isFinite(vs ...float32) bool {
	for _, v := range vs {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || math.Abs(float64(v)) > 1e6 {
			return false
		}
	}
	return true
}
