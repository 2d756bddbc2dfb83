package builtin

import (
	"strings"
	"testing"

	"parley/internal/llm"
)

func TestAnswer_RefusesWhatLacksTheKindOfAnswer(t *testing.T) {
	for _, c := range []struct{ question, text string }{
		{"Who built the tide mill?", "The tide mill was built of oak and stone, and stands by the harbour."},
		{"Who repaired the tide mill in Harbour Lane?", "The tide mill in Harbour Lane is being repaired with parts from Italy."},
		{"Which version of Python does the tide mill need?", "The tide mill is a library for Python."},
		{"What is the phone number of the Harbour Bakery?", "The Harbour Bakery opens at 7 and closes at 12."},
		{"Nach wie vielen Tagen werden alte Sicherungen gelöscht?", "Alte Sicherungen werden gelöscht, und Tage später sind sie fort."},
		{"What address do I send a report to?", "Send a report to the address of the office."},
		{"Who wrote the tide mill?", "The unit tide.service runs the tide mill, and can write to one folder."},
		{"What does the harbour tour cost?", "No claim is made that the harbour tour is at its best in winter."},
	} {
		if got := quotesOf(t, about(c.question, passage("a.md", c.text))); !isRefusal(got) {
			t.Errorf("%s: %s", c.question, got)
		}
	}
	for question, text := range map[string]string{
		"Who built the tide mill?":                                "The tide mill was built by Jonas Fell in 1820.",
		"Who repaired the tide mill?":                             "Priya repaired the tide mill in May.",
		"Which version of Python does the tide mill need?":        "The tide mill needs Python 3.8 or newer.",
		"Who signed the minutes?":                                 "The minutes were signed in haste (JF).",
		"What is the phone number of the Harbour Bakery?":         "The Harbour Bakery: call 0431 555 01.",
		"Nach wie vielen Tagen werden alte Sicherungen gelöscht?": "Alte Sicherungen werden nach 30 Tagen gelöscht.",
		"Wie hoch ist die Gebühr für das Konto?":                  "Die Gebühr für das Konto: 5,- € im Monat.",
		"What address do I send a report to?":                     "Send a report to reports@example.org.",
		"What does the harbour tour cost?":                        "For the harbour tour there is no charge.",
		"How much is paid for a mile by bicycle?":                 "For a mile by bicycle 20p is paid.",
		"What does the ferry cost?":                               "The ferry costs fifty yen.",
	} {
		if got := quotesOf(t, about(question, passage("a.md", text))); isRefusal(got) {
			t.Errorf("%s: %s", question, got)
		}
	}
}

