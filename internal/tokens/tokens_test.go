package tokens_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"parley/internal/llm"
	"parley/internal/tokens"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "Hello, world!": 4, "漢字": 2, strings.Repeat("a", 100_000): 12_500,
	} {
		if got := tokens.Count(text); got != want {
			t.Errorf("%.20q: %d tokens, want %d", text, got, want)
		}
	}
}

func TestCount_MayBeCalledConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := tokens.Count("Hello, world!"); got != 4 {
				t.Errorf("%d tokens", got)
			}
		})
	}
	wg.Wait()
}

// samples are typical texts, with the ratio of the cheap estimate to the real count.
// docs/measurements.md quotes the ratios.
var samples = []struct {
	name     string
	quotient float64
	text     string
}{
	{"English", 1.29, `Employees are entitled to twenty-five days of paid leave a year. Leave that was not taken by the end of March expires, unless illness or urgent work made it impossible to take. Requests are made through the portal at least two weeks ahead and are answered within five working days.`},
	{"German", 1.25, `Beschäftigte haben Anspruch auf fünfundzwanzig Tage bezahlten Urlaub im Jahr. Urlaub, der bis Ende März nicht genommen wurde, verfällt, es sei denn, Krankheit oder dringende Arbeiten haben das verhindert. Anträge werden mindestens zwei Wochen vorher über das Portal gestellt.`},
	{"French", 1.10, `Les salariés ont droit à vingt-cinq jours de congés payés par an. Les congés qui n'ont pas été pris avant la fin du mois de mars sont perdus, sauf si une maladie ou un travail urgent a empêché de les prendre. Les requêtes sont déposées sur le portail au moins deux semaines à l'avance.`},
	{"Spanish", 1.21, `Los empleados tienen derecho a veinticinco días de vacaciones pagadas al año. Las vacaciones que no se hayan tomado antes de finales de marzo se pierden, salvo que una enfermedad o un trabajo urgente lo haya impedido. Las solicitudes se presentan en el portal con dos semanas de antelación.`},
	{"Polish", 0.93, `Pracownikom przysługuje dwadzieścia pięć dni płatnego urlopu w roku. Urlop niewykorzystany do końca marca przepada, chyba że choroba lub pilna praca uniemożliwiła jego wykorzystanie. Wnioski składa się przez portal co najmniej dwa tygodnie wcześniej.`},
	{"Russian", 1.84, `Сотрудники имеют право на двадцать пять дней оплачиваемого отпуска в год. Отпуск, не использованный до конца марта, сгорает, если только болезнь или срочная работа не помешали его взять. Заявления подаются через портал не позднее чем за две недели.`},
	{"Arabic", 1.52, `يحق للموظفين الحصول على خمسة وعشرين يوما من الإجازة المدفوعة في السنة. وتسقط الإجازة التي لم تؤخذ حتى نهاية شهر مارس إلا إذا حال المرض أو العمل العاجل دون ذلك. وتقدم الطلبات عبر البوابة قبل أسبوعين على الأقل.`},
	{"Hindi", 2.06, `कर्मचारियों को साल में पच्चीस दिन की सवेतन छुट्टी का अधिकार है। मार्च के अंत तक न ली गई छुट्टी समाप्त हो जाती है, जब तक कि बीमारी या ज़रूरी काम ने उसे असंभव न बना दिया हो। आवेदन कम से कम दो सप्ताह पहले पोर्टल पर किए जाते हैं।`},
	{"Chinese", 1.31, `员工每年享有二十五天带薪休假。截至三月底未使用的休假将失效，除非因疾病或紧急工作而无法休假。申请须至少提前两周通过门户网站提交，并在五个工作日内得到答复。`},
	{"Japanese", 1.34, `従業員は年間二十五日の有給休暇を取得する権利があります。三月末までに取得されなかった休暇は、病気や緊急の業務のために取得できなかった場合を除き、失効します。申請は少なくとも二週間前までにポータルから行います。`},
	{"Korean", 1.50, `직원은 연간 이십오 일의 유급 휴가를 받을 권리가 있습니다. 삼월 말까지 사용하지 않은 휴가는 질병이나 긴급한 업무로 사용할 수 없었던 경우를 제외하고 소멸됩니다. 신청은 최소 이 주 전에 포털을 통해 합니다.`},
	{"Thai", 1.82, `พนักงานมีสิทธิลาพักร้อนโดยได้รับค่าจ้างปีละยี่สิบห้าวัน วันลาที่ไม่ได้ใช้ภายในสิ้นเดือนมีนาคมจะหมดอายุ เว้นแต่การเจ็บป่วยหรืองานเร่งด่วนทำให้ไม่สามารถลาได้ ต้องยื่นคำขอผ่านพอร์ทัลล่วงหน้าอย่างน้อยสองสัปดาห์`},
	{"Go", 0.91, "func (t *tokens) get(ctx context.Context) (string, error) {\n\tcurrent, asked := t.state()\n\tif now := t.now(); now.Before(current.refresh) {\n\t\treturn current.text, nil\n\t}\n\tselect {\n\tcase t.turn <- struct{}{}:\n\tcase <-ctx.Done():\n\t\treturn \"\", fmt.Errorf(\"wait: %w\", ctx.Err())\n\t}\n}\n"},
	{"Python", 1.05, "def leave_left(employee, today):\n    taken = sum(r.days for r in employee.requests if r.status == 'approved')\n    expired = employee.carried_over if today.month > 3 else 0\n    return max(0, employee.entitlement + employee.carried_over - expired - taken)\n"},
	{"JSON", 0.64, `{"id":"01J9Z3","rows":[{"name":"A. Miller","days":25,"taken":7.5,"ok":true},{"name":"B. Jones","days":30,"taken":0,"ok":false}],"next":null}`},
	{"Markdown table", 0.60, "| Plan | Deductible | Copay |\n|---|---:|---:|\n| Plus | $1,500 | $20 |\n| Standard | $2,250 | $35 |\n| Basic | $4,000 | $50 |\n"},
	{"numbers", 0.42, "2026-11-21 13:37:42.123456 192.168.17.4 4711 0.00314159 1,234,567.89 0x7fff5fbff8a0 +49 30 901820\n"},
}

