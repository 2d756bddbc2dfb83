package pdf

import (
	"strings"
	"testing"
)

func linesOfText(s string) []pdfLine {
	var lines []pdfLine
	for text := range strings.Lines(s) {
		var l pdfLine
		l.Put(strings.TrimSpace(text))
		lines = append(lines, l)
	}
	return lines
}

const (
	english = "The directors present their report and the audited accounts for the year that ended on 31 March, and recommend a dividend of 4.2 pence a share.\n"
	german  = "Der Vorstand schlägt vor, den Gewinn des Jahres zur Stärkung des Eigenkapitals zu verwenden und keine Dividende auszuschütten.\n"
	czech   = "Strč prst skrz krk, vlk zmrzl, čtvrthrst zrn; krátké věty bez samohlásek jsou v češtině možné, ale celé stránky takové nebývají.\n"
)

// shifted is text as a font shows it whose codes begin elsewhere.
func shifted(s string, by rune) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return r
		}
		return r + by
	}, s)
}

func TestPlausible_KnowsNumbersOfGlyphsOnShortPages(t *testing.T) {
	for text, want := range map[string]bool{
		shifted("Terms of payment\nAll invoices are due in thirty days.", -29):    true,
		shifted("Reisekosten: Antrag auf Erstattung\nBitte Belege beilegen", -31): true,
		"TERMS OF PAYMENT\nALL INVOICES ARE DUE IN THIRTY DAYS.":                  false,
		"Terms of payment\nAll invoices are due in thirty days.":                  false,
		strings.Repeat("EDDF LFPG KJFK RJTT ZBAA YSSY EGLL LEMD LIRF LOWW ", 2):   false,
		"HTML XML CSS PDF HTTP DHCP SMTP SQL VPN LDAP TCP DNS SSH TLS":            false,
		"XK-4711 BR-0815 QT-2200 LM-3310 PDR-100 HD-44 XR-19 RD-5 LH-450":         false,
		"1,204 (33) 5.1 77 0.4 1,204 (33) 5.1 77 0.4":                             false,
		"STRČ PRST SKRZ KRK, VLK ZMRZL, ČTVRTHRST ZRN":                            false,
		strings.Repeat("H", 60):                           false,
		"PLN DKK SEK HRK CHF CZK RSD BGN HKD LKR LRD HTG": false,
		"Правление предлагает направить прибыль":          false,
		"取締役会は当期の利益を配当しないことを提案する。取締役会は当期の利益":              false,
	} {
		if got := isShifted(linesOfText(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestPlausible_TellsTextFromWhatFontsMakeOfIt(t *testing.T) {
	airports := strings.Repeat("EDDF LFPG KJFK RJTT ZBAA YSSY EGLL LEMD LIRF LOWW ", 10)
	for name, tt := range map[string]struct {
		text      string
		gibberish bool // whatever its font says
		text2     bool // it reads like text if the font says nothing
	}{
		"English":          {strings.Repeat(english, 4), false, true},
		"German":           {strings.Repeat(german, 4), false, true},
		"Czech":            {strings.Repeat(czech, 4), false, true},
		"capitals":         {strings.ToUpper(strings.Repeat(english, 4)), false, true},
		"Russian":          {strings.Repeat("Правление предлагает направить прибыль года на развитие общества. ", 8), false, true},
		"Greek":            {strings.Repeat("Το διοικητικό συμβούλιο προτείνει τη διανομή μερίσματος. ", 8), false, true},
		"Japanese":         {strings.Repeat("取締役会は当期の利益を配当しないことを提案する。", 8), false, false},
		"figures":          {strings.Repeat("1,204 (33) 5.1 77 0.4\n", 20), false, true},
		"codes":            {airports, false, true},
		"shifted by 29":    {shifted(strings.Repeat(english, 4), -29), true, false},
		"shifted by 3":     {shifted(strings.Repeat(english, 4), 3), true, false},
		"private use":      {strings.Repeat("\ue001\ue02a\ue013 \ue0a1\ue044 ", 20), true, false},
		"other symbols":    {strings.Repeat("/-,0 '',4 .-/+ ", 20), false, false},
		"codes of figures": {"'(6&5,37,21\n*446&", false, false},
		"a short header":   {"XKCD PQRS", false, false},
	} {
		lines := linesOfText(tt.text)
		if got := isGibberish(lines); got != tt.gibberish {
			t.Errorf("%s: gibberish is %v", name, got)
		}
		if got := readsLikeText(lines); got != tt.text2 {
			t.Errorf("%s: reads like text is %v", name, got)
		}
	}
}
