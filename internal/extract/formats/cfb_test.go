package formats

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/cfb"
	"parley/internal/extract/extracttest"
)

func TestCompound_ReadsStreamsOfAnySize(t *testing.T) {
	want := map[string]string{}
	for _, size := range []int{0, 1, 63, 64, 65, 4095, 4096, 20_000} {
		want[fmt.Sprintf("s%d", size)] = extracttest.Pattern(size)
	}
	for _, name := range []string{"poi-streams.cfb", "pyaaf2-streams.cfb"} {
		root := openedCompound(t, extracttest.CompoundFile(t, name)).Root()
		got := map[string]string{}
		for _, e := range root.List() {
			if !e.IsStorage() {
				got[e.Name] = string(e.Bytes(1 << 20))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if inner := root.Named("inner"); inner == nil || string(inner.Named("ä").Bytes(9)) != "x" {
			t.Errorf("%s: the inner storage is not read", name)
		}
	}
}

// The table of sectors of this file is too large for its first sector to list.
func TestCompound_ReadsALargeFile(t *testing.T) {
	root := openedCompound(t, extracttest.CompoundFile(t, "poi-large.cfb.gz")).Root()
	if zeros := root.Named("zeros").Bytes(1 << 24); len(zeros) != 8<<20 || bytes.Trim(zeros, "\x00") != nil {
		t.Errorf("%d bytes of 8 MiB of zeros", len(zeros))
	}
	if got := string(root.Named("last").Bytes(1 << 20)); got != extracttest.Pattern(5000) {
		t.Errorf("the last stream has %d bytes, or others", len(got))
	}
}

func openedCompound(t *testing.T, data []byte) *cfb.File {
	t.Helper()
	c, err := cfb.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Some programs write the names of streams in capitals, which names the same ones.
func TestCompound_KnowsStreamsByAnyCase(t *testing.T) {
	data := extracttest.CompoundFile(t, "libreoffice.doc")
	name := extracttest.UTF16LE("WordDocument")
	if bytes.Count(data, name) != 1 {
		t.Fatal("the name does not occur once")
	}
	capitals := bytes.Replace(data, name, extracttest.UTF16LE("WORDDOCUMENT"), 1)
	if doc := extracttest.Read(t, "a", capitals); doc.Format != "Word 97–2003" {
		t.Errorf("read as %q", doc.Format)
	}
}

// FuzzCompound holds that a broken compound file neither panics nor goes on for ever.
func FuzzCompound(f *testing.F) {
	for _, name := range []string{"oxmsg-message.msg", "oxmsg-draft.msg", "poi-message.msg", "poi-names-932.msg", "poi-locked.docx", "libreoffice.xls"} {
		f.Add(extracttest.CompoundFile(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) { extracttest.CheckAnyInput(t, "a.msg", data) })
}
