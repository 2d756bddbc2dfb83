package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The documents and the questions are of the same language; what is asked for is not always named
// as it stands there.
func TestAnswerer_AnswersInSeveralLanguages(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"urlaub.md":  "# Urlaub\nAngestellte haben Anspruch auf 28 Tage bezahlten Urlaub im Jahr. Er verfällt am 31. März.\n\n## Umzug\nFür einen Umzug gibt es einen freien Tag.\n",
		"conges.md":  "# Congés\nLa demande est à déposer trois semaines à l'avance.\n\n## Télétravail\nLe télétravail est permis deux jours par semaine.\n",
		"ferie.md":   "# Ferie\nLe ferie durano ventisei giorni. La sede dell'azienda si trova a Torino.\n",
		"zh.md":      "# 手册\n员工每年有十五天年假。\n\n## 加班\n加班费为平时工资的一倍半。\n",
		"ja.md":      "# 規則\n勤務時間は午前九時から午後六時までです。\n\n## 交通費\n交通費は月三万円まで支給されます。\n",
		"ko.md":      "# 규정\n연차 휴가는 십오 일입니다.\n\n## 식비\n식비는 하루 만 원까지 지급됩니다.\n",
		"rashody.md": "# Правила\nКомандировочные расходы возмещаются за десять рабочих дней.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newProduct(index(t, dir, inProcess{}))
	for question, want := range map[string]string{
		"Wie viele Urlaubstage gibt es?":     "28 Tage", // a compound that no document holds
		"Wann verfällt der Urlaub?":          "31. März",
		"Was gibt es bei einem Umzug?":       "einen freien Tag",
		"Combien de jours de télétravail ?":  "deux jours",
		"Quand faut-il déposer la demande ?": "trois semaines",
		"Dove si trova l'azienda?":           "Torino", // another article before the noun
		"加班费怎么算？":                            "一倍半",
		"年假有几天":                              "十五天",
		"交通費はいくらまで？":                         "三万円",
		"勤務時間は何時からですか":                       "午前九時",
		"식비는 얼마인가요?":                         "만 원",
		"Когда возмещаются командировочные расходы?": "за десять", //
		"Wie hoch ist mein Gehalt?":       "Das weiß ich nicht.", // nothing answers these
		"火星上有水吗？":                         "我不知道。",
		"Qui a gagné la Coupe du monde ?": "Je ne sais pas.",
	} {
		got := p.ask(t, question).Messages[0].Text
		if !strings.Contains(got, want) {
			t.Errorf("%s\n got %q\nwant %q", question, got, want)
		}
	}
}
