package builtin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/text"
	"parley/test/needs"
)

func TestSuggest_AsksWhatTheCorpusAnswersAndNobodyAsked(t *testing.T) {
	needs.Long(t)
	p := newProduct(collection(t, "manual.txtar"))
	suggested := 0
	for i, line := range readLines(t, "manual.tsv") {
		if needs.Race && i%5 != 0 {
			continue // the race detector makes each take seconds
		}
		question, _, _ := strings.Cut(line, "\t")
		turn := p.askAndSuggest(t, question)
		if len(turn.FollowUps) > maxSuggestions {
			t.Errorf("%q: %d suggestions", question, len(turn.FollowUps))
		}
		if diff := cmp.Diff(turn.FollowUps, p.askAndSuggest(t, question).FollowUps); diff != "" {
			t.Errorf("%q: suggestions differ: %s", question, diff)
		}
		asked := [][]string{topicTerms(question)}
		for _, q := range turn.FollowUps {
			suggested++
			if refuses(p.ask(t, q)) {
				t.Errorf("%q suggests %q, which is refused", question, q)
			}
			if refuses(p.ask(t, question, turn.Messages[0].Text, q)) {
				t.Errorf("%q suggests %q, which is refused as the next question", question, q)
			}
			if slices.ContainsFunc(asked, func(a []string) bool { return sameTopic(a, topicTerms(q)) }) {
				t.Errorf("%q suggests %q, which asks the same", question, q)
			}
			asked = append(asked, topicTerms(q))
			if again := p.askAndSuggest(t, q, "Something.", question).FollowUps; slices.Contains(again, q) {
				t.Errorf("%q is suggested after it was asked", q)
			}
		}
	}
	t.Logf("%d suggestions", suggested)
	if suggested < 60 && !needs.Race {
		t.Errorf("only %d suggestions", suggested)
	}
}

// Headings near what was found would make questions, which the user did not ask for.
func TestSuggest_NothingAfterARefusal(t *testing.T) {
	p := newProduct(collection(t, "manual.txtar"))
	refused := 0
	for _, q := range append(readLines(t, "offcorpus.txt")[:8], "Wer hat das Spiel am Samstag gewonnen?", "¿Quién ganó el partido del sábado?") {
		turn := p.askAndSuggest(t, q)
		if !text.IsRefusal(turn.Messages[0].Text) {
			continue
		}
		if refused++; len(turn.FollowUps) > 0 {
			t.Errorf("%q is answered %q, and then %q is suggested", q, turn.Messages[0].Text, turn.FollowUps)
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
}

func TestRefusals_AreKnownAsSuch(t *testing.T) {
	for language, say := range refusals {
		if !text.IsRefusal(say.refusal) {
			t.Errorf("%s: %q", language, say.refusal)
		}
	}
}

// suggestInput is what the engine would give after a question to which one passage was found, when
// further searches find another.
func suggestInput(question string, passage, other retrieval.Passage) chat.SuggestInput {
	return chat.SuggestInput{
		Question: question, Query: question, Passages: []retrieval.Passage{passage},
		Search: func(ctx context.Context, text string, _ []retrieval.WeightedTerm) (retrieval.Result, error) {
			return found{other}.Search(ctx, retrieval.Query{Text: text})
		},
	}
}

func TestSuggest_LeavesOutWhatCannotBeAnswered(t *testing.T) {
	p := stored("a.md", 0, "A locker is a box for your clothes.")
	p.Chunk.Headings = []string{"Opening hours", "Submarine voyages to Atlantis"}
	other := stored("a.md", 0, "The hours of opening are from eight to ten. A badge is a card with your picture.")
	got, err := (Answerer{}).Suggest(context.Background(), suggestInput("What is a locker?", p, other))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"What are the opening hours?", "What is a badge?"}, got); diff != "" {
		t.Errorf("suggestions differ (-want +got):\n%s", diff)
	}
}

func TestSuggest_LeavesOutWhatTheAnswerHasSaid(t *testing.T) {
	p := stored("a.md", 0, "A locker is a box for your clothes.")
	p.Chunk.Headings = []string{"Opening hours"}
	in := suggestInput("What is a locker, and when is it open?", p, stored("a.md", 0, "The hours of opening are from eight to ten."))
	for answer, want := range map[string][]string{
		"A box for your clothes. [a.md]":                     {"What are the opening hours?"},
		"The hours of opening are from eight to ten. [a.md]": nil,
	} {
		in.Answer = answer
		got, err := (Answerer{}).Suggest(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %q: suggestions differ (-want +got):\n%s", answer, diff)
		}
	}
}

