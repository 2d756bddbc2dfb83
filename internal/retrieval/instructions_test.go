package retrieval

import (
	"strings"
	"testing"
)

func TestInstructions_AreWhatSaysHowToAnswer(t *testing.T) {
	for question, want := range map[string]string{
		"What was the cost in 2018? Round your answer to two decimals.":                      "Round your answer to two decimals.",
		"How high is the margin? If it is not a useful measure, then please state that.":     "If it is not a useful measure, then please state that.",
		"What is the fee? Answer in USD millions. Give a reason from the notes.":             "Answer in USD millions.|Give a reason from the notes.",
		"Give an overview of the plans.":                                                     "",
		"My kettle leaks. What do I do?":                                                     "",
		"What happens if I return it late? Who pays if I state the wrong address? And when?": "",
		"": "",
	} {
		var got []string
		for _, sp := range instructions(question) {
			got = append(got, question[sp.Start:sp.End])
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%q: instructions %q, want %q", question, s, want)
		}
	}
}

func TestSubjectTerms_HaveYearsAndJoinedWords(t *testing.T) {
	terms := make(map[string]bool)
	for _, term := range subjectTerms("What did American Water Works spend in FY2021 and 2Q23?", nil) {
		terms[term.Text] = true
	}
	for _, want := range []string{"2021", "2023", "americanwaterwork", "americanwat"} {
		if !terms[want] {
			t.Errorf("%q is not among %v", want, terms)
		}
	}
}
