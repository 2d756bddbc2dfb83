package builtin

import "testing"

func TestNamesPerson(t *testing.T) {
	n := needFor(about("Who repaired the lift in Building C?"))
	for text, want := range map[string]bool{
		"It was repaired by Anna on Monday.":                      true,
		"Anna repaired it.":                                       true,
		"The work was done on Monday; Harriet Lund paid for it.":  true,
		"Mr. Rees came on Monday.":                                true,
		"J. Farrant came on Monday.":                              true,
		"The works committee had it done.":                        true,
		"The lift in Building C waits for a part from Italy.":     false,
		"Monday is too late.":                                     false,
		"The Lift Building is closed.":                            false,
		"Der Aufzug wartet auf ein Ersatzteil aus dem Lagerraum.": false,
	} {
		if got := n.namesPerson(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAsksPerson_IsNoOtherQuestion(t *testing.T) {
	for question, want := range map[string]bool{
		"Who chairs it?": true, "Qui préside ?": true, "À qui faut-il écrire ?": true, "Avec qui parler ?": true, "Wie heißt der Hausmeister?": true,
		"Qu'est-ce qui est inclus ?": false, "Comment joindre la personne qui dirige ?": false,
	} {
		if got := wantedBy(question).person; got != want {
			t.Errorf("%s: %v", question, got)
		}
	}
}

func TestNamesDoer_InitialsNeedTheVerb(t *testing.T) {
	n := needFor(about("Who presented the survey?"))
	for text, want := range map[string]bool{
		"PN presented it: 61 of 118 answered.":      true,
		"It runs on Linux, BSD and three others.":   false,
		"Harriet Lund did so on Monday afternoon.":  true,
		"The results are on the page of the house.": false,
	} {
		if got := n.namesDoer(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
