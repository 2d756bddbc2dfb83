package builtin

import "testing"

func TestAnswer_TellsOfBothThingsThatAreCompared(t *testing.T) {
	modes := []string{
		"A reset is soft, mixed or hard. Each has its use, and the reset is quick. The reset of the office clock is another matter.",
		"The soft mode is the one that keeps the index. It is quick.",
		"The hard mode is the one that empties the folder. Take care.",
	}
	var passages []string
	passages = append(passages, modes...)
	for question, want := range map[string]string{
		"What is the difference between the soft mode and the hard mode?": "The soft mode is the one that keeps the index. [1.md] The hard mode is the one that empties the folder. [2.md]",
		"How does the soft mode differ from the hard mode?":               "The soft mode is the one that keeps the index. [1.md] The hard mode is the one that empties the folder. [2.md]",
	} {
		ev := about(question, passage("0.md", passages[0]), passage("1.md", passages[1]), passage("2.md", passages[2]))
		if got := quotesOf(t, ev); got != want {
			t.Errorf("%s: %s", question, got)
		}
	}
	ev := about("What is the difference between the soft mode and the loud mode?", passage("1.md", modes[1]))
	if got := (Answerer{}).bothSides(t.Context(), ev, nil); len(got) > 0 {
		t.Errorf("of a thing that no document has: %q", got[0].key)
	}
}
