package retrieval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/retrieval"
)

func TestSearch_ScoresAreBetweenZeroAndOne(t *testing.T) {
	w := newWorld(t)
	w.put(colours(80)...)
	for _, q := range []string{"red", "wall painted red", "w17x green door", "what is inside, and how is wall w3x painted?"} {
		res := w.search(retrieval.Query{Text: q, Limit: 40})
		if len(res.Passages) == 0 || res.Passages[0].Score != 1 {
			t.Fatalf("%q: the best of %d passages has not the score 1", q, len(res.Passages))
		}
		last := 1.0
		for _, p := range res.Passages {
			if p.Score <= 0 || p.Score > last {
				t.Errorf("%q: score %v after %v", q, p.Score, last)
			}
			if p.Scores.BM25 == nil || *p.Scores.BM25 <= 0 || p.Scores.Vector != nil || p.Scores.Rerank != nil {
				t.Errorf("%q: raw scores %+v", q, p.Scores)
			}
			last = p.Score
		}
		if res.Mode != retrieval.Text || res.HasVector || res.Matched < len(res.Passages) {
			t.Errorf("%q: mode %s, %d matched", q, res.Mode, res.Matched)
		}
	}
}

func TestSearch_LimitAndMinScoreCutTheSameRanking(t *testing.T) {
	w := newWorld(t)
	w.put(colours(80)...)
	const q = "wall painted red inside"
	all := w.search(retrieval.Query{Text: q, Limit: 1000})
	if len(all.Passages) != all.Matched {
		t.Errorf("%d of %d passages under a high limit", len(all.Passages), all.Matched)
	}
	for _, limit := range []int{-1, 1, 2, 7, 30} {
		res := w.search(retrieval.Query{Text: q, Limit: limit})
		if want := all.Passages[:max(limit, 1)]; cmp.Diff(want, res.Passages) != "" || res.Matched != all.Matched {
			t.Errorf("limit %d: %d passages, not the best", limit, len(res.Passages))
		}
	}
	for _, least := range []float64{0, .3, .9, 1, 1.1} {
		var want []retrieval.Passage
		for _, p := range all.Passages {
			if p.Score >= least {
				want = append(want, p)
			}
		}
		if diff := cmp.Diff(want, w.search(retrieval.Query{Text: q, Limit: 1000, MinScore: least}).Passages); diff != "" {
			t.Errorf("from the score %v (-want +got):\n%s", least, diff)
		}
	}
}

func TestSearch_CaptionsAreSpansOfTheText(t *testing.T) {
	w := newWorld(t)
	const passage = "Welcome to the plan. “Vision care” costs $12 a month — it covers frames. Naïve café owners ask.\n\n" +
		"Lenses are covered once a year. Nothing else matters here. 健康保险每年支付一次。"
	w.put(document("plan.txt", passage), document("other.txt", "Vision is a sense."))
	tests := []struct {
		query string
		want  []string
	}{
		{"How much does vision care cost?", []string{"“Vision care” costs $12 a month — it covers frames."}},
		{"Which lenses and frames are covered?", []string{
			"“Vision care” costs $12 a month — it covers frames.", "Lenses are covered once a year."}},
		{"健康保险", []string{"健康保险每年支付一次。"}},
		{"cafe", []string{"Naïve café owners ask."}},
		{"frames, cafe, lenses of the year", []string{
			"“Vision care” costs $12 a month — it covers frames.", "Lenses are covered once a year."}},
	}
	for _, tt := range tests {
		res := w.search(retrieval.Query{Text: tt.query, Captions: true})
		at := slices.IndexFunc(res.Passages, func(p retrieval.Passage) bool { return p.Document.Name == "plan.txt" })
		if at < 0 {
			t.Errorf("%q does not find the plan", tt.query)
			continue
		}
		if diff := cmp.Diff(tt.want, res.Passages[at].Captions); diff != "" {
			t.Errorf("captions for %q (-want +got):\n%s", tt.query, diff)
		}
		for _, c := range res.Passages[at].Captions {
			if !strings.Contains(passage, c) {
				t.Errorf("the caption %q is not in the text", c)
			}
		}
	}
	for _, p := range w.ask("vision").Passages {
		if p.Captions != nil {
			t.Error("there are captions that nobody asked for")
		}
	}
}

