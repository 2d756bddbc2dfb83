package builtin

import (
	"slices"
	"strings"
	"testing"

	"parley/internal/llm"
)

func TestAnswer_NoToAnotherQuestionIsNone(t *testing.T) {
	faq := passage("faq.md", "Do you pay for coffee?\n\nNo, never, not even at Christmas.\n\nMay parcels be sent back?\n\nNo, unless the seal is whole.")
	for question, want := range map[string]bool{
		"Which parcels can't be sent back?":        true, // the question above names them
		"Which invoices can never be paid by card": false,
		"Who may never sign?":                      false,
	} {
		ev := about(question, faq)
		said := slices.ContainsFunc(candidates(ev, needFor(ev)), func(u unit) bool { return strings.HasPrefix(u.key, "No, ") })
		if said != want {
			t.Errorf("%s: %v", question, said)
		}
	}
}

func TestDefines_InSeveralLanguages(t *testing.T) {
	for subject, text := range map[string]string{
		"liberté":  "La liberté consiste à pouvoir faire tout ce qui ne nuit pas à autrui.",
		"Werktag":  "Ein Werktag ist jeder Tag, der kein Sonntag ist.",
		"fianza":   "La fianza es la suma que se entrega al firmar.",
		"emprunt":  "L’emprunt est gratuit pour les membres.",
		"custódia": "A custódia é a guarda dos livros.",
		"tare":     "The tare is the weight of the empty box.",
		"试用期":      "试用期是指双方相互考察的期间。",
	} {
		n := needFor(about(subject))
		if !n.defines(text) || n.defines("La caja es grande.") || n.defines("Das Wetter ist schön.") {
			t.Errorf("%s: %v", subject, n.terms)
		}
	}
}

func TestDefines_NotWhatBeginsWithAnotherThing(t *testing.T) {
	n := needFor(about("What is preseeding?"))
	for text, want := range map[string]bool{
		"Preseeding provides a way to answer questions ahead.":           true,
		"preseeding - answer questions ahead of time":                    true,
		"For network preseeding it is only after the network is set up.": false,
		"This preseeding is called early preseeding.":                    false,
	} {
		if got := n.defines(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestLeans_OnWhatItsObjectPointsTo(t *testing.T) {
	for text, want := range map[string]bool{
		"You can find them in the same folder.": true, "Store these at room temperature.": true, "You can find the keys in the drawer.": false, "Parcels reach them in May.": false,
	} {
		if got := leans(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCandidates_CommandsAndShortSentencesBelowTheirHeadings(t *testing.T) {
	install := passage("help.md", "Advanced\n\nmill\n\nmill add quill\n\nwheel\n\nwheel add quill\n\nThe colour of feathers can be set there.", "Help", "Advanced")
	law := passage("terms.md", "9. Governing law\n\nDutch law applies. Disputes are brought before the courts of Utrecht.", "Terms", "9. Governing law")
	named := llm.Passage{Title: "quill-pack: a tool", Text: "quill-pack: a tool\n\nquill-pack is a small tool for feathers."}
	for question, c := range map[string]struct {
		p    llm.Passage
		want string
	}{
		"How do I install quill with wheel?": {install, "wheel add quill"},
		"Which law applies?":                 {law, "Dutch law applies."},
		"What is quill-pack?":                {named, "quill-pack is a small tool for feathers."},
	} {
		ev := about(question, c.p)
		if !slices.ContainsFunc(candidates(ev, needFor(ev)), func(u unit) bool { return u.key == c.want }) {
			t.Errorf("%s: no block %q", question, c.want)
		}
	}
	if ev := about("Which feathers may be sold?", law); slices.ContainsFunc(candidates(ev, needFor(ev)), func(u unit) bool { return u.key == "Dutch law applies." }) {
		t.Error("a short sentence on something else may be quoted")
	}
}

func TestCandidates_LinesThatOnlyAddressAnswerNothing(t *testing.T) {
	mail := passage("offer.eml", "From: \"Ada Fenn\" <ada@fenn.example>\nTo: Ewan Rees <ewan@rees.example>\n\nDear Ewan, each pump costs 212 pounds.\n\nhttp://www.fenn.example/pumps/offer/2026")
	for question, want := range map[string]int{
		"What did Ada Fenn offer Ewan Rees per pump?":  1,
		"Who sent the offer for pumps to Ewan Rees?":   3,
		"What is the email address of Ada Fenn, Ewan?": 3,
	} {
		ev := about(question, mail)
		if got := candidates(ev, needFor(ev)); len(got) != want {
			t.Errorf("%s: %d blocks", question, len(got))
		}
	}
}

func TestBlocks_AnItemEndsWithTheCommandThatItLeadsTo(t *testing.T) {
	p := passage("teams.md", "• Every club has a first team, so you can see who is in it.\n• Create a new team:\n\nclub team create <name>\n\n• Add members to that team:\n\nclub team add <name>")
	ev := about("How do I make a new team?", p)
	var keys []string
	for _, u := range candidates(ev, needFor(ev)) {
		keys = append(keys, u.key)
	}
	if !slices.Contains(keys, "Create a new team: club team create <name>") {
		t.Errorf("no block has the command: %q", keys)
	}
	if slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(k, ":") }) {
		t.Errorf("a block ends with what leads on: %q", keys)
	}
}

func TestBlocks_ListsOfOtherPagesAnswerNothing(t *testing.T) {
	for _, heading := range []string{"See also", "Siehe auch:", "Voir aussi"} {
		p := passage("teams.md", "Teams share their rooms with nobody.\n\n"+heading+"\n\n• The club team and its members\n• The club access and its members")
		ev := about("How do I take access away from members?", p)
		for _, u := range candidates(ev, needFor(ev)) {
			if strings.Contains(u.key, "its members") {
				t.Errorf("%s: %q is a block", heading, u.key)
			}
		}
	}
}

func TestAnswer_BeginsWithTheNameInSmallLettersThatADocumentBeginsWith(t *testing.T) {
	p := passage("readme.md", "fswatcher is a library that tells programs which files have changed.\n\nIt needs version 2 of the compiler.\n\nThe licence is free.")
	if got := choose(about("What is fswatcher?", p), brief); len(got) > 0 {
		t.Errorf("the rest of a sentence is quoted: %v", got)
	}
	p.Parts = 2
	if got := choose(about("What is fswatcher?", p), brief); len(got) == 0 || !strings.HasPrefix(got[0].text, "fswatcher is a library") {
		t.Errorf("answered with %v", got)
	}
}

func TestAnswer_AQuotedQuestionIsNotAnswered(t *testing.T) {
	p := passage("decisions.md", `With a lower threshold "What is the capital of France?" was answered with another capital.`)
	ev := about("What is the capital of France?", p)
	if units := candidates(ev, needFor(ev)); len(units) > 0 {
		t.Errorf("%q answers", units[0].key)
	}
	ev = about("What does a lower threshold do?", p)
	if units := candidates(ev, needFor(ev)); len(units) == 0 {
		t.Error("the sentence answers no other question either")
	}
}

func TestAnswer_QuotesTheSentenceBesideOneThatRepeatsTheQuestion(t *testing.T) {
	p := passage("lamps.md", "Sometimes the red lamp on the lid blinks. It stops when the tank is filled with fresh water.\n\nThe lid is made of steel.")
	said := ""
	for _, q := range choose(about("The red lamp on the lid blinks", p), brief) {
		said += q.text + " "
	}
	if !strings.Contains(said, "fresh water") || strings.Contains(said, "steel") {
		t.Errorf("answered with %q", said)
	}
}
