package chat_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
	"parley/internal/tokens"
)

func readingUpTo(window int) func(*chat.Config) {
	return func(c *chat.Config) {
		c.Window = func(context.Context, string) int { return window }
		c.CountExactly = tokens.Count
	}
}

// many are passages in many kinds of text; their tokens have other lengths than four bytes.
func many() []retrieval.Passage {
	texts := []string{
		"The lease runs for twelve months and is renewed unless one of the parties gives notice. ",
		"x_1 = {0x7f, 'a'}; if (n<0) { return -1; } // §4.2.1 ", "188994.20 | 96208.67 | 85202.87 | 1,204.00 | ", "契約は十二か月間有効であり、更新されます。",
	}
	var all []retrieval.Passage
	for i := range 40 {
		p := chattest.Passage(fmt.Sprintf("file%d.pdf", i), i+1, strings.Repeat(texts[i%len(texts)], 12))
		p.Chunk.Tokens = 5 // the count from when the passage was stored may be wrong
		all = append(all, p)
	}
	return all
}

func sentTokens(req llm.Request) (n int) {
	for _, m := range req.Messages {
		n += tokens.Count(m.Text()) + 4
	}
	for _, t := range req.Tools {
		n += tokens.Count(t.Name) + tokens.Count(t.Description) + tokens.Count(string(t.Parameters))
	}
	return n
}

// Whatever the conversation and the sources, the prompt has the instructions, the question and as
// many of the best sources as fit, and leaves room for the answer.
func TestPrompt_FitsIntoTheWindowOfTheModel(t *testing.T) {
	var long []chat.Message
	for i := range 60 {
		long = append(long, chat.TextMessage(llm.User, fmt.Sprint("Question ", i, " ", strings.Repeat("about {x|y} 12.5 ", 40))),
			chat.TextMessage(llm.Assistant, strings.Repeat("An answer. ", 80)))
	}
	const question = "And how long does the lease run?"
	for _, window := range []int{2048, 4096, 8192, 32_768} {
		for _, output := range []int{0, 100, 1024, 30_000} {
			for name, set := range map[string]func(*chat.Request){
				"plain":        func(*chat.Request) {},
				"conversation": func(r *chat.Request) { r.Messages = append(slices.Clone(long), r.Messages...) },
				"quoted": func(r *chat.Request) {
					r.Messages = append([]chat.Message{chat.TextMessage(llm.System, strings.Repeat("be nice ", 900))}, r.Messages...)
				},
				"other agents": func(r *chat.Request) {
					for range 5 {
						said := chat.TextMessage(llm.Assistant, strings.Repeat("Found: 12.5 {x}\n", 2000))
						said.Agent = "Research"
						r.Heard = append(r.Heard, said)
					}
				},
			} {
				model := llmtest.Says("Twelve months [file0.pdf#page=1], not ten [file39.pdf#page=40].")
				found := many()
				e := newEngine(model, passages(found...), readingUpTo(window))
				turn := collect(t, e, ask(e, question, set, func(r *chat.Request) { r.Options.MaxOutputTokens = output }))
				sent := answering(model)
				at := fmt.Sprintf("window %d, output %d, %s", window, output, name)
				user := sent.Messages[len(sent.Messages)-1].Text()
				if sent.Messages[0].Role != llm.System || sent.Messages[0].Text() == "" || !strings.Contains(user, question) {
					t.Errorf("%s: the instructions or the question are missing", at)
				}
				if sent.MaxOutputTokens <= 0 || sent.MaxOutputTokens > max(window/2, 1) {
					t.Errorf("%s: %d tokens of output", at, sent.MaxOutputTokens)
				}
				total := sentTokens(sent) + sent.MaxOutputTokens
				if total > window {
					t.Errorf("%s: %d tokens", at, total)
				}
				n := len(turn.Prompt.Sources)
				if n == 0 && window >= 4096 {
					t.Errorf("%s: no sources", at)
				}
				for i, source := range turn.Prompt.Sources {
					if !strings.HasPrefix(source, fmt.Sprintf("file%d.pdf#page=%d: ", i, i+1)) || !strings.Contains(user, source) {
						t.Errorf("%s: source %d is %.30q", at, i, source)
					}
				}
				if n < len(found) && total+tokens.Count(found[n].Chunk.Text)+20 < window*9/10 && name == "plain" {
					t.Errorf("%s: %d tokens, though source %d would fit", at, total, n)
				}
				if text := turn.Messages[0].Text; n > 0 && !strings.Contains(text, "[file0.pdf#page=1]") || n < 40 && strings.Contains(text, "file39") {
					t.Errorf("%s: %d sources, %q", at, n, text)
				}
			}
		}
	}
}