func TestNamesIn_AreWordsThatAlwaysHaveACapital(t *testing.T) {
	passages := []retrieval.Passage{
		stored("a.md", 0, "He flew to Kenya. The Trip was long. Plan: Core; Pay: none"),
		stored("b.md", 0, "The trip to Nairobi, Lamu and back. We saw a lamu."),
	}
	got := slices.Sorted(maps.Keys(namesIn(passages)))
	if diff := cmp.Diff([]string{"Kenya", "Nairobi"}, got); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

func TestSuggest_LeavesOutWhatTheConversationWouldHide(t *testing.T) {
	p := stored("a.md", 0, "A locker is a box for your clothes.")
	p.Chunk.Headings = []string{"Opening hours"}
	in := suggestInput("What is a locker?", p, stored("a.md", 0, "The hours of opening are from eight to ten."))
	in.Previous, in.Answer = []string{"Where is the gym?"}, "A box for your clothes [a.md]."
	search := in.Search
	for hidden, want := range map[bool][]string{false: {"What are the opening hours?"}, true: nil} {
		var words []string
		in.Search = func(ctx context.Context, text string, beside []retrieval.WeightedTerm) (retrieval.Result, error) {
			if len(beside) == 0 {
				return search(ctx, text, nil)
			}
			words = words[:0]
			for _, w := range beside {
				words = append(words, w.Word)
			}
			if hidden {
				return retrieval.Result{}, nil
			}
			return search(ctx, text, beside)
		}
		got, err := (Answerer{}).Suggest(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("hidden %v: suggestions differ (-want +got):\n%s", hidden, diff)
		}
		slices.Sort(words)
		if diff := cmp.Diff([]string{"box", "clothes", "gym", "locker"}, words); diff != "" {
			t.Errorf("the words of the conversation: %s", diff)
		}
	}
}

func TestSuggest_BoundsItsSearches(t *testing.T) {
	p := stored("a.md", 0, "Nothing of this is here.")
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		p.Chunk.Headings = append(p.Chunk.Headings, "Walnuts and "+string(c)+"alnuts")
	}
	in := suggestInput("What is a locker?", p, stored("b.md", 0, "Nothing of this is there."))
	search, searches := in.Search, 0
	in.Search = func(ctx context.Context, text string, beside []retrieval.WeightedTerm) (retrieval.Result, error) {
		searches++
		return search(ctx, text, beside)
	}
	if got, err := (Answerer{}).Suggest(context.Background(), in); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
	if searches != 1+maxCandidates {
		t.Errorf("%d searches", searches)
	}
}

func TestSuggest_ReturnsTheErrorOfASearch(t *testing.T) {
	broken := errors.New("broken")
	p := stored("a.md", 0, "The office opens at eight.")
	p.Chunk.Headings = []string{"Opening hours"}
	for fails := range 2 {
		in := suggestInput("What is a locker?", p, p)
		search, searches := in.Search, 0
		in.Search = func(ctx context.Context, text string, beside []retrieval.WeightedTerm) (retrieval.Result, error) {
			if searches++; searches > fails {
				return retrieval.Result{}, broken
			}
			return search(ctx, text, beside)
		}
		if got, err := (Answerer{}).Suggest(context.Background(), in); !errors.Is(err, broken) || got != nil {
			t.Errorf("search %d: got %q, %v", fails+1, got, err)
		}
	}
}

func TestFromHeading_MakesQuestions(t *testing.T) {
	for _, c := range []struct{ heading, above, want string }{
		{"How to enrol", "Plans", "How do I enrol?"},
		{"Reset your password", "Accounts", "How do I reset your password?"},
		{"Let a model write the answers", "Guide", "How do I let a model write the answers?"},
		{"Why a file was not indexed", "Ingestion", "Can you explain why a file was not indexed?"},
		{"Who can reach Parley", "Security", "Can you explain who can reach Parley?"},
		{"Is it free?", "FAQ", "Is it free?"},
		{"Exceptions", "Dental plan", "What does Dental plan say about exceptions?"},
		{"3.2 Parental leave", "Handbook", "What does Handbook say about parental leave?"},
		{"2026-11-21: exit codes for scripts", "Decisions", "What are the exit codes for scripts?"},
		{"PARENTAL LEAVE", "Handbook", "What does Handbook say about parental leave?"},
		{"The Northwind Plan", "Handbook", "What does Handbook say about The Northwind Plan?"},
		{"Pay day", "Handbook", "What does Handbook say about pay day?"},
		{"Report a loss", "Handbook", "How do I report a loss?"},
		{"Introduction", "Handbook", ""},
		{"Locks", "Handbook", "What does Handbook say about locks?"},
		{"Termination", "3.5. Additional Terms", "How does termination work?"},
		{"Locks", "3.5. Additional Terms", "What does Additional Terms say about locks?"},
		{"Authentication", "Security", "How does authentication work?"},
		{"Renewing a card", "Library", "How does renewing a card work?"},
		{"Notice period", "Contract", "What is the notice period?"},
		{"Parental leave", "leave.pdf", "What do the documents say about parental leave?"},
		{"Chapter 4", "Handbook", ""},
		{"B.2 Opening hours", "Handbook", "What are the opening hours?"},
		{"What to expect", "Security", "What does Security say about what to expect?"},
		{"An old flaw stops thousands of servers.", "Handbook", ""},
		{"Opening hours", "Handbook", "What are the opening hours?"},
		{"Business ethics", "Handbook", "What does Handbook say about business ethics?"},
		{"Fees and fines", "Handbook", "What does Handbook say about fees and fines?"},
		{"Working abroad", "Handbook", "What does Handbook say about working abroad?"},
		{"Kenya trip", "News", "What does News say about Kenya trip?"},
		{"What it does", "Handbook", ""},
		{"Of the", "Handbook", ""},
		{"1,000 / 2,000 (%)", "Handbook", ""},
		{strings.Repeat("very long ", 10), "Handbook", ""},
		{"", "Handbook", ""},
	} {
		got, plain := fromHeading(c.heading, c.above, map[string]bool{"Kenya": true})
		if plain != strings.Contains(got, " say about ") {
			t.Errorf("%q is plain: %v", got, plain)
		}
		if got != c.want {
			t.Errorf("fromHeading(%q, %q) = %q, want %q", c.heading, c.above, got, c.want)
		}
	}
}

