package parquet_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// made reads a file that testdata/make.py made.
func made(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParquet_WritesValuesAsTheirTypesMeanThem(t *testing.T) {
	want := `TH Größe | ok | byte | big | u32 | u64 | half | single | price | whole | day | hour | local | utc | text | picture | none
TR Größe: 1.5; ok: true; byte: -128; big: -9223372036854775808; u32: 0; u64: 0; half: 0.5; single: 0.1; price: -0.05; whole: 7; day: 1890-01-01; hour: 09:05:00; local: 1970-01-01 00:00:00; utc: 1969-12-31 23:59:59.999999 UTC; text: two lines; x
TR y
TR Größe: -1e-09; ok: false; byte: 127; big: 9223372036854775807; u32: 4294967295; u64: 18446744073709551615; half: -65504; single: NaN; price: 12345.60; whole: -7; day: 2024-02-29; hour: 23:59:59.000999; local: 2023-11-14 22:13:20.123; utc: 2023-11-14 22:13:20.000001 UTC; text: Köln; picture: as text; z
`
	if got := extracttest.Outline(extracttest.Read(t, "a.parquet", made(t, "types"))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestParquet_NamesColumnsWithinColumnsAndJoinsLists(t *testing.T) {
	want := `TH tags | grid | at.x | at.in.y | items.name | items.n | map.key | map.value
TR tags: a, null, b; grid: 1, 2; at.x: 1; at.in.y: deep; items.name: n, m; items.n: 1, null; map.key: k, l; map.value: 1, 2
TR grid: 3
TR tags: c; at.x: 4; items.name: o; items.n: 3; map.key: m; map.value: null
`
	if got := extracttest.Outline(extracttest.Read(t, "a.parquet", made(t, "nested"))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestParquet_ReadsEveryCodecAndEncoding(t *testing.T) {
	var want strings.Builder
	want.WriteString("TH n | small | word | part | real | ok\n")
	for i := range 60 {
		var cells []string
		if i%7 != 3 {
			cells = append(cells, fmt.Sprintf("n: %d", i*i-500))
		}
		cells = append(cells, fmt.Sprintf("small: %d", i/9))
		if i%5 != 4 {
			cells = append(cells, fmt.Sprintf("word: word %02d", i/3))
		}
		fmt.Fprintf(&want, "TR %s; part: part-%03d; real: %v; ok: %t\n", strings.Join(cells, "; "), i, float64(i)/4, i%3 == 0)
	}
	for _, name := range []string{
		"none1", "none2", "snappy1", "snappy2", "gzip1", "gzip2", "brotli1", "brotli2", "zstd1", "zstd2", "lz41", "lz42", "encodings",
	} {
		if got := extracttest.Outline(extracttest.Read(t, "a.parquet", made(t, name))); got != want.String() {
			t.Errorf("%s: got\n%swant\n%s", name, got, want.String())
		}
	}
}

// value is a text as a page has it.
func value(s string) []byte { return append([]byte{byte(len(s)), 0, 0, 0}, s...) }

func TestParquet_RefusesWhatItCannotRead(t *testing.T) {
	page := extracttest.ParquetPage(0, 1, 0, 6, value("hi"))
	good := extracttest.Parquet(0, 0, 1, page)
	if got := extracttest.Outline(extracttest.Read(t, "a.parquet", good)); got != "TH a\nTR a: hi\n" {
		t.Fatal(got)
	}
	element := func(name string, children int) []byte { return extracttest.Thrift(4, name, 5, children) }
	schema := func(elements ...[]byte) []byte {
		return extracttest.ParquetFooter(nil, extracttest.Thrift(2, elements))
	}
	for name, c := range map[string]struct {
		data []byte
		want extract.Reason
	}{
		"the end is missing":                  {good[:len(good)-9], extract.Damaged},
		"only the signature":                  {[]byte("PAR1"), extract.Damaged},
		"a footer larger than the file":       {append(good[:len(good)-8:len(good)-8], "\xff\xff\xff\x7fPAR1"...), extract.Damaged},
		"an encrypted footer":                 {append(good[:len(good)-4:len(good)-4], "PARE"...), extract.Encrypted},
		"more rows than values":               {extracttest.Parquet(0, 0, 2, page), extract.Damaged},
		"a group in a group, and so on":       {schema(slices.Repeat([][]byte{element("g", 1)}, 5000)...), extract.Damaged},
		"more columns than there are":         {schema(element("g", 1<<40)), extract.Damaged},
		"too many columns":                    {schema(slices.Repeat([][]byte{element("g", 0)}, 20_000)...), extract.TooLarge},
		"long names within long names":        {schema(slices.Concat(slices.Repeat([][]byte{element(strings.Repeat("g", 9000), 1)}, 90), [][]byte{element("g", 5000)}, slices.Repeat([][]byte{extracttest.Thrift(1, 6, 4, "a")}, 5000))...), extract.TooLarge},
		"a codec that nobody uses":            {extracttest.Parquet(0, 3, 1, page), extract.Unsupported},
		"an unknown encoding":                 {extracttest.Parquet(0, 0, 1, extracttest.ParquetPage(0, 1, 77, 6, value("hi"))), extract.Unsupported},
		"a page of 2 GiB":                     {extracttest.Parquet(0, 1, 1, extracttest.ParquetPage(0, 1, 0, 1<<31, value("hi"))), extract.TooLarge},
		"an entry that the dictionary lacks":  {extracttest.Parquet(0, 0, 1, extracttest.ParquetPage(2, 1, 0, 6, value("hi")), extracttest.ParquetPage(0, 1, 8, 3, []byte{8, 2, 9})), extract.Damaged},
		"a dictionary of a billion":           {extracttest.Parquet(0, 0, 1, extracttest.ParquetPage(2, 1e9, 0, 6, value("hi"))), extract.Damaged},
		"two billion nulls":                   {extracttest.Parquet(1, 0, 2e9, extracttest.ParquetPage(0, 2e9, 0, 9, []byte("\x05\x00\x00\x00\x80\xd0\xac\xf3\x0e\x00"))), extract.TooLarge},
		"a value that takes up all before it": {extracttest.Parquet(0, 0, 2, extracttest.ParquetPage(0, 2, 7, 20, []byte("\x80\x01\x04\x02\x00\xc8\x01\x00\x00\x00\x00\x80\x01\x04\x02\x02\x00\x00\x00\x00\x00x"))), extract.Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			if refused := extracttest.WantReason(t, "a.parquet", c.data, extract.Limits{}, c.want); refused.Detail == "" || refused.Format != "Parquet" {
				t.Errorf("%q of %q", refused.Detail, refused.Format)
			}
		})
	}
	extracttest.WantReason(t, "a.parquet", made(t, "types"), extract.Limits{TextBytes: 100}, extract.TooLarge)
}

// A file that was cut or changed anywhere gives a table or a reason.
func TestParquet_TakesDamage(t *testing.T) {
	files, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(data); i += 7 {
			changed := bytes.Clone(data)
			changed[i] ^= byte(1 + i%255)
			extracttest.CheckAnyInput(t, "a.parquet", changed)
		}
	}
}

func TestParquet_EndsWhenItIsCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := made(t, "types")
	if _, err := extract.ReadFile(ctx, "a.parquet", bytes.NewReader(data), int64(len(data)), extract.Limits{}); err != context.Canceled { //nolint:errorlint // it is not wrapped
		t.Error(err)
	}
}

func FuzzParquet(f *testing.F) {
	files, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.parquet", data) })
}