func TestPrompt_RefusesAQuestionThatTheModelCannotRead(t *testing.T) {
	question := strings.Repeat("why? ", 4000)
	e := newEngine(llmtest.Says("x"), passages(), readingUpTo(4096))
	_, err := chat.Collect(e.Run(t.Context(), new(ask(e, question))))
	if chat.KindOf(err) != chat.TooLarge || !strings.Contains(err.Error(), "Please shorten the question") {
		t.Errorf("error %v", err)
	}
	e = newEngine(llmtest.Says("x"), passages(), readingUpTo(32_768))
	collect(t, e, ask(e, question))
}

func TestTools_ResultsFitIntoTheWindowOfTheModel(t *testing.T) {
	model := &inTurn{scripts: []*llmtest.Model{
		asksFor("", llm.ToolCall{ID: "1", Name: "long", Arguments: `{}`}, llm.ToolCall{ID: "2", Name: "long", Arguments: `{"n":2}`}),
		asksFor("", llm.ToolCall{ID: "3", Name: "long", Arguments: `{"n":3}`}), llmtest.Says("Done."),
	}}
	e := newEngine(model, passages(many()...), func(c *chat.Config) { c.Tools = longBox{} }, readingUpTo(4096))
	turn := collect(t, e, ask(e, "q", usingTools))
	if m := turn.Messages[0]; m.Text != "Done." {
		t.Errorf("%+v", m)
	}
	for _, ran := range turn.Tools {
		if told := strings.Count(ran.Text, ".pdf#page="); told != len(ran.Found) || told == ran.Passages {
			t.Errorf("the model was shown %d of %d passages of call %s, and may cite %d", told, ran.Passages, ran.CallID, len(ran.Found))
		}
	}
	for i, script := range model.scripts {
		sent := script.Requests()[0]
		if n := sentTokens(sent) + sent.MaxOutputTokens; n > 4096 {
			t.Errorf("completion %d: %d tokens", i, n)
		}
	}
}

type longBox struct{}

func (longBox) Offer(string) []llm.Tool { return []llm.Tool{{Name: "long"}} }

func (longBox) Call(context.Context, retrieval.Filter, llm.ToolCall) (string, []retrieval.Passage, error) {
	return strings.Repeat("12.5 {x}\n", 3000), many(), nil
}

func TestChain_AsksAFallbackWithAPromptThatItCanRead(t *testing.T) {
	first, second := llmtest.Fails(&llm.Error{Status: 500, Retryable: true, Err: context.DeadlineExceeded}), llmtest.Says("Twelve months.")
	chain := llm.Chain([]llm.Link{
		{Model: first, Name: "big"}, {Model: second, Name: "small", Window: func(context.Context) int { return 4096 }},
	}, nil)
	e := newEngine(chain, passages(many()...), readingUpTo(32_768))
	collect(t, e, ask(e, "How long does the lease run?"))
	big, small := sentTokens(first.Requests()[0]), sentTokens(second.Requests()[0])
	user := second.Requests()[0].Messages[1].Text()
	if small > 4096-second.Requests()[0].MaxOutputTokens || big < 4096 || !strings.HasPrefix(user, "How long") || !strings.Contains(user, "file0.pdf#page=1: ") {
		t.Errorf("%d tokens for the first, %d for the fallback", big, small)
	}
}
