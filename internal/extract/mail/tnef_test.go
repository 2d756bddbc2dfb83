package mail

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// The reader was tried on the examples of tnefparse 1.4, which people's mail programs made. Their terms keep them out of
// here.
func TestTNEF_ReadsTheMessageAndItsFiles(t *testing.T) {
	inner := extracttest.TNEF(extracttest.TNEFAttribute{Level: 1, ID: tnefSubject, Data: "Inner\x00"})
	data := extracttest.TNEF(
		extracttest.TNEFAttribute{Level: 1, ID: tnefCodePage, Data: "\xe3\x04\x00\x00\x00\x00\x00\x00"}, // 1251
		extracttest.TNEFAttribute{Level: 1, ID: tnefSubject, Data: "\xce\xf2\xf7\xb8\xf2\x00"},
		extracttest.TNEFAttribute{Level: 1, ID: tnefMessage, Data: "\x03\x00\x00\x00" +
			"\x0b\x00\x00\x80" + "0123456789abcdef" + "\x01\x00\x00\x00\x06\x00\x00\x00" + "n\x00a\x00m\x00\x00\x00" + "\x01\x00\x00\x00" + // one with a name
			extracttest.TNEFProperty(msgUnicode, msgSenderName, string(extracttest.UTF16LE("Ann"))) +
			extracttest.TNEFProperty(msgUnicode, msgBody, string(extracttest.UTF16LE("The body.")))},
		extracttest.TNEFAttribute{Level: 2, ID: tnefRendering, Data: "\x01\x00"},
		extracttest.TNEFAttribute{Level: 2, ID: tnefData, Data: "content"},
		extracttest.TNEFAttribute{Level: 2, ID: tnefTitle, Data: "SHORT~1.TXT\x00"},
		extracttest.TNEFAttribute{Level: 2, ID: tnefAttachment, Data: "\x01\x00\x00\x00" + extracttest.TNEFProperty(msgANSI, msgAttachLong, "a long name.txt\x00")},
		extracttest.TNEFAttribute{Level: 2, ID: tnefRendering, Data: "\x01\x00"},
		extracttest.TNEFAttribute{Level: 2, ID: tnefAttachment, Data: "\x01\x00\x00\x00" + extracttest.TNEFProperty(msgObject, msgAttachData, "0123456789abcdef"+string(inner))},
	)
	in := extracttest.Input("winmail.dat", data)
	in.Spool = t.TempDir()
	doc, err := (&extract.Extractor{}).File(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := "P From: Ann⏎Subject: Отчёт\nP The body.\nP Attachments: a long name.txt, message.tnef\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Отчёт" || doc.Parts[0].Size != 7 || doc.Parts[1].Size != int64(len(inner)) {
		t.Errorf("title %q, parts %+v", doc.Title, doc.Parts)
	}

	// Of a file that breaks off, what came before is read.
	cut := extracttest.Read(t, "winmail.dat", data[:len(data)-len(inner)])
	if got := extracttest.Outline(cut); got != "P From: Ann⏎Subject: Отчёт\nP The body.\nP Attachments: a long name.txt\n" || len(cut.Notes) != 1 {
		t.Errorf("cut off: %q, %q", got, cut.Notes)
	}
	extracttest.WantReason(t, "winmail.dat", data[:20], extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "winmail.dat", data[:6], extract.Limits{}, extract.Empty)
}

func FuzzTNEF(f *testing.F) {
	f.Add(extracttest.TNEF(
		extracttest.TNEFAttribute{Level: 1, ID: tnefMessage, Data: "\x02\x00\x00\x00" + extracttest.TNEFProperty(msgANSI, msgBody, "x") + extracttest.TNEFProperty(0x1003, 0x4000, "abcd")},
		extracttest.TNEFAttribute{Level: 2, ID: tnefRendering},
		extracttest.TNEFAttribute{Level: 2, ID: tnefData, Data: "content"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		extracttest.CheckAnyInput(t, "a.tnef", append([]byte(tnefSignature+"\x01\x00"), data...))
	})
}
