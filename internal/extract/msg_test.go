package extract

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// msgProperties is the stream of properties of fixed size, behind a header of some bytes.
func msgProperties(header int, values map[uint16]uint64) node {
	data := slices.Repeat([]byte{0}, header)
	for tag, v := range values {
		entry := make([]byte, 16)
		binary.LittleEndian.PutUint16(entry[2:], tag)
		binary.LittleEndian.PutUint64(entry[8:], v)
		data = slices.Concat(data, entry)
	}
	return node{name: "__properties_version1.0", data: data}
}

func msgText(tag, text string) node {
	return node{name: "__substg1.0_" + tag + "001F", data: utf16le(text)}
}

// makeMSG makes a message with a subject.
func makeMSG(subject string, nodes ...node) []byte {
	sent := uint64(time.Date(2024, 3, 5, 14, 30, 0, 0, time.UTC).Unix()+11644473600) * 1e7
	return makeCFB(append(nodes, msgText("0037", subject), msgProperties(32, map[uint16]uint64{msgSubmitted: sent, msgCodePage: 1252}))...)
}

func TestMSG_ReadsTheMessageAndTakesAttachmentsOut(t *testing.T) {
	inner := node{name: "__substg1.0_3701000D", children: []node{
		msgText("0037", "Inner"), msgText("1000", "Inner body, on one line."), msgText("0C1A", "Bob"), msgProperties(24, nil),
		{name: "__attach_version1.0_#00000000", children: []node{
			msgText("3707", "deep.txt"), {name: "__substg1.0_37010102", data: []byte("Deep.")}, msgProperties(8, nil),
		}},
	}}
	data := makeMSG("A subject",
		msgText("0C1A", "Ann"), msgText("5D01", "ann@example.org"), msgText("0E04", "Bob"), node{name: "__substg1.0_1000001E", data: []byte("Caf\xe9 at noon.\r\n\r\nAnn")},
		node{name: "__attach_version1.0_#00000000", children: []node{
			msgText("3707", "re/port.txt"), {name: "__substg1.0_37010102", data: []byte(strings.Repeat("Report. ", 1000))}, msgProperties(8, nil),
		}},
		node{name: "__attach_version1.0_#00000001", children: []node{inner, msgProperties(8, nil)}},
		node{name: "__attach_version1.0_#00000002", children: []node{
			msgText("3707", "logo.png"), msgText("3712", "cid:logo"), {name: "__substg1.0_37010102", data: []byte("pixels")}, msgProperties(8, nil),
		}})
	in := input("a.msg", data)
	in.Spool = t.TempDir()
	doc, err := (&Extractor{}).File(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := "P From: Ann <ann@example.org>⏎To: Bob⏎Date: Tuesday, 2024-03-05 14:30 +0000⏎Subject: A subject\n" +
		"P Café at noon.\nP Ann\nP Attachments: re_port.txt, Inner.eml\n"
	if diff := cmp.Diff(want, outline(doc)); diff != "" {
		t.Error(diff)
	}
	mail, err := os.ReadFile(filepath.Join(in.Spool, PartName(1)))
	if err != nil {
		t.Fatal(err)
	}
	in = input("Inner.eml", mail)
	in.Spool = t.TempDir()
	if doc, err = (&Extractor{}).File(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want = "P From: Bob⏎Subject: Inner\nP Inner body, on one line.\nP Attachments: deep.txt\n"
	if diff := cmp.Diff(want, outline(doc)); diff != "" {
		t.Error(diff)
	}
	if data, err := os.ReadFile(filepath.Join(in.Spool, PartName(0))); err != nil || string(data) != "Deep." {
		t.Errorf("%q, %v", data, err)
	}
}

func TestMSG_ReadsABodyThatIsCompressedRTF(t *testing.T) {
	// "{\rtf1\ansi\mac" is a reference into the dictionary, as is what follows; then come letters.
	payload := []byte{0b00000001, 0x00, 0x0d}
	text := ` Hello {\b bold}}`
	for i := 0; i < len(text); i += 8 {
		part := text[i:min(len(text), i+8)]
		if i == 0 {
			part = text[:7]
			i = -1
		} else {
			payload = append(payload, 0)
		}
		payload = append(payload, part...)
	}
	head := make([]byte, 16)
	binary.LittleEndian.PutUint32(head[4:], uint32(15+len(text)))
	copy(head[8:], "LZFu")
	rtf := slices.Concat(head, payload)
	if got, want := string(decompressRTF(rtf, 1000)), `{\rtf1\ansi\mac`+text; got != want {
		t.Fatalf("decompressed %q, want %q", got, want)
	}
	doc := read(t, "a.msg", makeMSG("S", node{name: "__substg1.0_10090102", data: rtf}))
	if got := outline(doc); !strings.Contains(got, "P Hello bold\n") {
		t.Errorf("got %q", got)
	}
}

func TestMSG_RefusesWithAReason(t *testing.T) {
	whole := makeMSG("S", msgText("1000", "body"))
	wantReason(t, "a.msg", whole[:512], Limits{}, Damaged)
	wantReason(t, "a.msg", []byte("hello"), Limits{}, Damaged)
	wantReason(t, "a.docx", makeCFB(node{name: "EncryptedPackage", data: []byte("x")}), Limits{}, Encrypted)
	wantReason(t, "a.doc", makeCFB(node{name: "WordDocument", data: []byte("x")}), Limits{}, Unsupported)
}
