package openai

import (
	"net/http"
	"regexp"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// textCompletion is the object of replies and chunks of POST /v1/completions, OpenAI's older API without messages
// (API reference, Completions). Some clients still use it for models that they don't know to be chat models.
const textCompletion = "text_completion"

// completePrompt answers POST /v1/completions.
func (h *Handler) completePrompt(w http.ResponseWriter, r *wire.Request) error {
	x, err := h.decodeWith(r, promptMembers, "prompt", h.messagesOfPrompt)
	if err != nil {
		return err
	}
	x.prompted = true
	return h.answer(w, r, x)
}

// promptMembers is the table of members for a request with a prompt.
var promptMembers = memberTable{
	"model":          (*exchange).readModel,
	"stream":         (*exchange).readStream,
	"stream_options": (*exchange).readStreamOptions,
	"temperature":    option("temperature", wire.Temperature),
	"top_p":          option("top_p", wire.TopP),
	"n":              (*exchange).readN,
	"stop":           (*exchange).readStop,
	"best_of":        only("best_of", "1", func(v wire.Value) bool { n, ok := v.Number(); return ok && n == 1 }),
	"echo":           only("echo", "false", func(v wire.Value) bool { b, ok := v.Bool(); return ok && !b }),
	"suffix":         only("suffix", "empty", func(v wire.Value) bool { s, ok := v.Text(); return ok && s == "" }),
	"logprobs":       only("logprobs", "null", func(wire.Value) bool { return false }),
}

// only refuses all values of a member but the one that the server can follow.
func only(param, want string, is func(wire.Value) bool) func(*exchange, wire.Value) error {
	return func(_ *exchange, v wire.Value) error {
		if !is(v) {
			return refusef(param, unsupportedValue, "%q must be %s: this server answers a prompt once, in plain text.", param, want)
		}
		return nil
	}
}

// messagesOfPrompt reads a prompt: a text, the tokens of a text, or a list with one of them. A prompt that ends in
// "Assistant:" is a conversation, as the AI SDK and LlamaIndex write one; any other is a question.
func (h *Handler) messagesOfPrompt(v wire.Value) ([]chat.Message, error) {
	if !isGiven(v) {
		return nil, refusef("prompt", missing, `"prompt" must be a text.`)
	}
	prompt, ok := oneInput(v)
	if elements, list := v.Elements(); list && !ok {
		if n, _ := wire.AtMost(1, elements); n > 1 {
			return nil, refusef("prompt", unsupportedValue, `"prompt" must be one text: this server gives one answer to a request.`)
		}
		for v := range elements {
			prompt, ok = oneInput(v)
		}
	}
	if !ok {
		return nil, refusef("prompt", invalid, `"prompt" must be a text that is not blank.`)
	}
	if !openEnded.MatchString(prompt) {
		return []chat.Message{chat.TextMessage(llm.User, strings.TrimSpace(prompt))}, nil
	}
	return h.conversationOf(prompt)
}

// openEnded matches a prompt that the assistant is to continue.
var openEnded = regexp.MustCompile(`(?i)(^|\n)[ \t]*\**(assistant|ai)\**[ \t]*:\s*$`)

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
			return nil, refusef("prompt", invalid, `"prompt" may hold %d messages at most.`, h.cfg.MaxMessages)
		}
		asked = asked || role == llm.User
		all = append(all, chat.TextMessage(role, words))
	}
	if !asked {
		return nil, refusef("prompt", invalid, `"prompt" has no question: no line begins with "User:".`)
	}
	return all, nil
}

// appendPrompted returns the reply to a prompt. Its API has no place for citations but the text.
func (x *exchange) appendPrompted(m chat.MessageFinished, u llm.Usage) []byte {
	dst := append(x.appendHead(nil, textCompletion, fingerprint(m.Model, m.Vendor)), `,"choices":[{"index":0,"text":`...)
	dst = append(wire.AppendString(dst, m.Text), `,"logprobs":null,"finish_reason":`...)
	dst = append(wire.AppendString(dst, reasonOf(m.FinishReason)), `}],"usage":`...)
	return append(appendUsage(dst, u), '}')
}
