package builtin

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

func listed(t *testing.T, ev *llm.Evidence) string {
	t.Helper()
	var b strings.Builder
	for c, err := range (Answerer{}).Stream(context.Background(), llm.Request{Model: FindingsName, Evidence: ev}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Model != FindingsName {
			t.Errorf("the model is %q", c.Model)
		}
		b.WriteString(c.Text)
	}
	return b.String()
}

func TestFindings_ListMoreThanAnAnswerHolds(t *testing.T) {
	ev := about("What does the dental plan cover?",
		passage("a.pdf#page=1", "The dental plan covers fillings. The dental plan covers crowns. Lunch is at noon."),
		passage("b.pdf#page=2", "The dental plan covers bridges. The garden is open."),
		passage("c.md", "Members of the dental plan see a doctor."),
		passage("d.md", "The dental plan is for all."))
	got := listed(t, ev)
	want := "- The dental plan covers fillings. [a.pdf#page=1]\n- The dental plan covers crowns. [a.pdf#page=1]\n" +
		"- The dental plan covers bridges. [b.pdf#page=2]\n- Members of the dental plan see a doctor. [c.md]\n" +
		"- The dental plan is for all. [d.md]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if answered := quotesOf(t, ev); strings.Count(answered, "[") >= strings.Count(got, "[") {
		t.Errorf("the answer is no shorter: %q", answered)
	}
}

func TestFindings_AreNoneWhereTheEvidenceHoldsNoAnswer(t *testing.T) {
	for name, ev := range map[string]*llm.Evidence{
		"no evidence": nil,
		"no passages": about("What is it?"),
		"off topic":   about("Who won the football match yesterday?", passage("a.md", "Lunch is at noon.")),
	} {
		if got := listed(t, ev); got != Refusal {
			t.Errorf("%s: %q", name, got)
		}
	}
}
