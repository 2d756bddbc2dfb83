package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

// said is the fold of an answer's stream.
type said struct {
	quotes []quote // refusals have no citation
	text   string
	chunks []llm.Chunk
}

// answer streams the answer to the evidence and takes it apart again.
func answer(t testing.TB, ev *llm.Evidence) said {
	t.Helper()
	var a said
	for c, err := range (Answerer{}).Stream(context.Background(), llm.Request{Evidence: ev}) {
		if err != nil {
			t.Fatal(err)
		}
		a.chunks = append(a.chunks, c)
		a.text += c.Text
		if c.Text == "" {
			continue
		}
		s := strings.TrimPrefix(c.Text, " ")
		if at := strings.LastIndex(s, " ["); at >= 0 {
			a.quotes = append(a.quotes, quote{text: s[:at], citation: strings.TrimSuffix(s[at+2:], "]")})
		} else {
			a.quotes = append(a.quotes, quote{text: s})
		}
	}
	return a
}

// about returns evidence for a question in which every word weighs the same.
func about(question string, passages ...llm.Passage) *llm.Evidence {
	ev := &llm.Evidence{Question: question, Query: question, Passages: passages}
	for _, term := range topicTerms(question) {
		ev.Terms = append(ev.Terms, llm.Term{Text: term, Word: term, Weight: 1, IDF: 2, Known: true})
	}
	return ev
}

func passage(citation, text string, headings ...string) llm.Passage {
	return llm.Passage{Text: text, Score: 1, Title: citation, Headings: headings, Marks: []llm.Mark{{Citation: citation}}}
}

func quotesOf(t testing.TB, ev *llm.Evidence) string {
	t.Helper()
	return answer(t, ev).text
}

