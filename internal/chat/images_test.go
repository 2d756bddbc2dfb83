package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/chat/cite"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// pdfPassage is a passage of a PDF document.
func pdfPassage(name string, page int, text string) retrieval.Passage {
	p := chattest.Passage(name, page, text)
	p.Document.MediaType = "application/pdf"
	return p
}

// seeing configures a model that accepts images, and pictures whose bytes tell what they show.
func seeing(drawn *[]string) func(*chat.Config) {
	return func(c *chat.Config) {
		c.Capabilities = func(string) llm.Capabilities { return llm.Capabilities{Vision: true} }
		c.PageImage = func(_ context.Context, d retrieval.Document, page int) (string, error) {
			label := cite.LabelOf(&retrieval.Passage{Document: d, Chunk: retrieval.Chunk{Spans: []retrieval.Span{{Page: page}}}})
			*drawn = append(*drawn, label)
			if strings.HasPrefix(d.Name, "broken") {
				return "", errors.New("secret path")
			}
			return "data:image/jpeg;base64," + label, nil
		}
	}
}

// lastParts writes the parts of the last message one a line.
func lastParts(turn *chat.Turn) []string {
	var out []string
	for _, p := range turn.Prompt.Messages[len(turn.Prompt.Messages)-1].Parts {
		out = append(out, strings.Trim(p.Text, "\n")+p.Image)
	}
	return out
}

func TestImages_StandBesideOrInPlaceOfTheTexts(t *testing.T) {
	for name, c := range map[string]struct {
		images chat.ImageInput
		want   []string
		texts  []string
	}{
		"off": {chat.ImagesOff, []string{"q\n\nSources:\na.pdf#page=3: three\nnotes.md: four"}, []string{"a.pdf#page=3: three", "notes.md: four"}},
		"both": {chat.TextAndImages, []string{"q\n\nSources:\na.pdf#page=3: three\nnotes.md: four", "Image of the source a.pdf#page=3:",
			"data:image/jpeg;base64,a.pdf#page=3"}, []string{"a.pdf#page=3: three", "notes.md: four"}},
		"only": {chat.ImagesOnly, []string{"q\n\nSources:\nnotes.md: four", "Image of the source a.pdf#page=3:",
			"data:image/jpeg;base64,a.pdf#page=3"}, []string{"notes.md: four"}},
	} {
		t.Run(name, func(t *testing.T) {
			var drawn []string
			e := newEngine(llmtest.Says("x [a.pdf#page=3]"), passages(pdfPassage("a.pdf", 3, "three"), chattest.Passage("notes.md", 0, "four")), seeing(&drawn))
			turn := collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.Images = c.images }))
			if diff := cmp.Diff(c.want, lastParts(turn)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.texts, turn.Prompt.Sources); diff != "" {
				t.Error(diff)
			}
			if len(turn.Messages[0].Citations) != 1 || len(turn.InPrompt()) != 2 {
				t.Errorf("citations %+v; %d passages in the prompt", turn.Messages[0].Citations, len(turn.InPrompt()))
			}
		})
	}
}

func TestImages_AreFewAndOnceForEachPage(t *testing.T) {
	var found []retrieval.Passage
	for page := range 9 {
		found = append(found, pdfPassage("a.pdf", page/2+1, "text"), pdfPassage("b.pdf", page+1, "text"))
	}
	var drawn []string
	e := newEngine(llmtest.Says("x"), passages(found...), seeing(&drawn))
	collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.Images = chat.TextAndImages }))
	if got := strings.Join(drawn, " "); got != "a.pdf#page=1 b.pdf#page=1 b.pdf#page=2 a.pdf#page=2 b.pdf#page=3" {
		t.Errorf("drawn: %s", got)
	}
}

func TestImages_ShowDocumentsOfOneNameUnderTheirOwnCitations(t *testing.T) {
	other := pdfPassage("a.pdf", 3, "another three")
	other.Document.ID, other.Document.Alias = "other", "a (2).pdf"
	var drawn []string
	e := newEngine(llmtest.Says("x"), passages(pdfPassage("a.pdf", 3, "three"), other), seeing(&drawn))
	turn := collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.Images = chat.ImagesOnly }))
	if got := strings.Join(lastParts(turn)[1:], " "); got != "Image of the source a.pdf#page=3: data:image/jpeg;base64,a.pdf#page=3 "+
		"Image of the source a (2).pdf#page=3: data:image/jpeg;base64,a (2).pdf#page=3" {
		t.Errorf("the model is shown %s", got)
	}
}

func TestImages_LeaveRoomForTheQuestion(t *testing.T) {
	var drawn []string
	e := newEngine(llmtest.Says("x"), passages(pdfPassage("a.pdf", 1, "text"), pdfPassage("a.pdf", 2, "text")), seeing(&drawn),
		func(c *chat.Config) { c.ContextTokens = 1024 + 2000 })
	collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.Images = chat.TextAndImages }))
	if len(drawn) != 1 {
		t.Errorf("drawn: %v", drawn)
	}
}

func TestImages_FallBackToTexts(t *testing.T) {
	note := func(turn *chat.Turn) string {
		for _, s := range turn.Stages {
			if s.Stage == chat.StagePrompt {
				return s.Note
			}
		}
		return "no stage"
	}
	var drawn []string
	blind := func(c *chat.Config) { c.Capabilities = func(string) llm.Capabilities { return llm.Capabilities{} } }
	images := func(r *chat.Request) { r.Options.Images = chat.ImagesOnly }
	for name, c := range map[string]struct {
		passage retrieval.Passage
		more    []func(*chat.Config)
		note    string
	}{
		"no model that sees": {pdfPassage("a.pdf", 1, "text"), []func(*chat.Config){seeing(&drawn), blind}, "the model does not read images, so it gets only text"},
		"nobody who draws":   {pdfPassage("a.pdf", 1, "text"), nil, "the model does not read images, so it gets only text"},
		"a broken page":      {pdfPassage("broken.pdf", 1, "text"), []func(*chat.Config){seeing(&drawn)}, "some pages could not be rendered"},
		"no page":            {chattest.Passage("a.md", 0, "text"), []func(*chat.Config){seeing(&drawn)}, ""},
	} {
		e := newEngine(llmtest.Says("x"), passages(c.passage), c.more...)
		turn := collect(t, e, ask(e, "q", images))
		if got := note(turn); got != c.note {
			t.Errorf("%s: note %q", name, got)
		}
		if len(turn.Prompt.Sources) != 1 || len(lastParts(turn)) != 1 {
			t.Errorf("%s: %q", name, lastParts(turn))
		}
	}
}
