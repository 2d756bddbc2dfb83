package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/internal/encoder"
	"parley/internal/llm"
	"parley/internal/text"
)

// meaning is a fake of a model: texts on the same subject mean the same.
func meaning(_ context.Context, s string, _ encoder.Kind) ([]float32, error) {
	switch s = strings.ToLower(s); {
	case strings.Contains(s, "kündig"), strings.Contains(s, "arbeitsverhältnis"):
		return []float32{1, 0}, nil
	case strings.Contains(s, "mond"):
		return []float32{.87, -.5}, nil
	case strings.Contains(s, "kantine"):
		return []float32{.76, .65}, nil
	}
	return []float32{.5, .87}, nil
}

// answersNotice is a fake of a reader: texts on the same subject answer.
func answersNotice(_ context.Context, question string, texts []string) ([]float64, error) {
	scores := make([]float64, len(texts))
	for i, s := range texts {
		scores[i] = -8
		if strings.Contains(question, "kündig") && strings.Contains(s, "Arbeitsverhältnis") {
			scores[i] = 6
		}
	}
	return scores, nil
}

func others(scores func(context.Context, string, []string) ([]float64, error)) Answerer {
	return Answerer{Reader: &Reader{Others: scores, Vector: meaning}}
}

func german(question string) *llm.Evidence {
	ev := &llm.Evidence{Question: question, Query: question, Passages: []llm.Passage{{
		Text:  "Die Kantine öffnet um elf Uhr für alle. Das Arbeitsverhältnis endet mit einer Frist von vier Wochen. Der Parkplatz ist kostenlos.",
		Score: 1,
	}}}
	for _, t := range text.Terms(question) {
		ev.Terms = append(ev.Terms, llm.Term{Text: t, Word: t, Weight: 1, IDF: 2})
	}
	return ev
}

func TestReader_FindsAnswersInOtherWordsByTheirMeaning(t *testing.T) {
	ev := german("Wie lange vorher muss ich kündigen?")
	if got := (Answerer{}).quotes(t.Context(), ev, brief); len(got) > 0 {
		t.Errorf("by words alone: %v", got)
	}
	got := others(answersNotice).quotes(t.Context(), ev, brief)
	if len(got) != 1 || !strings.Contains(got[0].text, "Frist von vier Wochen") {
		t.Errorf("got %v", got)
	}
}

func TestReader_RefusesWhatNothingIsNearTo(t *testing.T) {
	if got := others(answersNotice).quotes(t.Context(), german("Welche Farbe hat der Mond?"), brief); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestReader_ThatFailsLeavesTheChoiceToTheWords(t *testing.T) {
	fails := func(context.Context, string, []string) ([]float64, error) { return nil, errors.New("no") }
	ev := german("Ist der Parkplatz kostenlos?")
	for i := range ev.Terms {
		ev.Terms[i].Known = true
	}
	got := others(fails).quotes(t.Context(), ev, brief)
	if len(got) > 1 || len(got) == 1 && !strings.Contains(got[0].text, "Parkplatz") {
		t.Errorf("got %v", got)
	}
}

func TestReader_ReadsOnlyWhatItsVocabularySpells(t *testing.T) {
	for question, want := range map[string]bool{
		"How many days of leave are there?": true, "404": true, "Wie viele Tage Urlaub gibt es?": true, "番茄多久浇一次水": true, "Сколько дней отпуска?": true,
		"متى ينضج العسل": false, "מתי מבשיל הדבש?": false, "น้ำผึ้งสุกเมื่อไหร่": false,
	} {
		if got := (&Reader{}).reads(question); got != want {
			t.Errorf("%s: %v, want %v", question, got, want)
		}
	}
}

// A question shares no words with a text in another language.
func TestReader_AnswersFromTextsInOtherLanguages(t *testing.T) {
	r := NewReader()
	if r == nil {
		t.Skip("no reader runs on this processor")
	}
	english := "The greenhouse is watered at six in the morning and must be locked after nine in the evening. " +
		"Guests pay eleven euros for a tour. The head gardener is Imke Vos. Fallen leaves are put on the compost behind the shed."
	deutsch := "Das Gewächshaus wird um sechs Uhr morgens gegossen. Gäste zahlen elf Euro für eine Führung durch den Garten. Die Leitung hat Imke Vos."
	for _, c := range []struct{ question, text, want string }{
		{"À quelle heure arrose-t-on la serre ?", english, "six in the morning"},
		{"How much do guests pay for a tour of the garden?", deutsch, "elf Euro"},
		{"Welche Farbe hat das Dach der Bibliothek?", english, ""},
		{"Who won the football match on Saturday?", deutsch, ""},
		{"À quelle heure arrose-t-on la serre ?", english + " Le gardien de la serre est là pour vous, et il vous aide.", ""}, // half translated
	} {
		ev := &llm.Evidence{Question: c.question, Query: c.question, Passages: []llm.Passage{{Text: c.text, Score: .8}}}
		for _, w := range text.Terms(c.question) {
			ev.Terms = append(ev.Terms, llm.Term{Text: w, Word: w, Weight: 1, IDF: 3})
		}
		said := ""
		for _, q := range (Answerer{Reader: r}).quotes(t.Context(), ev, brief) {
			said += q.text + "\n"
		}
		if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.question, said, c.want)
		}
	}
}

