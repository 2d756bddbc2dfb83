package ocr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/table"
)

// The names of exports in the build of Tesseract in tesseract.js-core 7.0.0. Emscripten has shortened them;
// tesseract-core-simd-lstm.js has the original names.
const (
	exportMemory   = "T"
	exportInit     = "U" // runs the constructors of C++
	exportMalloc   = "xf"
	exportFree     = "wf"
	exportThrew    = "Af" // setThrew: tells the caller of invoke_… that its callee has thrown
	exportRestore  = "Bf" // _emscripten_stack_restore
	exportStack    = "Cf" // emscripten_stack_get_current
	exportNew      = "Kc" // TessBaseAPI.TessBaseAPI
	exportVariable = "Tc" // TessBaseAPI.SetVariable
	exportOpen     = "ad" // TessBaseAPI.Init with a folder, languages and an engine
	exportImage    = "ld" // TessBaseAPI.SetImage with raw pixels
	exportDPI      = "nd" // TessBaseAPI.SetSourceResolution
	exportRead     = "Ed" // TessBaseAPI.Recognize
	exportTSV      = "Ld" // TessBaseAPI.GetTSVText
	exportClear    = "Rd" // TessBaseAPI.Clear
)

// errThrown is a C++ exception or longjmp on its way to the function that catches it.
var errThrown = errors.New("thrown")

// module is an instance of Tesseract, with the functions that Emscripten's JavaScript provides for it.
type module struct {
	api.Module
	functions map[string]api.Function
	table     map[uint32][]api.Function // idle functions of the module's table; one call of each at a time
	files     map[string][]byte         // the files that it may open
	open      []*openFile               // by descriptor
	ctx       context.Context           // of the current call
	full      bool                      // it was refused memory
}

type openFile struct {
	data []byte
	at   int64
}

// The error numbers of Emscripten's C library (WASI's).
const (
	wasiBadFile  = 8
	wasiInvalid  = 28
	wasiNotFound = 44
	wasiNoSystem = 52
)

// start instantiates compiled code with files that it may open.
func start(ctx context.Context, r wazero.Runtime, code wazero.CompiledModule, files map[string][]byte) (*module, error) {
	m := &module{functions: map[string]api.Function{}, table: map[uint32][]api.Function{}, files: files, ctx: ctx}
	m.open = make([]*openFile, 3) // standard input, output and error
	host := r.NewHostModuleBuilder("a")
	for name, f := range m.imports(code) {
		host.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, f.results).Export(name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		return nil, fmt.Errorf("start Tesseract: %w", err)
	}
	instance, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("start Tesseract: %w", err)
	}
	m.Module = instance
	_, err = m.call(ctx, exportInit)
	return m, err
}

// call calls an exported function.
func (m *module) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f := m.functions[name]
	if f == nil {
		if f = m.ExportedFunction(name); f == nil {
			return 0, fmt.Errorf("call Tesseract: it has no function %s", name)
		}
		m.functions[name] = f
	}
	m.ctx = ctx
	results, err := f.Call(ctx, args...)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil && m.full:
		return 0, ErrMemory
	case err != nil:
		return 0, fmt.Errorf("run Tesseract: %w", err)
	case len(results) == 0:
		return 0, nil
	}
	return results[0], nil
}

// cString puts a string into the module's memory. Freeing it is up to the caller.
func (m *module) cString(ctx context.Context, s string) (uint64, error) {
	return m.bytes(ctx, append([]byte(s), 0))
}

func (m *module) bytes(ctx context.Context, b []byte) (uint64, error) {
	at, err := m.call(ctx, exportMalloc, uint64(len(b)))
	if err != nil {
		return 0, err
	}
	if at == 0 || !m.Memory().Write(uint32(at), b) {
		return 0, ErrMemory
	}
	return at, nil
}

// ErrMemory says that a picture needs more memory than allowed.
var ErrMemory = errors.New("the recognition of its text needs more memory than allowed")

// imported is a function that the module calls.
type imported struct {
	call            api.GoModuleFunc
	params, results []api.ValueType
}