func TestGiven_NumbersOfParagraphsAreNoAmounts(t *testing.T) {
	w := wantedBy("Was kostet die Mitgliedschaft?")
	for text, want := range map[string]float64{
		"(3) Die Mitgliedschaft endet durch Tod, siehe § 4 und Abs. 2.": 0,
		"$ mill encrypt -f feathers":                                    0,
		"Die Mitgliedschaft: 48":                                        .5,
		"Die Mitgliedschaft kostet 48 Euro.":                            1,
		"Ehrenmitglieder sind beitragsfrei.":                            1,
		"Die Mitgliedschaft: 250 kr":                                    1,
		"Die Mitgliedschaft: Rs. 500":                                   1,
		"Die Mitgliedschaft: PLN 80":                                    1,
		"Die Mitgliedschaft: 80 zł":                                     1,
		"Die Mitgliedschaft: ₺900":                                      1,
	} {
		if got := w.given(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestWanted_ThingsToBeCounted(t *testing.T) {
	u := unit{text: "Pumps: a station has 4 pumps and 2 valves."}
	for question, others := range map[string]bool{
		"How many pumps does a station have?":      false,
		"What is the number of sirens?":            true,
		"How many days does it take?":              false, // said of anything
		"Combien de sirènes y a-t-il ?":            true,
		"Wie viele Sirenen hat die Pumpstation?":   false, // a part of a longer word, perhaps
		"How much does it cost to repair a siren?": false,
	} {
		n := needFor(about(question))
		if got := n.countsOthers(&u); got != others {
			t.Errorf("%s: %v", question, got)
		}
	}
}

func TestAskedIn_IsTheLanguageOfThePassagesWhereTheWordsTellNone(t *testing.T) {
	german := []llm.Passage{{Text: "A-17 | B-9"}, {Text: "Die Kündigung muss schriftlich erklärt werden, und der Vertrag endet mit dem Monat."}}
	for question, want := range map[string]string{
		"Preis Trockner":                      "de",
		"Was kostet einmal waschen?":          "de",
		"What does it cost to use the dryer?": "en",
		"Quel est le prix du séchoir ?":       "fr",
	} {
		if got := askedIn(question, german); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
	if got := askedIn("Preis Trockner", nil); got != "en" {
		t.Errorf("without passages: %s", got)
	}
}

func TestRead_APassageStandsBelowWhatItDoesNotNameItself(t *testing.T) {
	p := llm.Passage{Text: "Installation needs a compiler.", Title: "Quillpack: a tool for feathers", Headings: []string{"Packaging"}}
	for question, want := range map[string]string{
		"Which compiler does Quillpack need?": "Quillpack: a tool for feathers: Packaging: Installation needs a compiler.",
		"Who is behind Quillpack?":            "Packaging: Installation needs a compiler.", // it has nothing of the question
		"What does an installation need?":     "Packaging: Installation needs a compiler.",
	} {
		ev := about(question, p)
		units := candidates(ev, needFor(ev))
		if units[0].text != want {
			t.Errorf("%s: %q", question, units[0].text)
		}
	}
}

func TestAnswer_QuotesTheWholeListOfAnItem(t *testing.T) {
	units := []unit{
		{passage: 0, start: 0, end: 90, list: true, score: 2.8},
		{passage: 0, start: 20, end: 40, score: 3},
		{passage: 1, start: 0, end: 90, list: true, score: 2.9},
	}
	steps := need{wanted: wanted{list: true}}
	if got := steps.wholeList(units, 1); got != 0 {
		t.Errorf("of a question for steps: %d", got)
	}
	if got := (need{}).wholeList(units, 1); got != 1 {
		t.Errorf("of another question: %d", got)
	}
	units[0].score = 2
	if got := steps.wholeList(units, 1); got != 1 {
		t.Errorf("of a list that answers worse: %d", got)
	}
}

func TestAnyNumber_IsNoArticle(t *testing.T) {
	for s, want := range map[string]bool{
		"Es dauert ein Jahr.": true, "La caution est rendue dans un mois.": true, "Keine.": true, "There is no limit.": true, "It lasts half a day.": true,
		"Der Beitrag wird monatlich fällig.": true, "Hasta el viernes.": true, "三天": true, "It has twenty-one rooms.": true,
		"Er geht zur Bank, um zu fragen.": false, "No se puede hacer.": false, "Une clé ouvre la porte.": false, "Eine Bank steht im Hof.": false,
	} {
		if got := anyNumber.MatchString(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestMoney_IsNoOtherNumber(t *testing.T) {
	for s, want := range map[string]bool{
		"It costs 25.": true, "Bike: 30; day: 48": true, "CHF 4.50 each": true, "25EUR": true, "The fee is 1,200, in cash.": true, "Adults pay 3.- a visit": true, "5k": true,
		"票价25": true, "Half of it.": true, "As of version 3.6.19 (2009-10-14) it has foreign keys.": false, "The TL-30 has a lid.": false, "Open 24/7": false,
	} {
		if got := money.MatchString(s) || bareNumber.MatchString(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestWanted_KnowsWordsThatBeginOrEndWithAnAccent(t *testing.T) {
	for question, want := range map[string]wanted{
		"È vietato fumare nella sala?":        {decision: true},
		"¿Está permitido fumar?":              {decision: true},
		"Qu’est-ce que la caution ?":          {definition: true},
		"Há estacionamento?":                  {decision: true},
		"Établissez la liste":                 {},
		"Where does the ferry to Fårö leave?": {},
	} {
		got := wantedBy(question)
		if got.decision != want.decision || got.time != want.time || got.definition != want.definition {
			t.Errorf("%s: %+v", question, got)
		}
	}
	for s, want := range map[string]bool{"Sí, con tarjeta.": true, "Si può pagare alla cassa.": true, "Il forno si accende da solito.": false} {
		if got := permits.MatchString(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestWanted_ADateForWhatIsPast(t *testing.T) {
	for question, wants := range map[string]bool{
		"When was the pier opened?": true, "In welchem Jahr wurde der Steg gebaut?": true, "Quand a été construit le quai ?": true, "码头是哪一年建成的？": true,
		"When does the lamp turn green?": false, "Wann darf ich baden?": false,
	} {
		if got := wantedBy(question).quantity == aDate; got != wants {
			t.Errorf("%s: %v", question, got)
		}
	}
	for s, want := range map[string]bool{
		"The pier was opened in May.": true, "It dates from 1887.": true, "It was built after the flood.": true, "18世纪": false, "1887年": true,
		"The pier thanks all who gave.": false, "Version 15.3 is out.": false,
	} {
		if got := aDate.MatchString(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestWanted_AmountsOfDataAndOfOtherThings(t *testing.T) {
	for _, c := range []struct {
		question, text string
		given          bool
	}{
		{"How much memory does the server need?", "You must have at least 780MB of memory.", true},
		{"How much disk space do I need?", "The log takes 2 GiB on disk.", true},
		{"How much RAM is recommended?", "Set lowmem=1, see Section 6.3.", false},
		{"How much disk space do I need?", "It is one of three images, see table 4.", false},
		{"Wie viel Speicher braucht der Server?", "Der Server braucht 4 GB.", true},
		{"How much annual leave do I get?", "Staff get 25 days a year.", true},
		{"How much flour goes into the dough?", "Take 500g of flour.", true},
		{"How much does the licence cost?", "The licence is in chapter 12.", false},
		{"How many rooms are there?", "There are twelve rooms, see page 3.", true},
		{"How many rooms are there?", "The rooms are shown on page 3.", false},
		{"How many rooms are there?", "No one knows the rooms.", false},
		{"How many rooms are there?", "Clean every room.", false},
		{"How many rooms can I book?", "As many as you like.", true},
		{"How many times a week is it cleaned?", "It is cleaned every day.", true},
		{"How much is the fine?", "Fines end on the due date, at the second reminder.", false},
		{"How much is the fine?", "The fine is in the License, Version 2.0 (the terms).", false},
		{"What is the fine for a late book?", "Fines end on the due date, at the second reminder.", false},
		{"What is the fine for a late book?", "The fine is 30 cents a day.", true},
		{"Quanto costa la multa?", "La multa costa due euro.", true},
		{"How long is the loan?", "It is for anyone at the desk.", false},
		{"How long is the loan?", "It ends after 21 days.", true},
		{"Wie lange dauert die Ausleihe?", "Im Abo oder an der Kasse.", false},
		{"Wie lange dauert die Ausleihe?", "Es gilt eine dreimonatige Frist.", true},
		{"What are the opening hours?", "The library is on the second floor of 3 High Street.", false},
		{"What are the opening hours?", "Monday to Friday, 9am to 6pm.", true},
		{"Wie sind die Öffnungszeiten?", "Mo–Fr 8–18 Uhr.", true},
	} {
		w := wantedBy(c.question)
		if got := w.given(c.text) > 0; got != c.given {
			t.Errorf("%s %s: %v", c.question, c.text, got)
		}
	}
}

func TestNeed_AQuestionThatOnlyAddsASubjectWantsWhatTheOneBeforeWants(t *testing.T) {
	for question, wants := range map[string]bool{
		"And a sledge?": true, "And for a child?": true, "Und für Kinder?": true,
		"And is it free?": false, "And who lends it?": false, "Where is it?": false,
	} {
		ev := about(question)
		ev.Previous = []string{"How long may I keep a bike?"}
		if got := needFor(ev).wanted.quantity == duration; got != wants {
			t.Errorf("%s: %v", question, got)
		}
	}
}

func TestCandidates_AsLongAsIsNotHowLong(t *testing.T) {
	ev := about("How long may I keep the bike?", passage("bikes.md", "You may keep riding the bike as long as it has air.\n\nBring the bike back after 14 days."))
	for _, u := range candidates(ev, needFor(ev)) {
		if want := strings.Contains(u.key, "14"); u.terms["long"] != want {
			t.Errorf("%s: %v", u.key, u.terms)
		}
	}
}