// scoring returns an answerer whose reader takes texts with a key for answers to the questions that end with its value, and the
// texts that it has read for them.
func scoring(answers map[string]string) (Answerer, map[string]bool) {
	seen := make(map[string]bool)
	return Answerer{Reader: &Reader{English: func(_ context.Context, question string, texts []string) ([]float64, error) {
		scores := make([]float64, len(texts))
		for i, s := range texts {
			scores[i], seen[s] = -10, true
			for answer, of := range answers {
				if strings.Contains(s, answer) && strings.HasSuffix(question, of) {
					scores[i] = 6
				}
			}
		}
		return scores, nil
	}}}, seen
}

func TestReader_ReadsMoreWhileNothingAnswers(t *testing.T) {
	var others strings.Builder
	for i := range 30 {
		fmt.Fprintf(&others, "Parental leave %c is asked for in a letter of its own. ", 'A'+i)
	}
	ev := about("Why is parental leave given?", passage("a.md", others.String()+"Mothers and fathers shall know their babies."))
	a, seen := scoring(map[string]string{"babies": "?"})
	if got := a.quotes(t.Context(), ev, brief); len(got) == 0 || !strings.Contains(got[0].text, "babies") {
		t.Errorf("got %v after %d blocks", got, len(seen))
	}
	if len(seen) <= maxRead || len(seen) > rounds*maxRead {
		t.Errorf("%d blocks were read", len(seen))
	}
	a, seen = scoring(map[string]string{"leave A": "?"})
	if a.quotes(t.Context(), ev, brief); len(seen) > maxRead {
		t.Errorf("%d blocks were read, and the first answer", len(seen))
	}
	long := about(strings.Repeat("Why is parental leave given? ", 20), ev.Passages...)
	if a, seen = scoring(nil); len(a.quotes(t.Context(), long, brief)) > 0 || len(seen) == 0 || len(seen) > maxRead {
		t.Errorf("%d blocks were read with a long question", len(seen))
	}
}

func TestReader_ReadsThePartsOfAQuestion(t *testing.T) {
	var cards strings.Builder
	for i := range 20 {
		fmt.Fprintf(&cards, "The library card %c of the library is no card for what is open. ", 'A'+i)
	}
	ev := about("What does a library card cost and when is the library open?",
		passage("a.md", "A library card costs twenty euros. "+cards.String()), passage("b.md", "Visitors come from ten to seven. It has a roof."))
	a, _ := scoring(map[string]string{"twenty": "What does a library card cost", "seven": "when is the library open?"})
	got := a.quotes(t.Context(), ev, brief)
	if len(got) != 2 || !strings.Contains(got[0].text+got[1].text, "twenty") || !strings.Contains(got[0].text+got[1].text, "seven") {
		t.Errorf("got %v", got)
	}
	a, _ = scoring(map[string]string{"ten to seven": "?"})
	if got := a.quotes(t.Context(), about("How may Dr. Miller come?", passage("b.md", "Visitors come from ten to seven. Miller earns little.")), brief); len(got) > 1 {
		t.Errorf("an abbreviation parts a question: %v", got)
	}
}
