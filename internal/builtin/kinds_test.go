package builtin

import (
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

// The documents have what manuals and handbooks have beside prose, and are not all in English; some questions
// go on about the one before.
func TestAnswer_KnowsWhatDocumentsOfManyKindsSay(t *testing.T) {
	needs.Long(t)
	measuresAnswers(t)
	p := newProduct(collection(t, "kinds.txtar"))
	right, answerable, cited, citedRight, wrong, others := 0, 0, 0, 0, 0, 0
	for _, line := range readLines(t, "kinds.tsv") {
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			t.Fatalf("no document and answer in the line %q", line)
		}
		turn := p.converse(t, strings.Split(f[0], " | ")...)
		got := turn.Messages[0].Text
		if f[2] == "-" {
			others++
			if !refuses(turn) {
				wrong++
				t.Logf("not refused: %q\n\t%s", f[0], got)
			}
			continue
		}
		answerable++
		for _, c := range turn.Messages[0].Citations {
			if cited++; c.Name == f[1] {
				citedRight++
			}
		}
		if slices.ContainsFunc(strings.Split(f[2], ";"), func(want string) bool { return !strings.Contains(got, want) }) {
			t.Logf("%q should be answered with %q\n\t%s", f[0], f[2], got)
			continue
		}
		right++
	}
	t.Logf("%d of %d questions are answered, %d of %d citations right, and %d of %d answered that the documents do not answer",
		right, answerable, citedRight, cited, wrong, others)
	if float64(right) < 0.9*float64(answerable) || float64(citedRight) < 0.95*float64(cited) || wrong > 0 {
		t.Error("too many wrong refusals, or too many wrong answers")
	}
}

// A question from elsewhere is no better answered because of what was talked of before.
func TestAnswer_RefusesWhatIsElsewhereAlsoInAConversation(t *testing.T) {
	needs.Long(t)
	measuresAnswers(t)
	p := newProduct(collection(t, "kinds.txtar"))
	questions, answered := readLines(t, "offcorpus.txt"), 0
	for i, q := range questions {
		first := []string{"How many days of PTO do I get each month?", "How long does the Kestrel need to charge?", "What does basic cover pay for each parcel?"}
		if turn := p.converse(t, first[i%len(first)], q); !refuses(turn) {
			answered++
			t.Logf("not refused: %q\n\t%s", q, turn.Messages[0].Text)
		}
	}
	if len(questions) < 50 || float64(answered) > (1-minRefused)*float64(len(questions)) {
		t.Errorf("%d of %d questions that the documents do not answer are answered", answered, len(questions))
	}
}

func TestAnswerer_QuotesARowOfATableAlone(t *testing.T) {
	p := newProduct(collection(t, "kinds.txtar"))
	for question, want := range map[string]string{
		"What is the payload of the Heron?":         "Heron — Payload: 1,250 kg; Range: 260 km; Height: 2.6 m; Daily rate: 110 EUR [vans.md]",
		"What does HF-429 mean?":                    "HF-429 — Meaning: Too many requests; What to do: Wait 60 seconds [api.md]",
		"What is the phone number of the workshop?": "A red light means: stop at once and call the workshop on 0800 555 019. [vans.md]",
		"Who was absent from the meeting?":          "Absent: Ruth Klein. [minutes.txt]",
	} {
		if got := p.ask(t, question).Messages[0].Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %q\nwant %q", question, got, want)
		}
	}
}
