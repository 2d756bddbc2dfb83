package text

import (
	"slices"
	"strings"
	"testing"
)

func TestAnalyze_TermsOfManyScripts(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"english is stemmed and function words dropped", "The running plans of employees", "run plan employe"},
		{"possessive", "Northwind's plan", "northwind plan"},
		{"diacritics fold", "Café Zürich naïve", "cafe zurich naiv"},
		{"numbers keep their separators", "$1,000 and 3.14%", "1000 3.14"},
		{"acronyms are not function words", "IT department in the US", "it depart us"},
		{"all capitals are read as small letters", "WHAT IS COVERED", "cover"},
		{"identifiers give their parts", "max_output_tokens", "max_output_tokens max output token"},
		{"camel case gives its parts", "TurnFinished", "turnfinish turn finish"},
		{"chinese becomes pairs", "健康保险", "健康 康保 保险"},
		{"a single character stands alone", "茶", "茶"},
		{"japanese", "東京タワー", "東京 京タ タワ ワー"},
		{"korean", "건강보험", "건강 강보 보험"},
		{"arabic drops article and vowel signs", "الكِتَاب", "كتاب"},
		{"russian", "Страхование Ёлка", "страхование елка"},
		{"full width folds", "ＡＢＣ１２３", "abc123"},
		{"mixed scripts split", "API接口v2", "api 接口 v2"},
		{"a noun behind its article", "l'avance, dell’azienda", "lavanc avanc dellazienda azienda"},
		{"a word of several is found with and without its hyphen", "e-mail, in‑network, Lithium-Batterien", "email e mail innetwork network lithiumbatterien lithium batterien"},
		{"codes too, dates not", "HF-429 of 2026-11-22", "hf429 hf 429 2026 11 22"},
		{"of function words it is one", "as-is - or pre-", "pre"},
		{"of many words the first four are one", "a-b-c-d-e-f", "abcd b c ef e f"},
		{"nothing", " — … ", ""},
		{"marks without letters", "\u0301-\u0301 ـ-ـ", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(Terms(tt.in), " "); got != tt.want {
				t.Errorf("Terms(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestAnalyzeQuestion_KnowsFunctionWordsOfTheLanguage(t *testing.T) {
	tests := []struct{ in, want string }{ // a term in brackets is loose
		{"Wie viele Urlaubstage gibt es im Jahr?", "urlaubstag jahr"},
		{"Wann verfallen Urlaubstage?", "verfallen urlaubstag"},
		{"Combien de jours de télétravail par semaine ?", "jour teletravail semain"},
		{"¿Cuántos días de vacaciones hay?", "dia vacacion"},
		{"Quanti giorni di ferie ci sono?", "giorni feri"},
		{"Quantos dias de férias eu tenho?", "dia feria"},
		{"Hoeveel vakantiedagen zijn er?", "vakantiedagen"},
		{"Hur många semesterdagar har jag?", "semesterdagar"},
		{"Ile dni urlopu mam?", "dni urlopu"},
		{"Сколько дней отпуска у меня есть?", "днеи отпуска"},
		{"加班费怎么算？", "加班 班费 [费怎] [怎么] [么算]"},
		{"交通費はいくらまで？", "交通 通費 [費は] [はい] [いく] [くら] [らま] [まで]"},
		{"휴가는 얼마", "휴가 [가는] [얼마]"},
		{"What is covered by the plan?", "cover plan"},
		{"According to the guide, what is covered?", "guid cover"},
		{"What does CLA stand for?", "cla"},
		{"Does the stand for bicycles have a roof?", "stand bicycl roof"},
		{"Was tun bei Feuer?", "feuer"},
		{"What does die casting mean for us?", "die cast"}, // one German word does not make a question German
		{"Was there a war?", "war"},
		{"die casting alloys", "die cast alloy"},
	}
	for _, tt := range tests {
		var got []string
		words, _ := AnalyzeQuestion(tt.in)
		for _, tok := range words {
			switch {
			case tok.Stop:
			case tok.Loose:
				got = append(got, "["+tok.Term+"]")
			default:
				got = append(got, tok.Term)
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestAnalyze_SpansPointAtTheWord(t *testing.T) {
	s := "Die Prämie — «café» 保険料 is_due"
	for _, tok := range Analyze(s) {
		if tok.Start < 0 || tok.End > len(s) || tok.Start >= tok.End {
			t.Fatalf("token %+v is outside the text", tok)
		}
		if strings.ContainsAny(s[tok.Start:tok.End], " «»—") {
			t.Errorf("token %q spans %q", tok.Term, s[tok.Start:tok.End])
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"The plan's 1,000.5 €", "東京タワー", "a_b_C", "\xff\xfe", "الكِتَاب", "e-mail‑x-ـ", "\u0301-\u0301", "\u0651_000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		words, _ := AnalyzeQuestion(s)
		for _, tok := range words {
			if tok.Start < 0 || tok.End > len(s) || tok.Start >= tok.End {
				t.Fatalf("token %+v is outside the text of %d bytes", tok, len(s))
			}
			if tok.Start < last {
				t.Fatalf("token %+v begins before the one before it", tok)
			}
			if tok.Term == "" {
				t.Fatalf("token %+v is empty", tok)
			}
			last = tok.Start
		}
		last = 0
		for _, sp := range Sentences(s) {
			if sp.Start < last || sp.End <= sp.Start || sp.End > len(s) {
				t.Fatalf("sentence %+v after %d in %d bytes", sp, last, len(s))
			}
			last = sp.End
		}
	})
}

func TestAnalyzeQuestion_KnowsFormsOfItsLanguage(t *testing.T) {
	tests := []struct{ question, word, want string }{
		{"Wer nimmt Pakete an?", "paket", "paketen"},
		{"Was ist mit den Häusern?", "hausern", "haus"},
		{"Quels colis sont acceptés ?", "accept", "accepte"},
		{"¿Cuántas devoluciones hay?", "devolucion", "devolucionar"},
		{"Какие посылки принимают?", "посылки", "посылка"},
		{"Which parcels are accepted?", "parcel", ""}, // they are stemmed
		{"How do I back up?", "back", "backup"},
		{"Is logging in needed?", "log", "login"},
		{"Who may log it in?", "log", ""}, // no noun is formed across a word
		{"Who wrote the FAQ?", "wrote", "written"},
		{"Which one did they choose?", "choos", "chosen"},
		{"Wie melde ich mein Kind an?", "meld", "anmelden"},
		{"Wie melde ich mein Kind an?", "meld", "anmeldung"},
		{"Wie fügen wir ein Bild hinzu?", "fugen", "hinzufugen"},
		{"Who founded it?", "found", ""},        // nobody found it
		{"Wer hat den Tag gesehen?", "tag", ""}, // too short
		{"Was kostet max_size im Monat?", "max_size", ""},
	}
	for _, tt := range tests {
		_, all := AnalyzeQuestion(tt.question)
		forms := all[tt.word]
		if tt.want == "" && len(forms) > 0 || tt.want != "" && !slices.Contains(forms, tt.want) || slices.Contains(forms, tt.word) {
			t.Errorf("%s: forms of %s are %q, want %q among them", tt.question, tt.word, forms, tt.want)
		}
	}
}

func TestLanguage_IsThatOfMostOfAText(t *testing.T) {
	for s, want := range map[string]string{
		"The sign says \"出口\", which is the way to the street.":      "en",
		"Die Werkstatt ist am Samstag von zehn bis zwölf geöffnet.":  "de",
		"Le refuge est gardé pendant l'été.":                         "fr",
		"La biblioteca está abierta hasta las ocho.":                 "es",
		"请在 Windows 中打开设置，然后选择网络。":                                   "zh",
		"先在 GitHub 上打开 repository，点 Settings，再点 Webhooks。":           "zh",
		"The museum (故宫博物院) is closed on Mondays and in the winter.": "en",
		"受付は一階にあります。":                                                "ja",
		"접수처는 일 층에 있습니다.":                                            "ko",
		"Касса открыта до восьми, а вход для детей свободный.":       "ru",
		"المكتبة مفتوحة حتى الثامنة":                                 "",
		"12.5 | 13.7 | EUR": "",
		"":                  "",
	} {
		if got := Language(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
