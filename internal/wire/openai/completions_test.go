package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

func TestPrompt_IsAQuestionOrAConversation(t *testing.T) {
	say, h := chat.TextMessage, handlerOf(nil, nil)
	for _, c := range []struct {
		name, prompt string
		want         []chat.Message
	}{
		{"a question", "How tall is it?\n", []chat.Message{say(llm.User, "How tall is it?")}},
		{"a question with a label in it", "What does\nUser: name\nmean?", []chat.Message{say(llm.User, "What does\nUser: name\nmean?")}},
		{"the AI SDK's", "Be brief.\n\nuser:\nWhat is it?\n\nassistant:\nA tower.\n\nuser:\nHow tall\nis it?\n\nassistant:\n", []chat.Message{
			say(llm.System, "Be brief."), say(llm.User, "What is it?"), say(llm.Assistant, "A tower."), say(llm.User, "How tall\nis it?"),
		}},
		{"LlamaIndex's", "system: Be brief.\nuser: How tall is it?\nassistant: ", []chat.Message{say(llm.System, "Be brief."), say(llm.User, "How tall is it?")}},
	} {
		got, err := h.messagesOfPrompt(wire.Value(wire.AppendString(nil, c.prompt)))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}

func TestPrompt_RefusesWhatItCannotAnswer(t *testing.T) {
	h := handlerOf(nil, func(c *Config) { c.MaxMessages = 3 })
	for _, prompt := range []string{
		`" "`, `[]`, `[" "]`, `7`, `{}`, `[["a","b"]]`, `[[4438,16615],"a",[374.5]]`, `[-1]`, `[1.5]`, `["4438"," "]`, `"Assistant:"`,
		string(wire.AppendString(nil, strings.Repeat("User: a\n", 4)+"Assistant:")),
		`["a"` + strings.Repeat(`,"a"`, maxPrompts) + `]`,
	} {
		if got, err := h.promptsOf(wire.Value(prompt)); !errors.As(err, new(*ParamError)) {
			t.Errorf("%s: %v %v", prompt, got, err)
		}
	}
}