func TestSearch_SaysWhatItKnowsOfTheTerms(t *testing.T) {
	w := newWorld(t)
	w.put(
		document("plan.txt", "The insurance covers vision. Insurance is good."),
		document("care.txt", "The insurance needs a referral."),
		document("api.txt", "Set max_output_tokens in TurnOptions to limit the output."),
	)
	type term struct {
		Text, Word string
		Weight     float64
		Known      bool
	}
	tests := []struct {
		name, query string
		context     []retrieval.WeightedTerm
		want        []term
	}{
		{"function words are left out", "What is the insurance?", nil, []term{{"insur", "insurance", 1, true}}},
		{"a word counts each time", "insurance insurance vision", nil,
			[]term{{"insur", "insurance", 2, true}, {"vision", "vision", 1, true}}},
		{"an unknown word", "insurance zebra", nil, []term{{"insur", "insurance", 1, true}, {"zebra", "zebra", 1, false}}},
		{"a slip is corrected", "visoin", nil, []term{{"vision", "visoin", .8, true}}},
		{"a slip beside the right word is not", "vision visoin", nil,
			[]term{{"vision", "vision", 1, true}, {"visoin", "visoin", 1, false}}},
		{"a misspelt function word is left out", "wheer insurance", nil, []term{{"insur", "insurance", 1, true}}},
		{"a compound is read as its parts", "visionsplan", nil,
			[]term{{"vision", "visionsplan", .8, true}, {"plan", "visionsplan", .8, true}}},
		{"a word with one known part is none", "visionsbuch", nil, []term{{"visionsbuch", "visionsbuch", 1, false}}},
		{"numbers are not corrected", "insurance 2025", nil, []term{{"insur", "insurance", 1, true}, {"2025", "2025", 1, false}}},
		{"an identifier that is there", "max_output_tokens", nil, []term{
			{"max_output_tokens", "max_output_tokens", 1, true}, {"max", "max_output_tokens", 1, true},
			{"output", "max_output_tokens", 1, true}, {"token", "max_output_tokens", 1, true}}},
		{"an identifier of which parts are there", "outputTokens", nil, []term{
			{"output", "outputTokens", 1, true}, {"token", "outputTokens", 1, true}}},
		{"joined words of which the whole is unknown", "vision-plan", nil, []term{
			{"vision", "vision", 1, true}, {"plan", "plan", 1, true}}},
		{"joined words of which one is unknown", "co-insurance", nil, []term{{"co", "co", 1, false}, {"insur", "insurance", 1, true}}},
		{"context that is known comes after, once", "vision",
			[]retrieval.WeightedTerm{{Word: "the referral", Weight: .3}, {Word: "zebra", Weight: .9},
				{Word: "Vision", Weight: .5}, {Word: "referrals", Weight: .4}},
			[]term{{"vision", "vision", 1, true}, {"referr", "referral", .4, true}}},
		{"nothing but function words", "what is it", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []term
			for _, x := range w.search(retrieval.Query{Text: tt.query, Context: tt.context}).Terms {
				got = append(got, term{x.Text, x.Word, x.Weight, x.Known})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
		})
	}
	known, unknown := w.ask("insurance").Terms[0].IDF, w.ask("zebra").Terms[0].IDF
	if rare := w.ask("vision").Terms[0].IDF; known <= 0 || known >= rare || rare > unknown {
		t.Errorf("a frequent word weighs %v, a rare one %v, an unknown one %v", known, rare, unknown)
	}
}

