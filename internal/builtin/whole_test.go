package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/text"
)

func TestAsksSummary_KnowsRequestsFromQuestions(t *testing.T) {
	for question, want := range map[string]bool{
		"Summarize handbook.pdf": true, "Can you summarise the travel policy?": true, "give me a short summary of the travel policy": true,
		"tl;dr": true, "TLDR of the report": true, "travel policy, tl;dr": true, "What are the key points of the report?": true,
		"What is handbook.pdf about?": true, "Fasse die Hausordnung zusammen": true, "Worum geht es in der Hausordnung?": true,
		"Résume le règlement": true, "De quoi parle le règlement ?": true, "Hazme un resumen del reglamento": true, "请总结员工手册": true,
		"What does this document say?": true, "Explain the report": true, "What's in this file?": true, "What topics does the handbook cover?": true,
		"What does the report say about costs?": false, "What is in the file drawer?": false, "Explain the document check": false,
		"Where do I find the summary of benefits?": false, "Who wrote the summary?": false, "How long may a summary be?": false,
		"What must I do before I summarize a case?": false, "What does the warranty cover?": false, "Who may use the shuttle?": false,
		"Wie hoch ist die Fassade?": false, "Wo finde ich die Zusammenfassung?": false, "How do I resume a download?": false,
	} {
		if got := asksSummary(question); got != want {
			t.Errorf("%s: %v, want %v", question, got, want)
		}
	}
}

func TestAnswer_SummarizesWhatIsNamed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"travel-policy.md": "# Travel policy\n\nThis policy says how staff of Brackwell travel for work and what they are paid back.\n\n" +
			"## Trains\n\nTrips below four hours are made by train, in second class.\n\n## Hotels\n\nA hotel may cost 120 euros a night, with breakfast.\n",
		"parking.md": "# Parking\n\nThe car park behind the mill has 48 spaces, of which six are kept for visitors.\n\n" +
			"## Bicycles\n\nBicycles stand under the roof next to the gate, and nowhere else.\n",
		"sauna.md": "# Sauna\n\n## How hot is it?\n\nNinety degrees in the big one, sixty in the small one.\n\n" +
			"## Notes\n\nGuests find here what they ask most often about the sauna.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newProduct(index(t, dir, inProcess{}))
	const travel, parking = "how staff of Brackwell travel", "48 spaces"
	for _, c := range []struct {
		messages []string
		want     string // "" for a refusal
	}{
		{[]string{"Summarize travel-policy.md"}, travel},
		{[]string{"Give me a summary of the travel policy"}, travel},
		{[]string{"What is parking.md about?"}, parking},
		{[]string{"parking tl;dr"}, parking},
		{[]string{"Summarise the section on bicycles"}, "under the roof"},
		{[]string{"How much may a hotel cost?", "A hotel may cost 120 euros a night, with breakfast. [travel-policy.md]", "tl;dr"}, "Trips below"},
		{[]string{"Summarize sauna.md"}, "Guests find here what they ask most"},
		{[]string{"Summarize the holiday policy"}, ""},
		{[]string{"Summarize quay.md"}, ""},
	} {
		got := p.ask(t, c.messages...).Messages[0].Text
		if c.want == "" && !text.IsRefusal(got) || !strings.Contains(got, c.want) {
			t.Errorf("%q: %s\nwant %q", c.messages, got, c.want)
		}
	}
}
