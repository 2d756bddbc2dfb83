package compose

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"parley/internal/extract"
)

func TestDecodeText_FindsTheEncoding(t *testing.T) {
	const (
		english    = "A plain sentence, with “quotes” and a dash – that is all there is to say about it.\n"
		french     = "L'été dernier, nous avons mangé des crêpes à la forêt près du château où naquit le garçon.\n"
		german     = "Die Straße führt über die Brücke zum schönen Schloß, wo die Mädchen ihre Bücher gelesen hätten.\n"
		polish     = "Wczoraj poszliśmy do lasu, żeby zbierać grzyby, ale było zbyt zimno i wróciliśmy późno do domu.\n"
		russian    = "Вчера мы пошли в лес собирать грибы, но было слишком холодно, и мы вернулись домой поздно вечером.\n"
		greek      = "Χθες πήγαμε στο δάσος για να μαζέψουμε μανιτάρια, αλλά έκανε πολύ κρύο και γυρίσαμε αργά στο σπίτι.\n"
		arabic     = "ذهبنا أمس إلى الغابة لجمع الفطر ولكن الجو كان باردا جدا فعدنا إلى البيت في وقت متأخر من الليل.\n"
		hebrew     = "אתמול הלכנו ליער כדי לאסוף פטריות אבל היה קר מאוד וחזרנו הביתה מאוחר בלילה עם הילדים.\n"
		chinese    = "昨天我们去森林里采蘑菇，但是天气太冷了，所以我们很晚才回家。保险计划包括每年的体检和疫苗。\n"
		taiwan     = "昨天我們去森林裡採蘑菇，但是天氣太冷了，所以我們很晚才回家。保險計畫包括每年的體檢和疫苗。\n"
		inJapanese = "昨日私たちは森へきのこを採りに行きましたが、とても寒かったので、遅くなってから家に帰りました。\n"
		inKorean   = "어제 우리는 숲으로 버섯을 따러 갔지만 너무 추워서 밤늦게 집으로 돌아왔습니다. 보험은 매년 검진을 포함합니다.\n"
	)
	for name, c := range map[string]struct {
		text string
		enc  encoding.Encoding
	}{
		"utf-8":                 {russian, encoding.Nop},
		"utf-8 with mark":       {russian, unicode.UTF8BOM},
		"utf-16le with mark":    {inJapanese, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
		"utf-16be with mark":    {english, unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
		"utf-16le bare":         {english, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		"utf-16be bare":         {french, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
		"utf-16le bare Chinese": {chinese, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		"utf-16be bare Korean":  {inKorean, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
		"utf-16le bare Arabic":  {arabic, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		"utf-32 with mark":      {russian, utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)},
		"windows-1252 English":  {english, charmap.Windows1252},
		"windows-1252 French":   {french, charmap.Windows1252},
		"iso-8859-1 German":     {german, charmap.ISO8859_1},
		"windows-1250 Polish":   {polish, charmap.Windows1250},
		"windows-1251":          {russian, charmap.Windows1251},
		"koi8-r":                {russian, charmap.KOI8R},
		"windows-1253":          {greek, charmap.Windows1253},
		"windows-1256":          {arabic, charmap.Windows1256},
		"windows-1255":          {hebrew, charmap.Windows1255},
		"shift_jis":             {inJapanese, japanese.ShiftJIS},
		"euc-jp":                {inJapanese, japanese.EUCJP},
		"iso-2022-jp":           {inJapanese, japanese.ISO2022JP},
		"gb18030":               {chinese, simplifiedchinese.GB18030},
		"big5":                  {taiwan, traditionalchinese.Big5},
		"euc-kr":                {inKorean, korean.EUCKR},

		"code page 850 German":      {german, charmap.CodePage850},
		"code page 850 a few words": {"Grüße aus Köln, schöne Fähre.\n", charmap.CodePage850},
		"code page 866":             {russian, charmap.CodePage866},
		"Macintosh French":          {french, charmap.Macintosh},
		"Macintosh German":          {"Die Straße – „schön“ – führt über die Brücke – weiter.\n", charmap.Macintosh},
		"windows-1250 a few words":  {"Zażółć gęślą jaźń, źródło wyschło.\n", charmap.Windows1250},
		"iso-8859-2 a few words":    {"Zażółć gęślą jaźń, źródło wyschło.\n", charmap.ISO8859_2},
		"windows-1254 Turkish":      {"Şişli'de ığdır ağacı, güneşli bir gün. İstanbul çok büyük.\n", charmap.Windows1254},
		"windows-1252 one word":     {"Roher Text für alle.\n", charmap.Windows1252},
		"windows-1252 not Turkish":  {"Ísland er lýðveldi; það er eyja þar sem menn búa við sjó og á ám.\n", charmap.Windows1252},
		"gb18030 with Latin in it":  {"使用GPU进行计算，安装CUDA驱动程序，然后运行测试程序。\n", simplifiedchinese.GB18030},
	} {
		data, err := c.enc.NewEncoder().Bytes([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := DecodeText(data, "")
		if err != nil || got != c.text {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.text)
		}
	}
}

func TestDecodeText_MendsUTF8ThatWasCut(t *testing.T) {
	const text = "Überall grünt es schön, während die Vögel über die Dächer fliegen, und überall blüht der Löwenzahn früh."
	got, err := DecodeText([]byte("\xbc"+text+text+"\xc3"), "")
	if err != nil || got != text+text {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDecodeText_DistrustsAWrongDeclaration(t *testing.T) {
	const text = "価格は千円です。とても安いので買いました。"
	data, err := japanese.ShiftJIS.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeText(data, "euc-kr"); err != nil || got != text {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDecodeText_KnowsTheNamesThatProgramsGiveEncodings(t *testing.T) {
	const text = "Śluza."
	data, err := charmap.Windows1250.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"windows-1250", "cp1250", "CP_1250", "x-cp1250"} {
		if got, err := DecodeText(data, name); err != nil || got != text {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestFile_ReadsXMLWhoseEncodingHasAnotherName(t *testing.T) {
	const text = "昨日私たちは森へきのこを採りに行きました。"
	words, err := japanese.ShiftJIS.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CP932", "Windows-31J", "nobody-knows-it", "utf-16"} {
		content := `<?xml version="1.0" encoding="` + name + `"?><r><p>` + words + `</p></r>`
		doc, err := extract.ReadFile(context.Background(), "a.xml", strings.NewReader(content), int64(len(content)), extract.Limits{})
		if err != nil || !strings.Contains(doc.Pages[0].Text, text) {
			t.Errorf("%s: got %v, %v", name, doc, err)
		}
	}
}