func TestAnswer_QuotesWhatTheQuestionAsksFor(t *testing.T) {
	for _, c := range []struct {
		name, question string
		passages       []llm.Passage
		want           string
	}{
		{
			"the sentence that holds its words", "What does the dental plan cover?",
			[]llm.Passage{passage("a.pdf#page=1", "The office has a garden. The dental plan covers fillings and crowns. Lunch is at noon.")},
			"The dental plan covers fillings and crowns. [a.pdf#page=1]",
		},
		{
			"what stands after the question", "Is there a fee for parking?",
			[]llm.Passage{passage("a.md", "Is there a fee for parking?\n\nNo, guests may stay all day.")},
			"No, guests may stay all day. [a.md]",
		},
		{
			"even if that is one word", "Is parking free for guests?",
			[]llm.Passage{passage("a.md", "Is parking free for guests?\n\nYes.\n\nThe canteen opens at eight in the morning.")},
			"Yes. [a.md]",
		},
		{
			"a list with the words that lead to it", "What does the travel kit hold?",
			[]llm.Passage{passage("kit.md", "The travel kit holds:\n• a torch\n• a rope\n• a map")},
			"The travel kit holds: • a torch • a rope • a map [kit.md]",
		},
		{
			"each thing that is asked for", "What is the deductible and who is the insurer?",
			[]llm.Passage{
				passage("a.pdf#page=2", "The deductible is what you pay before the plan does. Other words stand here."),
				passage("b.pdf#page=5", "The insurer is a company in Basel. Other sentences stand there."),
			},
			"The deductible is what you pay before the plan does. [a.pdf#page=2] The insurer is a company in Basel. [b.pdf#page=5]",
		},
		{
			"Chinese", "保险费是多少？",
			[]llm.Passage{passage("险.md", "办公室有一个花园。保险费是每月二十元。午餐在中午。")},
			"保险费是每月二十元。 [险.md]",
		},
		{
			"a line break within it is a space", "How long is the notice period?",
			[]llm.Passage{passage("a.txt", "The notice period\nis three months.")},
			"The notice period is three months. [a.txt]",
		},
		{
			"not what somebody else asks", "How do I choose a room?",
			[]llm.Passage{passage("a.md", "Then type \"How do I choose a room?\"\n\nYou choose a room on the first page.")},
			"You choose a room on the first page. [a.md]",
		},
		{
			"not the same twice, where passages overlap", "How long is the notice period?",
			[]llm.Passage{passage("a.md", "The notice period is three months."), passage("a.md", "The notice period is\nthree months. It begins at once.")},
			"The notice period is three months. [a.md]",
		},
		{
			"a row of a table in small letters", "What does wtmp record?",
			[]llm.Passage{passage("a.pdf#page=4", "The files of this folder are small.\nFile | Description\nbtmp | failed attempts\nwtmp | record of all logins")},
			"wtmp | record of all logins [a.pdf#page=4]",
		},
		{
			"not the number and the name of a section", "Where are generated fonts stored?",
			[]llm.Passage{passage("a.pdf#page=5", "5.5.3. /cache : Generated fonts stored (optional)\n\nPrograms keep such fonts in /cache/fonts, where they are stored.")},
			"Programs keep such fonts in /cache/fonts, where they are stored. [a.pdf#page=5]",
		},
		{
			"a version that begins a sentence", "Which release of cosign signs archives?",
			[]llm.Passage{passage("a.md", "Use one of these.\n\n2.6.2 is the first release of cosign that signs archives.")},
			"2.6.2 is the first release of cosign that signs archives. [a.md]",
		},
		{
			"what stands below a heading that asks", "What counts as an incident?",
			[]llm.Passage{passage("a.md", "What counts as an incident\n\n• A flaw in code that we ship to others.\n\nAn ordinary bug is no incident.",
				"What counts as an incident")},
			"A flaw in code that we ship to others. [a.md] An ordinary bug is no incident. [a.md]",
		},
		{
			"what an acronym stands for", "What is NBT?",
			[]llm.Passage{passage("a.md", "The server reads NBT before all else. All goes through NBT at once. Blocks hold a Named Binary Tag (NBT) of any depth.")},
			"Blocks hold a Named Binary Tag (NBT) of any depth. [a.md]",
		},
		{
			"also where that is a heading alone", "What does PTO mean?",
			[]llm.Passage{passage("a.md", "Paid Time Off (PTO)\n\nTwenty days are free.", "Paid Time Off (PTO)")},
			"Paid Time Off (PTO) [a.md]",
		},
		{
			"nothing beside the point", "How tall is the lighthouse?",
			[]llm.Passage{passage("a.md", "The dental plan covers fillings and crowns.")},
			Refusal,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, quotesOf(t, about(c.question, c.passages...))); diff != "" {
				t.Errorf("answer differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswer_CitesThePageOnWhichAQuoteBegins(t *testing.T) {
	text := "The first page ends here. The lighthouse stands on the\nnorthern cape of the island. The harbour is small."
	p := passage("a.pdf#page=1", text)
	p.Marks = append(p.Marks,
		llm.Mark{Offset: strings.Index(text, "northern"), Citation: "a.pdf#page=2"},
		llm.Mark{Offset: strings.Index(text, "The harbour"), Citation: "a.pdf#page=3"})
	want := "The lighthouse stands on the northern cape of the island. [a.pdf#page=1]"
	if got := quotesOf(t, about("Where is the lighthouse on the cape?", p)); got != want {
		t.Errorf("got %q", got)
	}
	if got := quotesOf(t, about("How small is the harbour?", p)); got != "The harbour is small. [a.pdf#page=3]" {
		t.Errorf("got %q", got)
	}
}

func TestAnswer_IsShort(t *testing.T) {
	things := []string{"dental", "vision", "travel", "pension", "parking", "canteen", "training", "relocation"}
	for _, c := range []struct {
		name      string
		filler    string
		pages     bool // each sentence is on a page of its own
		sentences int
	}{
		{"four sentences", "", false, brief.sentences},
		{"three pages", "", true, brief.pages},
		{"900 bytes", strings.Repeat(", as has been decided", 15), false, 2},
	} {
		p := passage("a.pdf#page=1", "")
		for i, thing := range things {
			if c.pages && i > 0 {
				p.Marks = append(p.Marks, llm.Mark{Offset: len(p.Text), Citation: fmt.Sprintf("a.pdf#page=%d", i+1)})
			}
			p.Text += "The " + thing + " allowance is paid every month" + c.filler + ". "
		}
		got := answer(t, about(strings.Join(things, " "), p))
		if len(got.quotes) != c.sentences {
			t.Errorf("%s: %d sentences: %s", c.name, len(got.quotes), got.text)
		}
	}
}

func TestAnswer_NeverQuotesAHeadingAlone(t *testing.T) {
	for _, heading := range []string{
		"Dental Coverage", "DENTAL COVERAGE", "Dental coverage for employees", "2026-01-31: dental coverage for all",
		"3.2 Dental coverage: what is new", "Is there dental coverage?",
	} {
		// Only a document with a structure says so of a heading that looks like a sentence.
		p := passage("a.md", heading+"\n\nSomething else entirely is written below it.", heading)
		for _, headings := range [][]string{{heading}, nil} {
			if headings == nil && strings.HasPrefix(heading, "3.2") {
				continue
			}
			p.Headings = headings
			for _, q := range answer(t, about("dental coverage employees", p)).quotes {
				if q.text == heading {
					t.Errorf("%q is quoted, headings %q", heading, headings)
				}
			}
		}
	}
}

func TestAnswer_IsTheSameEachTime(t *testing.T) {
	// Six sentences that differ in nothing the answerer weighs: rounding must not choose.
	ev := &llm.Evidence{}
	for i, w := range []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf"} {
		ev.Terms = append(ev.Terms, llm.Term{Text: w, Weight: 1, IDF: 1.1 + 0.37*float64(i), Known: true})
	}
	for i := range 6 {
		text := fmt.Sprintf("The alpha bravo charlie delta echo foxtrot golf number%d stands here.", i)
		ev.Passages = append(ev.Passages, passage(fmt.Sprintf("%d.md", i), text))
	}
	want := quotesOf(t, ev)
	for range 500 {
		if got := quotesOf(t, ev); got != want {
			t.Fatalf("once %q, once %q", want, got)
		}
	}
}

func TestStream_GivesAChunkForEachSentenceThenTheUsage(t *testing.T) {
	ev := about("What is the deductible and who is the insurer?",
		passage("a.pdf#page=2", "The deductible is what you pay before the plan does."),
		passage("b.pdf#page=5", "The insurer is a company in Basel."))
	prompt := []llm.Message{llm.Text(llm.System, "Answer."), llm.Text(llm.User, "What is the deductible?")}
	var chunks []llm.Chunk
	for c, err := range (Answerer{}).Stream(context.Background(), llm.Request{Evidence: ev, Messages: prompt}) {
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	texts := []string{"The deductible is what you pay before the plan does. [a.pdf#page=2]", " The insurer is a company in Basel. [b.pdf#page=5]"}
	want := []llm.Chunk{
		{Text: texts[0], Model: ModelName},
		{Text: texts[1], Model: ModelName},
		{Model: ModelName, FinishReason: "stop", Usage: &llm.Usage{
			Input:     llm.EstimateTokens("Answer." + "What is the deductible?"),
			Output:    llm.EstimateTokens(texts[0] + texts[1]),
			Estimated: true,
		}},
	}
	if diff := cmp.Diff(want, chunks); diff != "" {
		t.Errorf("chunks differ (-want +got):\n%s", diff)
	}
}

func TestStream_RefusesWithoutEvidence(t *testing.T) {
	for name, ev := range map[string]*llm.Evidence{
		"none":             nil,
		"no passages":      about("What is the deductible?"),
		"no question":      about("", passage("a.md", "The deductible is what you pay.")),
		"an empty passage": about("What is the deductible?", passage("a.md", "")),
	} {
		if got := quotesOf(t, ev); got != Refusal {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestStream_EndsWithTheContext(t *testing.T) {
	ev := about("What is the deductible and who is the insurer?",
		passage("a.pdf#page=2", "The deductible is what you pay before the plan does."),
		passage("b.pdf#page=5", "The insurer is a company in Basel."))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var errs []error
	chunks := 0
	for c, err := range (Answerer{}).Stream(ctx, llm.Request{Evidence: ev}) {
		errs = append(errs, err)
		if c.Text != "" {
			chunks++
		}
		cancel()
	}
	if chunks != 1 || len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("%d chunks, errors %v", chunks, errs)
	}
	for c, err := range (Answerer{}).Stream(ctx, llm.Request{Evidence: ev}) {
		if c.Text != "" || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %q, %v", c.Text, err)
		}
	}
}

func TestStream_StopsWhenTheReaderLeaves(t *testing.T) {
	ev := about("What is the deductible?", passage("a.md", "The deductible is what you pay before the plan does."))
	for leaveAfter := range 3 {
		seen := 0
		for range (Answerer{}).Stream(context.Background(), llm.Request{Evidence: ev}) {
			if seen++; seen > leaveAfter {
				break // a yield after this would panic
			}
		}
	}
}

func TestQuote_WithoutACitationHasNoBrackets(t *testing.T) {
	ev := about("What is the deductible?", llm.Passage{Text: "The deductible is what you pay.\r\nMore is below it here."})
	if got := quotesOf(t, ev); strings.Contains(got, "[") || !strings.HasPrefix(got, "The deductible is what you pay.") {
		t.Errorf("got %q", got)
	}
}

func TestBlocks_KeepTogetherWhatBelongsTogether(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"The first one is here. The second one is there.", []string{"The first one is here.", "The second one is there."}},
		{"It holds:\n• a torch\n• a rope\n\nThe rest is this.", []string{"It holds:\n• a torch\n• a rope", "a torch", "a rope", "The rest is this."}},
		{"These steps must be done.\n\n• Lock it\n• Leave", []string{"These steps must be done.\n\n• Lock it\n• Leave", "Lock it", "Leave"}},
		{"All of it is done.\n\n• Lock it\n• Leave", []string{"All of it is done.", "Lock it", "Lock it\n• Leave", "Leave"}},
		{"Severe faults stop a release. Currently these are crashes.", []string{"Severe faults stop a release.", "Severe faults stop a release. Currently these are crashes."}},
		{"Note: this is one sentence.", []string{"Note: this is one sentence."}},
		{"It says:\n\nStay in the office. The bell rings at noon.", []string{"It says:\n\nStay in the office.", "Stay in the office.", "The bell rings at noon."}},
		{"Install it with:\n\npip install tides\n\nThen start it at once.", []string{"Install it with:\n\npip install tides", "Then start it at once."}},
		{"They bring, among others:\n\nYour own files\n\nAll letters are among them.", []string{"All letters are among them."}},
		{"• a torch\n• a rope", []string{"a torch", "a torch\n• a rope", "a rope"}},
		{"--flag names the file.\n\n-5 degrees is cold.", []string{"--flag names the file.", "-5 degrees is cold."}},
		{"The store sells many tools. These include saws and hammers.", []string{"The store sells many tools.", "The store sells many tools. These include saws and hammers."}},
		{"employees get twenty days of leave.\n\nunused days lapse in march.", []string{"employees get twenty days of leave.", "unused days lapse in march."}},
		{"How is it paid?\n\nIt is paid monthly. Each payment is shown.", []string{"It is paid monthly.", "It is paid monthly. Each payment is shown.", "Each payment is shown."}},
		{"Contents\n\n1. What is a tide?\n2. How deep is it?\n3. I lost my boat.\n4. Who pays?", nil},
		{"• Holidays\n• How to request leave\n• How to report illness", nil},
		{"4. Canteen prices\n\nThe main dish costs four pounds.", []string{"The main dish costs four pounds."}},
		{"Tools\n\ntidegauge draws curves of the tide.\n\nBoats are few here today. Each has a mast.\n\nand the rest of something else here", []string{"tidegauge draws curves of the tide.", "Boats are few here today.", "Each has a mast."}},
		{"From: Ann Lee\nTo: Bob Ray\nSubject: the price of three boats", []string{"From: Ann Lee", "To: Bob Ray", "Subject: the price of three boats"}},
		{"Steps\n\n• 1. Wash your hands\n• 2. Put on the gown", []string{"1. Wash your hands", "1. Wash your hands\n• 2. Put on the gown", "2. Put on the gown"}},
		{strings.Repeat("long ", 200), nil},
		{"", nil},
	} {
		p := llm.Passage{Text: c.in}
		all := pieces(&p)
		var got []string
		for _, b := range blocks(&p, all) {
			got = append(got, c.in[all[b.first].Start:all[b.last].End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("blocks of %q = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestPieces_TakeForAQuestionAllThatAsksItInItsLine(t *testing.T) {
	for text, kinds := range map[string][]kind{
		"Q: I lost the ticket. What now?\nA: Ask the office for a copy of it.": {question, question, statement},
		"Q: I lost the ticket.\nA: Ask the office for a copy of it.":           {question, statement},
	} {
		p := llm.Passage{Text: text}
		all := pieces(&p)
		for i, want := range kinds {
			if all[i].kind != want {
				t.Errorf("%q is of the kind %d, want %d", p.Text[all[i].Start:all[i].End], all[i].kind, want)
			}
		}
	}
}

func TestAnswer_EndsWithinTheLimitOfTokens(t *testing.T) {
	ev := about("What does the dental plan cover?", passage("a.pdf#page=1", "The dental plan covers fillings and crowns."))
	for _, c := range []struct {
		tokens       int
		want, reason string
	}{
		{0, "The dental plan covers fillings and crowns. [a.pdf#page=1]", "stop"},
		{15, "The dental plan covers fillings and crowns. [a.pdf#page=1]", "stop"},
		{14, "The dental plan covers fillings and crowns.", "length"}, // no half citation
		{11, "The dental plan covers fillings and crowns.", "length"},
		{5, "The dental plan", "length"},
		{1, "The", "length"},
	} {
		var text, reason string
		var usage *llm.Usage
		for chunk, err := range (Answerer{}).Stream(t.Context(), llm.Request{Evidence: ev, MaxOutputTokens: c.tokens}) {
			if err != nil {
				t.Fatal(err)
			}
			text, reason, usage = text+chunk.Text, chunk.FinishReason, chunk.Usage
		}
		if text != c.want || reason != c.reason || c.tokens > 0 && usage.Output > c.tokens {
			t.Errorf("%d tokens: %q, %s, %+v", c.tokens, text, reason, usage)
		}
	}
	if got := within([]string{"One.", " Two three."}, 3); strings.Join(got, "|") != "One.| Two" {
		t.Errorf("the second sentence is cut to %q", got)
	}
	if got := within([]string{"年次有給休暇は二十日"}, 4); strings.Join(got, "|") != "年次有給" {
		t.Errorf("a text without spaces is cut to %q", got)
	}
	if got := within([]string{"Extraordinarily"}, 1); strings.Join(got, "|") != "Extr" {
		t.Errorf("a long word is cut to %q", got)
	}
}
