package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// makeTAR makes a tar archive of files, by name and content in turn.
func makeTAR(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		h := tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644, Typeflag: tar.TypeReg}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchives_TakeTheirFilesOut(t *testing.T) {
	files := []string{"a.txt", "Alpha", "dir/b.md", "Beta", "dir/", "", "__MACOSX/._a.txt", "x", ".DS_Store", "x", "a.txt", "Another"}
	want := "a.txt = Alpha\ndir/b.md = Beta\na-2.txt = Another\n"
	archives := map[string][]byte{
		"a.zip": extracttest.MakeZIP(t, files...), "a.tar": makeTAR(t, files...),
		"a.tar.gz": extracttest.Gzipped(t, "", makeTAR(t, files...)), "a.tgz": extracttest.Gzipped(t, "a.tar", makeTAR(t, files...)),
		"noextension": extracttest.MakeZIP(t, files...), "wrong.pdf": makeTAR(t, files...),
	}
	for name, data := range archives {
		doc, got := extracttest.ReadParts(t, name, data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(doc.Pages) != 0 {
			t.Errorf("%s has pages", name)
		}
	}
	for name, want := range map[string]string{"notes.txt.gz": "notes.txt = hello\n", "a": "true name.txt = hello\n"} {
		if _, got := extracttest.ReadParts(t, name, extracttest.Gzipped(t, "dir/true name.txt", []byte("hello"))); got != want {
			t.Errorf("%s gives %q, want %q", name, got, want)
		}
	}
	const bzip2 = "425a68393141592653591931653d00000081000244a000219a68334d07338bb9229c28480c98b29e80"
	data, err := hex.DecodeString(bzip2)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := extracttest.TryRead(t, "a.txt.bz2", data, extract.Limits{}); err != nil || len(doc.Parts) != 1 || doc.Parts[0].Name != "a.txt" {
		t.Errorf("bzip2: %+v, %v", doc, err)
	}
}

func TestArchives_RefuseNamesThatLeadOut(t *testing.T) {
	bad := []string{"../x", "a/../../x", "/etc/passwd", `..\x`, `C:\x`, "c:x", `\\host\x`, "a\x00b", "a\nb", "..", strings.Repeat("n", 2000)}
	for _, name := range bad {
		if _, got := extracttest.ReadParts(t, "a.zip", extracttest.MakeZIP(t, name, "x", "good.txt", "y")); !strings.Contains(got, " refused: unsafe-name\ngood.txt = y\n") {
			t.Errorf("%q: %q", name, got)
		}
	}
	for name, want := range map[string]string{"./a//b.txt": "a/b.txt", `a\b.txt`: "a/b.txt", "a/./b": "a/b", "..a/b..": "..a/b.."} {
		if got, ok := extract.CleanName(name); got != want || !ok {
			t.Errorf("partName(%q) = %q, %v; want %q", name, got, ok, want)
		}
	}
}

func TestArchives_LeaveOutLinksAndDevices(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, kind := range map[string]byte{"link": tar.TypeSymlink, "hard": tar.TypeLink, "pipe": tar.TypeFifo, "dev": tar.TypeBlock} {
		if err := w.WriteHeader(&tar.Header{Name: name, Linkname: "/etc/passwd", Typeflag: kind}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	extracttest.WantReason(t, "a.tar", b.Bytes(), extract.Limits{}, extract.Empty)
}

func TestArchives_KeepWithinTheirLimits(t *testing.T) {
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("%d.txt", i), strings.Repeat("x", 100))
	}
	for name, data := range map[string][]byte{"a.zip": extracttest.MakeZIP(t, many...), "a.tar": makeTAR(t, many...), "a.tar.gz": extracttest.Gzipped(t, "", makeTAR(t, many...))} {
		extracttest.WantReason(t, name, data, extract.Limits{Parts: 19}, extract.TooLarge)
		extracttest.WantReason(t, name, data, extract.Limits{PartsBytes: 1999}, extract.TooLarge)
		if doc, err := extracttest.TryRead(t, name, data, extract.Limits{Parts: 20, PartsBytes: 2000}); err != nil || len(doc.Parts) != 20 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One file that is too large does not take the others with it.
	x := extract.Extractor{Limits: extract.Limits{FileBytes: 2000}}
	doc, err := x.File(t.Context(), extracttest.Input("a.zip", extracttest.MakeZIP(t, "big.txt", strings.Repeat("y", 2001), "small.txt", "z")))
	if err != nil || len(doc.Parts) != 2 || doc.Parts[0].Refused == nil || doc.Parts[0].Refused.Reason != extract.TooLarge || doc.Parts[1].Refused != nil {
		t.Errorf("%+v, %v", doc, err)
	}
	extracttest.WantReason(t, "a.zip", extracttest.MakeZIP(t), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.zip", extracttest.MakeZIP(t, "a", "b")[:40], extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.gz", extracttest.Gzipped(t, "", []byte("hello"))[:5], extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.tar", []byte("hello"), extract.Limits{}, extract.Damaged)
}

func TestArchives_FindTheEncodingOfNames(t *testing.T) {
	for raw, want := range map[string]string{
		"\x95\xb6\x8f\xcd1.txt":        "文章1.txt",
		"caf\x82.txt":                  "café.txt",
		"\x8f\xe0\xa8\xa2\xa5\xe2.txt": "Привет.txt",
		"utf8-\xc3\xa9.txt":            "utf8-é.txt",
		"\xc9\xf3\xbc\xc6\xd0\xe8\xc7\xf3\xce\xc4\xb5\xb5\xc4\xea\xd7\xd4\xb6\xaf.txt": "审计需求文档年自动.txt",
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.CreateHeader(&zip.FileHeader{Name: raw, NonUTF8: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		z.Close()
		if _, got := extracttest.ReadParts(t, "a.zip", b.Bytes()); got != want+" = x\n" {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

func TestZIP_OpensEncryptedFilesWithAPassword(t *testing.T) {
	data := extracttest.LockedFile(t, "7zip-two.zip") // a.txt in PKWARE's cipher, b.txt in AES
	if _, got := extracttest.ReadParts(t, "a.zip", data); got != "a.txt refused: encrypted\nb.txt refused: encrypted\n" {
		t.Errorf("without: %q", got)
	}
	if _, got := extracttest.ReadParts(t, "a.zip", data, "wrong"); got != "a.txt refused: encrypted\nb.txt refused: encrypted\n" {
		t.Errorf("with a wrong one: %q", got)
	}
	if _, got := extracttest.ReadParts(t, "a.zip", data, "wrong", "sesame"); got != "a.txt = The secret is out.\nb.txt = The secret is out.\n" {
		t.Errorf("with the right one: %q", got)
	}
	data[bytes.Index(data, []byte("b.txt"))+len("b.txt")+11+20] ^= 1
	if _, got := extracttest.ReadParts(t, "a.zip", data, "sesame"); got != "a.txt = The secret is out.\nb.txt refused: damaged\n" {
		t.Errorf("changed: %q", got)
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(extracttest.MakeZIP(f, "a/b.txt", "x", "../c", "y"))
	f.Add(makeTAR(f, "a/b.txt", "x"))
	f.Add(extracttest.Gzipped(f, "a", []byte("x")))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.zip", data) })
}

// The decompressors of some libraries allocate what the head asks for.
func TestArchives_RefuseDictionariesThatDoNotFit(t *testing.T) {
	data := extracttest.LockedFile(t, "gnu.tar.xz")
	at := bytes.Index(data, []byte{0x21, 1})
	data[at+2] = 40 // 4 GiB
	extracttest.WantReason(t, "a.xz", data, extract.Limits{}, extract.TooLarge)
}

func FuzzPackedArchive(f *testing.F) {
	for _, name := range []string{"7zip-LZMA.7z", "7zip-BZip2.7z", "7zip-Deflate.7z", "7zip.7z", "gnu.tar.xz", "gnu.tar.zst"} {
		f.Add(extracttest.LockedFile(f, name))
	}
	f.Add([]byte("Rar!\x1a\x07\x01\x00"))
	f.Add([]byte("Rar!\x1a\x07\x00\xcf\x90s\x00\x00\r\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.7z", data) })
}
