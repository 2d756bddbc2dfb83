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
	for _, term := range subjectTerms("What did American Water Works spend in FY2021 and 2Q23?") {
		terms[term.Text] = true
	}
	for _, want := range []string{"2021", "2023", "americanwaterwork", "americanwat"} {
		if !terms[want] {
			t.Errorf("%q is not among %v", want, terms)
		}
	}
}

// "Does Parley need a language model?" is no question for the document that begins with language models.
func TestSubjectTerms_AreNames(t *testing.T) {
	for query, want := range map[string]string{
		"Does Parley need a language model?":     "parley",
		"Amcor sold what? Which of 3M is higher": "amcor, 3m",
		"what is the notice period":              "",
		"Wie lang ist die Probezeit bei Siemens": "",
	} {
		var got []string
		for _, term := range subjectTerms(query) {
			if strings.Contains(strings.ToLower(query), term.Text) { // not two words as one
				got = append(got, term.Text)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q: %q, want %q", query, s, want)
		}
	}
}
