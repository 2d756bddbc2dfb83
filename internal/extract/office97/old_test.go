package office97

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestOffice97_SaysWhatToDoWithOlderFiles(t *testing.T) {
	word := make([]byte, 1000)
	binary.LittleEndian.PutUint16(word, fibMagic95)
	binary.LittleEndian.PutUint16(word[2:], 101)
	for name, data := range map[string][]byte{
		"a.doc": extracttest.Compound("WordDocument", word),
		"a.xls": append([]byte{9, 4, 6, 0, 0, 0, 16, 0, 0, 0}, make([]byte, 100)...),
	} {
		if e := extracttest.WantReason(t, name, data, extract.Limits{}, extract.Unsupported); !strings.Contains(e.Detail, "save it as") {
			t.Errorf("%s: %s", name, e.Detail)
		}
	}
}

func TestDOC_ReadsHeadersWhereThereIsNothingElse(t *testing.T) {
	f, all := streamsOf(t, "plan.doc", extracttest.LibreOffice(t, "plan.doc"), "WordDocument", "1Table")
	main := all[0]
	whole, err := readWord(t.Context(), f, bytes.Clone(main), all[1])
	if err != nil {
		t.Fatal(err)
	}
	// What was the text is said to be the header.
	copy(main[fibLengths+4*docHeaders:], main[fibLengths:fibLengths+4])
	binary.LittleEndian.PutUint32(main[fibLengths:], 0)
	for part := 1; part <= docBoxes; part++ {
		if part != docHeaders {
			binary.LittleEndian.PutUint32(main[fibLengths+4*part:], 0)
		}
	}
	header, err := readWord(t.Context(), f, main, all[1])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := extracttest.Outline(header), extracttest.Outline(whole); len(got) < 100 || !strings.HasPrefix(want, got) {
		t.Errorf("got %q of %q", got, want)
	}
}
