package formats

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

func TestLibreOffice_WritesTheSameInAllItsFormats(t *testing.T) {
	const before = "H1 Plan of benefits\nP The deductible is 4711 euros — for everyone in Köln.\nH2 Costs\nP You pay:\n" +
		"L • 20 % at the doctor\nL • nothing in an emergency\n"
	const after = "P Ask us by June 30.\n"
	const plan = before + "TR Plan | Price\nTR Gold | 150\nTR Silver | 75\n" + after
	const prices = "H1 prices\nTH Plan | Price | From\nTR Plan: Gold; Price: 150.5; From: 2024-03-05\nTR Plan: Silver; Price: 75; From: 2024-04-01\n"
	const deck = "page 1\nP The deductible is 4711.\n"
	for name, want := range map[string]string{
		"plan.html": before + "TH Plan | Price\nTR Plan: Gold; Price: 150\nTR Plan: Silver; Price: 75\n" + after,
		"plan.docx": plan, "plan.odt": plan, "plan.rtf": plan, // which do not say that the first row is a header
		"prices.xlsx": prices, "prices.ods": prices, "deck.pptx": deck, "deck.odp": deck,
	} {
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, name, extracttest.LibreOffice(t, name)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Numbers keep their form: raised digits are no digits of the number before them, and lists count as they
// say.
func TestLibreOffice_KeepsTheFormOfNumbers(t *testing.T) {
	const want = "H1 Numbers\nP A mole has 6·10²³ atoms of H₂O and costs 5,000¹ on the 1st day.\n" +
		"L a. first\nL b. second\nL i. inner one\nL ii. inner two\nP Between.\nL C. third\n"
	for _, name := range []string{"lists.html", "lists.docx", "lists.odt"} {
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, name, extracttest.LibreOffice(t, name)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
