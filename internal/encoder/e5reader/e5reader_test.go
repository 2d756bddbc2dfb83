package e5reader

import (
	"testing"

	"parley/internal/encoder"
	"parley/internal/encoder/encodertest"
)

func scorer(t *testing.T) *encoder.Scorer {
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScorer_DoesAsTheReference(t *testing.T) { encodertest.Scorer(t, scorer(t), 1) }

func TestScores_TellWhatAnswersInManyLanguages(t *testing.T) {
	for _, c := range []struct{ question, answer, other string }{
		{"Wie viele Urlaubstage habe ich?", "Der Urlaub beträgt jährlich mindestens 24 Werktage.", "Der Urlaub ist spätestens vier Wochen vorher schriftlich zu beantragen."},
		{"¿A qué hora cierra la piscina los domingos?", "Los domingos puede nadar de 10:00 a 14:00.", "La entrada a la piscina cuesta 5 euros los domingos."},
		{"试用期最长多久？", "三年以上固定期限的劳动合同，试用期不得超过六个月。", "劳动者在试用期内提前三日通知用人单位，可以解除劳动合同。"},
		{"Сколько стоит доставка?", "За доставку по городу мы берём 300 рублей.", "Доставка осуществляется ежедневно, кроме воскресенья."},
	} {
		got, err := scorer(t).Scores(t.Context(), c.question, []string{c.answer, c.other})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] < got[1]+1 {
			t.Errorf("%s: got %.1f", c.question, got)
		}
	}
}
