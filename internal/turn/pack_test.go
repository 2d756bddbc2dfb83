package turn

import (
	"bytes"
	"compress/flate"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/llm"
)

func unpacked(t *testing.T, packed []byte) (all []chat.Numbered) {
	t.Helper()
	for n, err := range unpack(packed) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

func TestPacker_CompressesWhatIsLarge(t *testing.T) {
	for _, size := range []int{0, 1, compressOver / 2, compressOver, 10 * compressOver} {
		var p packer
		want := []chat.Numbered{
			{Seq: 1, Event: chat.StageStarted{Stage: chat.StageHistory}},
			{Seq: 1 + size, Event: chat.TextDelta{ID: "m", Text: strings.Repeat("é<", size/3)}},
			{Seq: 2 + size, Event: chat.TurnFinished{}},
		}
		for _, n := range want {
			p.add(n.Seq, n.Event, n.At)
		}
		packed, err := p.bytes()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, unpacked(t, packed)); diff != "" {
			t.Errorf("%d bytes of text (-want +got):\n%s", size, diff)
		}
		if len(packed) > compressOver {
			t.Errorf("%d bytes of text take %d bytes", size, len(packed))
		}
	}
}

// For a day after an update, the store has events that were packed by an older version.
func TestUnpack_ReadsWhatIsCompressedThoughItIsSmall(t *testing.T) {
	var p packer
	want := []chat.Numbered{{Seq: 1, Event: chat.TextDelta{ID: "m", Text: "few"}}, {Seq: 2, Event: chat.TurnFinished{}}}
	for _, n := range want {
		p.add(n.Seq, n.Event, n.At)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(p.lines); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, unpacked(t, packed.Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLog_PacksDeltasTogetherWhateverTheirProviderSays(t *testing.T) {
	l := newLog("t", Scope{})
	for i, text := range []string{"Grö", "ße", ", ", "ok"} {
		l.add(chat.TextDelta{ID: "m", Text: text, Vendor: &llm.Vendor{ID: strings.Repeat("v", i)}}, time.Time{})
	}
	l.add(chat.ReasoningDelta{ID: "m", Text: "hm"}, time.Time{})
	l.add(chat.TextDelta{ID: "n", Text: strings.Repeat("ü", maxDelta)}, time.Time{})
	packed, err := l.pack(&packer{}, chat.TurnFinished{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := []chat.Numbered{
		{Seq: 11, Event: chat.TextDelta{ID: "m", Text: "Größe, ok"}},
		{Seq: 13, Event: chat.ReasoningDelta{ID: "m", Text: "hm"}},
		{Seq: 13 + maxDelta, Event: chat.TextDelta{ID: "n", Text: strings.Repeat("ü", maxDelta/2)}},
		{Seq: 13 + 2*maxDelta, Event: chat.TextDelta{ID: "n", Text: strings.Repeat("ü", maxDelta/2)}},
		{Seq: 14 + 2*maxDelta, Event: chat.TurnFinished{}},
	}
	if diff := cmp.Diff(want, unpacked(t, packed)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if first, _, _ := l.Behind(0); first.Event == nil || first.Event.(chat.TextDelta).Text != "Grö" {
		t.Errorf("packing has changed the log: %v", first)
	}
}

func TestLog_KeepsALongTextOfShortDeltasWhole(t *testing.T) {
	l := newLog("t", Scope{})
	var said strings.Builder
	for i := range 1000 {
		text := strings.Repeat("ü", i%50) + "."
		said.WriteString(text)
		l.add(chat.TextDelta{ID: "m", Text: text}, time.Time{})
	}
	l.End(nil)
	want := said.String()
	if got := l.text("m"); got != want {
		t.Errorf("the text is %d bytes, want %d", len(got), len(want))
	}
	var followed strings.Builder
	for n, err := range l.Follow(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		followed.WriteString(n.Event.(chat.TextDelta).Text)
	}
	if followed.String() != want {
		t.Errorf("followed are %d bytes, want %d", followed.Len(), len(want))
	}
	packed, err := l.pack(&packer{}, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]chat.Numbered{{Seq: len(want), Event: chat.TextDelta{ID: "m", Text: want}}}, unpacked(t, packed)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