// imports returns the functions that the module calls, by their shortened names. Functions that reading a picture never
// calls return an error, or do nothing if they have no result.
func (m *module) imports(code wazero.CompiledModule) map[string]imported {
	calls := map[string]api.GoModuleFunc{
		"k": func(context.Context, api.Module, []uint64) { panic(errThrown) },                      // __cxa_throw
		"t": func(context.Context, api.Module, []uint64) { panic(errThrown) },                      // _emscripten_throw_longjmp
		"a": func(context.Context, api.Module, []uint64) { panic(errors.New("an assertion")) },     // __assert_fail
		"N": func(context.Context, api.Module, []uint64) { panic(errors.New("abort was called")) }, // abort
		"R": func(context.Context, api.Module, []uint64) { panic(errors.New("exit was called")) },  // exit
		"s": m.progress,                                                                            // emscripten_asm_const_int
		"u": m.grow,                                                                                // emscripten_resize_heap
		"n": m.openAt,                                                                              // openat
		"m": m.closeFile,                                                                           // fd_close
		"o": m.read,                                                                                // fd_read
		"E": m.seek,                                                                                // fd_seek
		"l": m.write,                                                                               // fd_write
		"M": m.clock,                                                                               // clock_time_get
		"L": func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = api.EncodeF64(0) }, // Date.now
		"F": func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 },                // environ_get
		"G": m.noEnvironment,                                                                       // environ_sizes_get
	}
	for _, invoke := range []string{"b", "c", "d", "e", "f", "g", "h", "i", "j", "q", "r"} { // invoke_…
		calls[invoke] = nil
	}
	out := map[string]imported{}
	for _, f := range code.ImportedFunctions() {
		_, name, _ := f.Import()
		i := imported{params: f.ParamTypes(), results: f.ResultTypes()}
		call, known := calls[name]
		switch {
		case call != nil:
			i.call = call
		case known:
			i.call = m.invoke(i.params[1:], i.results)
		case len(i.results) == 1:
			i.call = func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = refused() }
		default:
			i.call = func(context.Context, api.Module, []uint64) {}
		}
		out[name] = i
	}
	return out
}

// refused returns the result of system calls that do not exist here.
func refused() uint64 { return api.EncodeI32(-wasiNoSystem) }

// invoke calls a function of the module's table for a function that catches exceptions. If an exception ends the call, it
// restores the stack and tells the caller.
func (m *module) invoke(params, results []api.ValueType) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		index := uint32(stack[0])
		before, err := m.nested(ctx, exportStack)
		if err != nil {
			panic(err)
		}
		idle := m.table[index]
		var f api.Function
		if n := len(idle); n > 0 {
			f, m.table[index] = idle[n-1], idle[:n-1]
		} else {
			f = table.LookupFunction(m.Module, 0, index, params, results)
		}
		err = f.CallWithStack(ctx, stack[1:][:max(len(params), len(results))])
		if err == nil {
			if len(results) > 0 {
				stack[0] = stack[1]
			}
			m.table[index] = append(m.table[index], f)
			return
		}
		if !errors.Is(err, errThrown) {
			panic(err)
		}
		m.table[index] = append(m.table[index], f)
		if _, err := m.nested(ctx, exportRestore, before); err != nil {
			panic(err)
		}
		if _, err := m.nested(ctx, exportThrew, 1, 0); err != nil {
			panic(err)
		}
		if len(results) > 0 {
			stack[0] = 0
		}
	}
}

// nested calls a small exported function while another one is running.
func (m *module) nested(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f := m.functions[name]
	if f == nil {
		f = m.ExportedFunction(name)
		m.functions[name] = f
	}
	var stack [2]uint64
	copy(stack[:], args)
	err := f.CallWithStack(ctx, stack[:])
	return stack[0], err
}

// progress is called after every few words, and ends the work when its context has ended.
func (m *module) progress(_ context.Context, _ api.Module, stack []uint64) {
	if err := m.ctx.Err(); err != nil {
		panic(err)
	}
	stack[0] = 0
}

