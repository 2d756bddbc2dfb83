package openai

import (
	"net/http"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/wire"
)

// textCompletion is the value of "object" in replies and chunks of POST /v1/completions, OpenAI's older API without
// messages (API reference, Completions). Some clients still use it for models that they do not recognize as chat models.
const textCompletion = "text_completion"

// maxPrompts is the maximum number of prompts in a request. LangChain sends 20 by default.
const maxPrompts = 20

// completePrompt answers POST /v1/completions. Each prompt is a separate turn, whose answer is a choice of the reply.
func (h *Handler) completePrompt(w http.ResponseWriter, r *wire.Request) error {
	var prompts [][]chat.Message
	first, err := h.decodeWith(r, promptMembers, "prompt", func(v wire.Value) (_ []chat.Message, err error) {
		if prompts, err = h.promptsOf(v); err != nil {
			return nil, err
		}
		return prompts[0], nil
	})
	if err != nil {
		return err
	}
	if len(prompts) > 1 && r.Header.Get("Idempotency-Key") != "" {
		// A key belongs to one turn, so only that turn could be repeated.
		return Refusef("prompt", unsupportedValue, `"prompt" must be one text in a request with an Idempotency-Key.`)
	}
	first.prompted = true
	all := []*exchange{first}
	for i, messages := range prompts[1:] {
		x := *first
		x.index, x.req.Messages, x.req.TurnID = i+1, messages, h.cfg.NewID()
		all = append(all, &x)
	}
	return h.answer(w, r, all...)
}

// promptMembers is the table of members for a request with a prompt.
var promptMembers = common.with(memberTable{
	"best_of":  only("best_of", "1", func(v wire.Value) bool { n, ok := v.Number(); return ok && n == 1 }),
	"echo":     only("echo", "false", func(v wire.Value) bool { b, ok := v.Bool(); return ok && !b }),
	"suffix":   only("suffix", "empty", func(v wire.Value) bool { s, ok := v.Text(); return ok && s == "" }),
	"logprobs": only("logprobs", "null", func(wire.Value) bool { return false }),
})

// only returns a function that refuses every value of a member except the one that the server supports.
func only(param, want string, is func(wire.Value) bool) func(*exchange, wire.Value) error {
	return func(_ *exchange, v wire.Value) error {
		if !is(v) {
			return Refusef(param, unsupportedValue, "%q must be %s: this server answers a prompt once, in plain text.", param, want)
		}
		return nil
	}
}

// promptsOf reads a prompt or a list of prompts, and returns the messages of each. A prompt is a text or its tokens.
func (h *Handler) promptsOf(v wire.Value) ([][]chat.Message, error) {
	if !v.IsGiven() {
		return nil, Refusef("prompt", missing, `"prompt" must be a text or a list of texts.`)
	}
	values := []wire.Value{v}
	if _, one := oneInput(v); !one {
		if elements, ok := v.Elements(); ok {
			if _, few := wire.AtMost(maxPrompts, elements); !few {
				return nil, Refusef("prompt", invalid, `"prompt" may hold %d texts at most.`, maxPrompts)
			}
			values = slices.Collect(elements)
		}
	}
	if len(values) == 0 {
		return nil, Refusef("prompt", invalid, `"prompt" must hold a text.`)
	}
	all := make([][]chat.Message, len(values))
	for i, v := range values {
		var err error
		if all[i], err = h.messagesOfPrompt(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// messagesOfPrompt reads one prompt. If it ends in "Assistant:" or "AI:", it is a conversation, in the form that the AI
// SDK and LlamaIndex send; otherwise it is a question.
func (h *Handler) messagesOfPrompt(v wire.Value) ([]chat.Message, error) {
	prompt, ok := oneInput(v)
	if !ok {
		return nil, Refusef("prompt", invalid, `"prompt" must be a text that is not blank, or a list of such texts.`)
	}
	if !openEnded.MatchString(prompt) {
		return []chat.Message{chat.TextMessage(llm.User, strings.TrimSpace(prompt))}, nil
	}
	return h.conversationOf(prompt)
}

// openEnded matches a prompt that the assistant is to continue.
var openEnded = lazyregexp.New(`(?i)(^|\n)[ \t]*\**(assistant|ai)\**[ \t]*:\s*$`)

func (h *Handler) conversationOf(prompt string) ([]chat.Message, error) {
	var all []chat.Message
	if first := speaker.FindStringIndex(prompt); first != nil {
		if words := strings.TrimSpace(prompt[:first[0]]); words != "" {
			all = append(all, chat.TextMessage(llm.System, words))
		}
	}
	asked := false
	for role, words := range utterances(prompt) {
		if words == "" {
			continue
		}
		if len(all) == h.cfg.MaxMessages {
			return nil, Refusef("prompt", invalid, `"prompt" may hold %d messages at most.`, h.cfg.MaxMessages)
		}
		asked = asked || role == llm.User
		all = append(all, chat.TextMessage(role, words))
	}
	if !asked {
		return nil, Refusef("prompt", invalid, `"prompt" has no question: no line begins with "User:".`)
	}
	return all, nil
}