// reference counts the whole text with the encoding.
func reference(t testing.TB, text string) int {
	t.Helper()
	c, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCount_IsThatOfTheEncoding(t *testing.T) {
	for _, s := range samples {
		if got, want := tokens.Count(s.text), reference(t, s.text); got != want {
			t.Errorf("%s: %d tokens, want %d", s.name, got, want)
		}
	}
	// All short strings over the classes of characters that the encoding's expression
	// distinguishes.
	kinds := []string{"a", "B", "é", "9", ".", "/", "'s", " ", "\t", "\n", "\r", "\u00a0", "漢", "ʰ", "\u0301", "\xff"}
	for i := range len(kinds) * len(kinds) * len(kinds) * len(kinds) {
		text := ""
		for n := i; len(text) == 0 || n > 0; n /= len(kinds) {
			text += kinds[n%len(kinds)]
		}
		if got, want := tokens.Count(text), reference(t, text); got != want {
			t.Fatalf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range samples {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return // the encoding takes quadratic time for some
		}
		if got, want := tokens.Count(text), reference(t, text); got != want {
			t.Errorf("%d tokens, want %d", got, want)
		}
	})
}

func TestEstimate_IsAsFarOffAsIsSaid(t *testing.T) {
	for _, s := range samples {
		estimate, count := llm.EstimateTokens(s.text), tokens.Count(s.text)
		quotient := float64(estimate) / float64(count)
		if math.Abs(quotient-s.quotient) > 0.02 {
			t.Errorf("%s: %.2f, want %.2f", s.name, quotient, s.quotient)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat(samples[0].text, 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tokens.Count(text)
	}
}

func BenchmarkEstimate(b *testing.B) {
	text := strings.Repeat(samples[0].text, 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		llm.EstimateTokens(text)
	}
}