func TestSearch_FindsWhatASlipMeant(t *testing.T) {
	w := newWorld(t)
	w.put(colours(30)...)
	w.put(document("vision.txt", "Lenses and frames are covered by the vision plan."))
	for _, q := range []string{"lnes", "fraems", "visiom plan", "wheer lenses"} {
		if got := names(w.ask(q)); len(got) == 0 || got[0] != "vision.txt" {
			t.Errorf("%q finds %v", q, got)
		}
	}
}

func TestSearch_FindsWordsThatAreWrittenAsOneOrAsTwo(t *testing.T) {
	w := newWorld(t)
	w.put(colours(30)...)
	w.put(document("email.txt", "Write an email to the office."), document("hyphen.txt", "Send e-mails at any hour."),
		document("mail.txt", "The mail comes at noon."), document("lager.txt", "Lithiumbatterien stehen in der Halle."))
	for q, want := range map[string][]string{
		"email":             {"email.txt", "hyphen.txt"},
		"e-mail":            {"hyphen.txt"},
		"Lithium-Batterien": {"lager.txt"},
		"Lithium‑Batterien": {"lager.txt"}, // with the hyphen that does not break
	} {
		got := names(w.ask(q))
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%q finds %v, want %v", q, got, want)
		}
	}
	for _, term := range w.ask("Lithium-Batterien").Terms {
		if !term.Known {
			t.Errorf("%q counts as unknown although the documents have the whole", term.Text)
		}
	}
}

func TestSearch_FindsInflectedWordsOfTheQuestionsLanguage(t *testing.T) {
	w := newWorld(t)
	w.put(colours(30)...)
	w.put(document("de.txt", "Die Zahl der Pakete ist hoch."), document("es.txt", "Las devoluciones se aceptan."),
		document("ru.txt", "Посылку приносят утром."), document("en.txt", "The packets are here."))
	for q, want := range map[string]string{
		"Wann kommt das Paketen an?":       "de.txt",
		"¿Cuándo se acepta la devolución?": "es.txt",
		"Когда приносят посылки?":          "ru.txt",
	} {
		res := w.ask(q)
		if got := names(res); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s", q, got, want)
		}
	}
	var words []string
	w.put(document("more.txt", "Ein Vertrag, mit zwei Verträgen."))
	for _, term := range w.ask("Was sagt der Vertrag?").Terms {
		words = append(words, fmt.Sprint(term.Text, " ", term.Other, " ", term.Weight))
	}
	if want := []string{"sagt false 1", "vertrag false 1", "vertragen true 0.8"}; !slices.Equal(words, want) {
		t.Errorf("the terms are %q, want %q", words, want)
	}
}

func TestSearch_ADocumentThatIsNamedComesFirst(t *testing.T) {
	w := newWorld(t)
	same := "The plan covers emergency services in and out of network."
	w.put(document("Northwind_Standard_Benefits.pdf", same+" Standard.", "Copay of the standard plan."),
		document("Northwind_Health_Plus.pdf", same+" Plus.", "Copay of the plus plan."),
		document("employee_handbook.pdf", same, "Copay is explained elsewhere. Northwind. Benefits. Health."))
	w.put(document("annual_report_2023.pdf", "Revenue grew by a tenth, and so did cost, as was to be expected."),
		document("notes.txt", "Annual revenue: report of 2023. Revenue in the annual plan for 2023, a report."))
	for q, want := range map[string]string{
		"How did revenue grow in the Annual Report 2023?":            "annual_report_2023.pdf",
		"Does Northwind Standard Benefits cover emergency services?": "Northwind_Standard_Benefits.pdf",
		"Does Northwind Health Plus cover emergency services?":       "Northwind_Health_Plus.pdf",
		"What does the employee handbook say about the copay?":       "employee_handbook.pdf",
	} {
		if got := names(w.ask(q)); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v first", q, got)
		}
	}
}