// grow makes the memory larger. It adds more than the module asks for, so that the module rarely asks.
func (m *module) grow(_ context.Context, mod api.Module, stack []uint64) {
	memory := mod.Memory()
	want, have := uint64(uint32(stack[0])), uint64(memory.Size())
	stack[0] = 0
	for _, size := range []uint64{want + min(want/8, 16<<20), want} {
		if pages := (size + wasmPage - 1) / wasmPage; size > have {
			if _, ok := memory.Grow(uint32(pages - have/wasmPage)); ok {
				stack[0] = 1
				return
			}
		}
	}
	m.full = true
}

func (m *module) openAt(_ context.Context, mod api.Module, stack []uint64) {
	data, ok := m.files[path.Base(cStringAt(mod.Memory(), uint32(stack[1])))]
	if !ok {
		stack[0] = api.EncodeI32(-wasiNotFound)
		return
	}
	m.open = append(m.open, &openFile{data: data})
	stack[0] = uint64(len(m.open) - 1)
}

func (m *module) file(descriptor uint64) *openFile {
	if i := uint64(uint32(descriptor)); i < uint64(len(m.open)) {
		return m.open[i]
	}
	return nil
}

func (m *module) closeFile(_ context.Context, _ api.Module, stack []uint64) {
	if f := m.file(stack[0]); f != nil {
		m.open[uint32(stack[0])] = nil
	}
	stack[0] = 0
}

// vectors calls do for each buffer of an array of them, until it returns false.
func vectors(memory api.Memory, at, n uint64, do func(address, size uint32) bool) {
	for i := range uint32(n) {
		address, ok := memory.ReadUint32Le(uint32(at) + 8*i)
		size, ok2 := memory.ReadUint32Le(uint32(at) + 8*i + 4)
		if !ok || !ok2 || !do(address, size) {
			return
		}
	}
}

func (m *module) read(_ context.Context, mod api.Module, stack []uint64) {
	f := m.file(stack[0])
	if f == nil {
		stack[0] = wasiBadFile
		return
	}
	total := uint32(0)
	vectors(mod.Memory(), stack[1], stack[2], func(address, size uint32) bool {
		part := f.data[min(f.at, int64(len(f.data))):]
		part = part[:min(len(part), int(size))]
		if !mod.Memory().Write(address, part) {
			return false
		}
		f.at += int64(len(part))
		total += uint32(len(part))
		return len(part) == int(size)
	})
	mod.Memory().WriteUint32Le(uint32(stack[3]), total)
	stack[0] = 0
}

func (m *module) seek(_ context.Context, mod api.Module, stack []uint64) {
	f := m.file(stack[0])
	if f == nil {
		stack[0] = wasiBadFile
		return
	}
	at := int64(stack[1])
	switch uint32(stack[2]) {
	case 1:
		at += f.at
	case 2:
		at += int64(len(f.data))
	}
	if at < 0 {
		stack[0] = wasiInvalid
		return
	}
	f.at = at
	mod.Memory().WriteUint64Le(uint32(stack[3]), uint64(at))
	stack[0] = 0
}

// write discards the output, which is messages for people at a terminal.
func (m *module) write(_ context.Context, mod api.Module, stack []uint64) {
	total := uint32(0)
	vectors(mod.Memory(), stack[1], stack[2], func(_, size uint32) bool {
		total += size
		return true
	})
	mod.Memory().WriteUint32Le(uint32(stack[3]), total)
	stack[0] = 0
}

func (m *module) clock(_ context.Context, mod api.Module, stack []uint64) {
	mod.Memory().WriteUint64Le(uint32(stack[2]), 0)
	stack[0] = 0
}

func (m *module) noEnvironment(_ context.Context, mod api.Module, stack []uint64) {
	mod.Memory().WriteUint32Le(uint32(stack[0]), 0)
	mod.Memory().WriteUint32Le(uint32(stack[1]), 0)
	stack[0] = 0
}

// cStringAt returns a string of the module's memory, up to the zero at its end; "" if there is none.
func cStringAt(memory api.Memory, at uint32) string {
	rest, _ := memory.Read(at, memory.Size()-min(at, memory.Size()))
	text, _, _ := bytes.Cut(rest, []byte{0})
	return string(text)
}
