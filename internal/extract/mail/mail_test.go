package mail

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }

func TestMail_ReadsHeadAndBody(t *testing.T) {
	for name, c := range map[string]struct{ mail, want string }{
		"plain": {
			"From: Ann <ann@example.org>\nTo: Bob\nSubject: =?utf-8?B?R3LDvMOfZQ==?= and\n =?iso-8859-1?Q?_caf=E9?=\nDate: Tue, 5 Mar 2024 14:30:00 +0100\nX-Mailer: x\n\nHello,\n\nthere.\n",
			"P From: Ann <ann@example.org>⏎To: Bob⏎Date: Tuesday, 2024-03-05 14:30 +0100⏎Subject: Grüße and café\nP Hello,\nP there.\n",
		},
		"encodings": {
			"From: a\nContent-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("\xf0\xd2\xc9\xd7\xc5\xd4, \xed\xc9\xd2!")) + "\n",
			"P From: a\nP Привет, Мир!\n",
		},
		"quoted printable": {
			"From: a\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nCaf=C3=A9 is =\nopen.\n",
			"P From: a\nP Café is open.\n",
		},
		"alternatives": {
			"From: a\nContent-Type: multipart/alternative; boundary=b\n\n--b\n\nThe plain text.\n--b\nContent-Type: text/html\n\n<p>The <b>web</b> page.\n--b--\n",
			"P From: a\nP The plain text.\n",
		},
		"a page with an excuse for a text": {
			"From: a\nContent-Type: multipart/alternative; boundary=b\n\n--b\n\nSee the page.\n--b\nContent-Type: text/html\n\n<h1>News</h1><table><tr><th>A<th>B<th>C<tr><td>1<td>2<td>3</table><p>And many words more than before.\n--b--\n",
			"P From: a\nH1 News\nTH A | B | C\nTR A: 1; B: 2; C: 3\nP And many words more than before.\n",
		},
		"cut off": {
			"From: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nThe text.\n--b\nContent-Type: text/html\n",
			"P From: a\nP The text.\n",
		},
		"a broken head": {
			"From: a\nthis is no field\n: neither\nContent-Type: text/plain; charset=\"\n\nBody.\n",
			"P From: a\nP Body.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, "a.eml", crlf(c.mail)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// People are found by their names and by their addresses.
func TestMail_KnowsWhoWroteToWhomAndWhen(t *testing.T) {
	doc := extracttest.Read(t, "a.eml", crlf("From: \"Doe, Ann\" <ann@example.org>\nTo: Bob, =?utf-8?Q?J=C3=B6rg?= <j@example.org>\nDate: Tue, 5 Mar 2024 14:30:00 +0100\n\nHello.\n"))
	want := `{"date":"2024-03-05T14:30:00+01:00","from":["Doe, Ann","ann@example.org"],"to":["Bob","Jörg \u003cj@example.org\u003e"]}`
	if got := string(doc.Meta.Attributes); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMail_TakesAttachmentsOut(t *testing.T) {
	mail := `From: a
Subject: Report
Content-Type: multipart/mixed; boundary="out"

--out
Content-Type: multipart/related; boundary=in

--in
Content-Type: text/html

<p>See the report.<img src="cid:x">
--in
Content-Type: image/png; name=logo.png
Content-ID: <x>

pixels
--in--
--out
Content-Type: text/plain; name="=?utf-8?Q?caf=C3=A9.txt?="
Content-Disposition: attachment
Content-Transfer-Encoding: base64

SGVsbG8g
dGhlcmU=
--out
Content-Type: text/plain
Content-Disposition: attachment; filename="../../etc/passwd"

root
--out
Content-Type: message/rfc822

Subject: Old: news/1

Forwarded.
--out
Content-Type: text/csv

a,b
--out
Content-Type: application/pdf
Content-Disposition: attachment

%PDF
--out--
`
	doc, got := extracttest.ReadParts(t, "a.eml", crlf(mail))
	want := "café.txt = Hello there\n_.._etc_passwd = root\nOld: news_1.eml = Subject: Old: news/1\r\n\r\nForwarded.\nattachment-4.pdf = %PDF\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := extracttest.Outline(doc), "P From: a⏎Subject: Report\nP a,b\nP Attachments: café.txt, _.._etc_passwd, Old: news_1.eml, attachment-4.pdf\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if doc.Title != "Report" {
		t.Errorf("title %q", doc.Title)
	}
}

func TestMail_SaysThatAMessageIsEncrypted(t *testing.T) {
	for _, mail := range []string{
		"From: a\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nMIAG\n",
		"From: a\nContent-Type: multipart/encrypted; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream; name=x.asc\n\n-----BEGIN\n--b--\n",
	} {
		extracttest.WantReason(t, "a.eml", crlf(mail), extract.Limits{}, extract.Encrypted)
	}
}

func TestMailbox_MakesADocumentOfEachMessage(t *testing.T) {
	box := "From ann Tue Mar  5 14:30:00 2024\nSubject: One\n\nFirst.\n\n>From here on.\nFrom this line on too.\n\nFrom bob Tue Mar  5 14:31:00 2024\nSubject: Two\n\nSecond.\n"
	_, got := extracttest.ReadParts(t, "a.mbox", []byte(box))
	want := "message-0001.eml = Subject: One\n\nFirst.\n\nFrom here on.\nFrom this line on too.\n\n\nmessage-0002.eml = Subject: Two\n\nSecond.\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if doc := extracttest.Read(t, "inbox", []byte(box)); doc.Format != "mailbox" {
		t.Errorf("format %q", doc.Format)
	}
	long := "From a\nSubject: x\n\n" + strings.Repeat("y", 200_000) + "\n\nFrom b\n\nlast\n"
	if doc, _ := extracttest.ReadParts(t, "a.mbox", []byte(long)); len(doc.Parts) != 2 || doc.Parts[0].Size != 200_014 {
		t.Errorf("parts %+v", doc.Parts)
	}
}

func TestMail_IsKnownUnderOtherNames(t *testing.T) {
	mail := "Received: x\nFrom: a\nDate: x\nSubject: b\n\nBody\n"
	for name, want := range map[string]string{"a.txt": "e-mail", "a": "e-mail", "a.md": "Markdown"} {
		if got := extracttest.Read(t, name, []byte(mail)).Format; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := extracttest.Read(t, "a.txt", []byte("To: the team\nSubject: lunch\n\nAt noon.\n")).Format; got != "plain text" {
		t.Errorf("a note is %s", got)
	}
}

func FuzzMail(f *testing.F) {
	f.Add([]byte("From: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nRnJvbQ==\n--b--\n"))
	f.Add([]byte("Subject: =?utf-8?Q?x?=\nContent-Type: text/html; charset=koi8-r\nContent-Transfer-Encoding: quoted-printable\n\n<p>=F0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		extracttest.CheckAnyInput(t, "a.eml", data)
		extracttest.CheckAnyInput(t, "a.mbox", data)
	})
}

// Some programs save a whole message as UTF-16, whatever its head says of its charset.
func TestMail_ReadsMessagesInUTF16(t *testing.T) {
	const text = "From: Zoë <z@example.org>\r\nTo: Bob\r\nSubject: Grüße\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\nCafé für zwölf.\r\n"
	const want = "P From: Zoë <z@example.org>⏎To: Bob⏎Subject: Grüße\nP Café für zwölf.\n"
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := order.AppendUint16(nil, 0xfeff)
		for _, unit := range utf16.Encode([]rune(text)) {
			data = order.AppendUint16(data, unit)
		}
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.eml", data))); diff != "" {
			t.Errorf("%v: %s", order, diff)
		}
	}
}