func TestSearch_BringsPassagesForEveryPartOfAQuestion(t *testing.T) {
	w := newWorld(t)
	w.put(colours(30)...)
	// The rare words of the first part would fill the whole result, for the others are common.
	var puts []retrieval.Put
	puts = append(puts, document("tax", "Quarterly withholding tax declarations of partnerships."))
	for i := range 12 {
		puts = append(puts, document(fmt.Sprintf("tax-%d", i), "Partnerships have tax to pay."))
	}
	for i := range 60 {
		puts = append(puts, document(fmt.Sprintf("other-%d", i), "Entry has a fee.", "There is parking below."))
	}
	w.put(append(puts, document("fee", "The fee for parking is nine euros a day."))...)
	q := "How do partnerships make quarterly withholding tax declarations, and what is the fee for parking?"
	res := w.search(retrieval.Query{Text: q, Limit: 5})
	got := names(res)
	if !slices.Contains(got, "fee") || !slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, "tax") }) {
		t.Errorf("found %v: a part of the question has no passage", got)
	}
	if res.Passages[0].Score != 1 {
		t.Errorf("the best has the score %v", res.Passages[0].Score)
	}
}

func TestSearch_SpreadsOverPages(t *testing.T) {
	// Three chunks of page 1 are each better than those of the pages 2 and 3.
	build := func(page func(i int) int) retrieval.Put {
		p := document("plan.pdf", "deductible deductible deductible", "deductible deductible deductible x1x",
			"deductible deductible deductible x2x", "the deductible of another page "+strings.Repeat("filler ", 20),
			"one more deductible there "+strings.Repeat("stuffing ", 30))
		for i := range p.Chunks {
			p.Chunks[i].Spans[0].Page = page(i)
		}
		return p
	}
	pages := func(res retrieval.Result) (all []int) {
		for _, p := range res.Passages {
			all = append(all, p.Chunk.Key.Ordinal)
		}
		return all
	}
	paged := newWorld(t)
	paged.put(build(func(i int) int { return max(1, i-1) }))
	first := pages(paged.search(retrieval.Query{Text: "deductible", Limit: 3}))
	if len(first) != 3 || first[0] > 2 || !slices.Contains(first, 3) || !slices.Contains(first, 4) {
		t.Errorf("the chunks %v are not of three pages", first)
	}
	if all := pages(paged.search(retrieval.Query{Text: "deductible", Limit: 4})); len(all) != 4 || all[1] > 2 {
		t.Errorf("the chunks %v are not filled up in the order of scores", all)
	}
	unpaged := newWorld(t)
	unpaged.put(build(func(int) int { return 0 }))
	best := pages(unpaged.search(retrieval.Query{Text: "deductible", Limit: 3}))
	slices.Sort(best)
	if !cmp.Equal(best, []int{0, 1, 2}) {
		t.Errorf("without pages the chunks %v are the best", best)
	}
}

func TestSearch_ContextOnlyFillsIn(t *testing.T) {
	w := newWorld(t)
	w.put(colours(80)...)
	w.put(document("eiffel", "The Eiffel tower has a height of 330 metres."),
		document("brandenburg", "The Brandenburg gate has a height of 26 metres."))
	context := []retrieval.WeightedTerm{{Word: "Eiffel", Weight: .3}, {Word: "tower", Weight: .2}}
	if got := names(w.search(retrieval.Query{Text: "What is its height?", Context: context})); got[0] != "eiffel" {
		t.Errorf("with context: %v", got)
	}
	if got := names(w.search(retrieval.Query{Text: "What is the height of the Brandenburg gate?", Context: context})); got[0] != "brandenburg" {
		t.Errorf("the context outweighs the question: %v", got)
	}
	long := context
	for i := range 200 {
		long = append(long, retrieval.WeightedTerm{Word: fmt.Sprintf("w%dx", i%80), Weight: .01})
	}
	res := w.search(retrieval.Query{Text: "What is its height?", Context: long})
	if got := names(res); got[0] != "eiffel" {
		t.Errorf("with a long context: %v", got)
	}
	if n := len(res.Terms); n > 41 {
		t.Errorf("%d terms take part", n)
	}
}