func TestQuestionsFrom_SpeakTheLanguageOfTheDocument(t *testing.T) {
	for _, c := range []struct{ heading, text, want string }{
		{"3.2 Urlaub", "Die Beschäftigten erhalten im Jahr dreißig Tage Urlaub, wenn sie das ganze Jahr gearbeitet haben.", "Was gilt für „Urlaub“?"},
		{"Combien coûte une carte ?", "La carte coûte dix euros par an et elle est gratuite pour les enfants.", "Combien coûte une carte ?"},
		{"Kündigung", "Die Kündigung wird schriftlich erklärt, und das Amt ist daran gebunden.", "Wie funktioniert die Kündigung?"},
		{"Wie ein Konto gesperrt wird", "Das Konto wird von der Verwaltung gesperrt, wenn es nicht mehr genutzt wird.", "Können Sie erklären, wie ein Konto gesperrt wird?"},
		{"KAPITEL 4", "Dies ist die Regel. Die Kaution ist eine Sicherheit für den Vermieter, und sie wird nach dem Auszug zurückgezahlt.", "Was ist die Kaution?"},
		{"Inscription", "Les élèves peuvent la demander au bureau pendant les heures de la mairie.", "Comment fonctionne l’inscription ?"},
		{"Divers", "La caution est une somme que le client verse avant la location et qui est rendue.", "Qu’est-ce que la caution ?"},
		{"Inscripción", "Los alumnos pueden pedirla en la oficina durante las horas de la mañana.", "¿Cómo funciona la inscripción?"},
		{"Iscrizione", "Gli alunni possono chiederla presso gli uffici del comune durante la mattina.", "Come funziona l’iscrizione?"},
		{"Inscrição", "Os alunos podem pedir isso na secretaria durante a manhã, e não há custo.", "Como funciona a inscrição?"},
		{"第四章", "劳动合同是指员工和公司之间的书面协议。", "什么是劳动合同？"},
		{"休假", "员工工作满一年以后，每年可以休假十天。", "关于“休假”有什么规定？"},
		{"Opening hours", "The library is open from nine to six on all days but Sunday.", "What are the opening hours?"},
	} {
		got := questionsFrom([]retrieval.Passage{{Chunk: retrieval.Chunk{Headings: []string{c.heading}, Text: c.text}, Document: retrieval.Document{Title: "T"}}})
		if len(got) == 0 || got[0] != c.want {
			t.Errorf("%q: %q, want %q", c.heading, got, c.want)
		}
	}
}

func TestFromDefinition_MakesQuestions(t *testing.T) {
	for in, want := range map[string]string{
		"Coinsurance is the share that you pay.":            "What is coinsurance?",
		"An Out-of-Network Provider is a doctor elsewhere.": "What is an Out-of-Network Provider?",
		"Deductibles are the amounts that you pay.":         "What are deductibles?",
		"HMO refers to a kind of plan.":                     "What is HMO?",
		"The Executive Board is the highest body.":          "What is the Executive Board?",
		"The following are the rules.":                      "",
		"Second class is the rule; first class is not.":     "",
		"Nuts are the main reason for it.":                  "",
		"It is a plan.":                                     "",
		"This plan is the best.":                            "",
		"The sun shines.":                                   "",
	} {
		if got := fromDefinition(in, nil); got != want {
			t.Errorf("fromDefinition(%q) = %q, want %q", in, got, want)
		}
	}
}
