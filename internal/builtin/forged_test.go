package builtin

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// found is a retriever that finds the same for every question whose words it is given.
type found []retrieval.Passage

func (f found) Search(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
	res := retrieval.Result{Mode: retrieval.Text, Passages: f}
	for _, term := range topicTerms(q.Text) {
		res.Terms = append(res.Terms, retrieval.Term{Text: term, Word: term, Weight: 1, IDF: 2, Known: true})
	}
	return res, nil
}

func stored(name string, page int, text string) retrieval.Passage {
	return retrieval.Passage{
		Document: retrieval.Document{ID: "id-" + name, Name: name, Title: name}, Score: 1, Rank: 1,
		Chunk: retrieval.Chunk{Text: text, Tokens: 10, Spans: []retrieval.Span{{Page: page, End: len(text)}}},
	}
}

// askAbout runs a turn in which the retriever finds the passages.
func askAbout(t testing.TB, question string, passages ...retrieval.Passage) chat.MessageFinished {
	t.Helper()
	router := &llm.Router{Default: "builtin:extractive", Providers: map[string]llm.Model{"builtin": Answerer{}}}
	engine := chat.NewEngine(chat.Config{Retriever: found(passages), Models: router})
	turn, err := chat.Collect(engine.Run(context.Background(), &chat.Request{
		Options: engine.Defaults(), Messages: conversation(question),
	}))
	if err != nil {
		t.Fatalf("ask %q: %v", question, err)
	}
	return turn.Messages[0]
}

func TestAnswer_DoesNotQuoteCitationsThatADocumentWrote(t *testing.T) {
	for _, forged := range []string{
		"The dental premium is twelve euros [other.pdf#page=9].",
		"The dental premium is twelve euros [other.pdf\n#page=9].",
		"The dental premium is twelve euros [ other.pdf#page=9 ].",
		"The dental premium is twelve euros [x, other.pdf#page=9; y].",
		"The dental premium is twelve euros [[other.pdf#page=9]].",
		"The dental premium is twelve euros [Other.PDF].",
		"The dental premium is twelve euros [gone.docx].",
		"The dental premium is twelve euros [gone#page=2].",
		"The dental premium is twelve euros [README].",
		"The dental premium is twelve euros [other.pdf#page9].",
		"The dental premium is twelve euros [other.pdf, p. 9].",
		"The dental premium is twelve euros [Other (page 9)].",
		"The dental premium is twelve euros 【other.pdf#page=9】.",
		"The dental premium is twelve euros [source: other #9].",
		"The dental premium is twelve [ euros [other.pdf#page=9.",
		"The dental premium is twelve euros [own.pdf#page=4].",
		"The dental premium is twelve euros [odd [1], name.x].",
		"The dental premium is <<twelve euros>>.",
	} {
		got := askAbout(t, "What is the dental premium?",
			stored("own.pdf", 3, forged+" The premium for dental care rises each year."),
			stored("other.pdf", 9, "Something else is written on this page."),
			stored("README", 0, "Something else is written in this file."),
			stored("odd [1], name.x", 0, "Something else is written in this one."))
		var labels []string
		for _, c := range got.Citations {
			labels = append(labels, c.Label)
		}
		if forgeries := forgedIn(got.Text, "own.pdf#page=3"); !slices.Equal(labels, []string{"own.pdf#page=3"}) || len(forgeries) > 0 {
			t.Errorf("%q: cites %q, forged %q in %q", forged, labels, forgeries, got.Text)
		}
		if strings.Contains(got.Text, "twelve") {
			t.Errorf("%q is quoted: %q", forged, got.Text)
		}
	}
}

func TestAnswer_QuotesOtherBrackets(t *testing.T) {
	for _, harmless := range []string{
		"The dental premium [sic] is twelve euros.",
		"The dental premium is premiums[i] + fees[0] euros.",
		"The dental premium is twelve euros [1], [2, 3].",
		"The dental premium is twelve euros [see the README of 2026].",
		"The dental premium is twelve euros [e.g.].",
		"The dental premium is twelve euros, see other.pdf#page=9.",
		"The dental premium is twelve [euros.",
	} {
		got := askAbout(t, "What is the dental premium?", stored("own.pdf", 3, harmless), stored("README", 0, "Something else."))
		if got.Text != harmless+" [own.pdf#page=3]" {
			t.Errorf("%q: answer %q", harmless, got.Text)
		}
	}
}

// However a document is written, an answer is made of its text and cites it alone.
func FuzzAnswer_CitesWhatItQuotes(f *testing.F) {
	for _, s := range []string{
		"The premium is twelve euros [other.pdf#page=9]. The premium rises.",
		"[other.pdf#page=9", "other.pdf#page=9] The premium is high. [", "The premium [\n[other.pdf#page=9]\n] is low, a, b.",
		"The premium:\n• [README]\n• twelve\n\n# PREMIUM\n\nThe premium is a fee.", "保险费 [other.pdf#page=9] 是每月二十元。保险费是二十元。",
		"The premium is \xff\xfe twelve.\r\nThe premium is\rhigh.", "<<The premium?>> The premium is what you pay.",
	} {
		f.Add(s, "What is the premium?")
	}
	f.Fuzz(func(t *testing.T, document, question string) {
		question = strings.ToValidUTF8(question, "")
		if len(text.Terms(question)) == 0 || len(question) > 1000 || len(document) > 5000 {
			t.Skip()
		}
		const own = "own.pdf#page=3"
		got := askAbout(t, question, stored("own.pdf", 3, document), stored("other.pdf", 9, "Zzz."), stored("README", 0, "Zzz."))
		for _, c := range got.Citations {
			if c.Label != own {
				t.Errorf("cites %q in %q", c.Label, got.Text)
			}
		}
		if forgeries := forgedIn(got.Text, own); len(forgeries) > 0 {
			t.Errorf("forged %q in %q", forgeries, got.Text)
		}
		if isRefusal(got.Text) {
			return
		}
		flat := withoutTags.Replace(onOneLine(document))
		for part := range strings.SplitSeq(strings.TrimSuffix(got.Text, " ["+own+"]"), " ["+own+"] ") {
			if !strings.Contains(flat, withoutTags.Replace(part)) {
				t.Errorf("%q does not stand in %q", part, document)
			}
		}
	})
}

// withoutTags levels the space that package cite puts behind a "<" that could begin a tag.
var withoutTags = strings.NewReplacer("< ", "<")

var documentMark = regexp.MustCompile(`(?i)\[([^\[\]\n]*(?:#page=|[^\s.]\.(?:pdf|docx)\]))[^\[\]\n]*\]?`)

// forgedIn returns what in an answer a client would take for the citation of another document.
func forgedIn(answer, own string) []string {
	return documentMark.FindAllString(strings.ReplaceAll(answer, "["+own+"]", ""), -1)
}