func TestSearch_FindsTheRightPassageInManyLanguages(t *testing.T) {
	w := newWorld(t)
	languages := []struct {
		name     string
		passages []string
		queries  map[string]int // the ordinal of the right passage
	}{
		{"arabic", []string{"يغطي التأمين الصحي زيارات الطبيب", "تبلغ رسوم وقوف السيارات تسعة يورو", "المكتبة مفتوحة يوم الأحد"},
			map[string]int{"كم رسوم وقوف السيارات؟": 1, "هل المكتبة مفتوحة؟": 2, "التَّأْمِين": 0, "والمكتبة": 2}},
		{"chinese", []string{"健康保险支付看医生的费用。", "停车费每天九欧元。", "图书馆星期天开放。"},
			map[string]int{"停车费是多少？": 1, "图书馆什么时候开放": 2, "健康保险": 0}},
		{"japanese", []string{"健康保険は診察料を支払います。", "駐車場の料金は一日九ユーロです。", "東京タワーの高さは三百三十三メートルです。"},
			map[string]int{"駐車料金はいくらですか": 1, "東京タワーの高さ": 2, "ﾀﾜｰ": 2}},
		{"korean", []string{"건강보험은 진료비를 지불합니다.", "주차 요금은 하루에 구 유로입니다.", "도서관은 일요일에 엽니다."},
			map[string]int{"주차 요금은 얼마입니까?": 1, "도서관": 2, "건강보험이란": 0}},
		{"thai", []string{"ประกันสุขภาพจ่ายค่าแพทย์", "ค่าจอดรถวันละเก้ายูโร", "ห้องสมุดเปิดวันอาทิตย์"},
			map[string]int{"ค่าจอดรถเท่าไร": 1, "ห้องสมุด": 2, "ประกันสุขภาพ": 0}},
		{"german", []string{"Die Krankenversicherung übernimmt die Prämie.", "Die Gebühr für Parkplätze beträgt neun Euro.", "Die Bücherei in der Straße öffnet sonntags."},
			map[string]int{"Gebühr": 1, "Welche PARKPLÄTZE?": 1, "Prämie": 0, "Pramie": 0, "Bücherei Straße": 2}},
		{"french", []string{"L’assurance santé couvre les frais médicaux.", "Le péage coûte neuf euros.", "La bibliothèque ouvre à Noël."},
			map[string]int{"peage": 1, "Où est la bibliothèque ?": 2, "bibliotheque Noel": 2, "santé": 0}},
	}
	for _, l := range languages {
		w.put(document(l.name+".txt", l.passages...))
	}
	for _, l := range languages {
		for q, want := range l.queries {
			res := w.ask(q)
			if len(res.Passages) == 0 {
				t.Errorf("%s: %q finds nothing", l.name, q)
				continue
			}
			best := res.Passages[0]
			if best.Document.Name != l.name+".txt" || best.Chunk.Key.Ordinal != want {
				t.Errorf("%s: %q finds %q", l.name, q, best.Chunk.Text)
			}
		}
	}
}

func TestRank_AgreesWithSearch(t *testing.T) {
	w := newWorld(t)
	w.put(colours(60)...)
	for _, text := range []string{"wall painted red", "What is inside, and how is wall w3x painted?"} {
		// Every chunk is on a page of its own, so spreading changes nothing.
		q := retrieval.Query{Filter: retrieval.Filter{Namespace: "ns"}, Text: text, Limit: 25}
		hits, err := w.corpus.Rank(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want := map[retrieval.ChunkKey]float64{}
		for _, p := range w.search(q).Passages {
			want[p.Chunk.Key] = p.Rank * hits[0].Score
		}
		got := map[retrieval.ChunkKey]float64{}
		for _, h := range hits {
			got[h.Key] = h.Score
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%q (-search +rank):\n%s", text, diff)
		}
	}
}
