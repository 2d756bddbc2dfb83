package chat

import (
	"slices"
	"strings"

	"parley/internal/chat/prompt"
	"parley/internal/lazyregexp"
)

// The limits of a model's suggestions.
const (
	maxFollowUpRunes = 200
	maxHeldBack      = 16 << 10 // bytes kept of the text from the first "<<" on
)

// holdBack separates a streamed answer from the follow-ups that the model writes after it: the answer
// ends before the first "<<". A "<" at the end of a delta is held until the next one.
type holdBack struct {
	pending bool // the answer so far ends with a "<" that add has not returned
	found   bool // "<<" has arrived
	held    []byte
}

// add takes a delta and returns the part of the answer that is certain now.
func (h *holdBack) add(text string) string {
	if h.found {
		h.keep(text)
		return ""
	}
	if h.pending {
		h.pending = false
		text = "<" + text
	}
	if i := strings.Index(text, "<<"); i >= 0 {
		h.found = true
		h.keep(text[i:])
		return text[:i]
	}
	if strings.HasSuffix(text, "<") {
		h.pending = true
		return text[:len(text)-1]
	}
	return text
}

func (h *holdBack) keep(text string) {
	h.held = append(h.held, text[:min(len(text), maxHeldBack-len(h.held))]...)
}

// end returns the rest of the answer.
func (h *holdBack) end() string {
	if h.pending {
		h.pending = false
		return "<"
	}
	return ""
}

var followUp = lazyregexp.New(`<<([^<>]+)>>`)

// questions returns the texts that the model wrote in double angle brackets.
func (h *holdBack) questions() []string {
	var out []string
	for _, m := range followUp.FindAllSubmatch(h.held, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// cleanQuestions returns at most prompt.MaxFollowUps of the questions, each on one line. It drops those that
// are too long, repeated, or among the asked ones.
func cleanQuestions(questions, asked []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, q := range asked {
		seen[questionKey(q)] = true
	}
	for _, q := range questions {
		q = strings.Join(strings.Fields(prompt.OneLine(q)), " ")
		key := questionKey(q)
		if key == "" || seen[key] || len([]rune(q)) > maxFollowUpRunes {
			continue
		}
		seen[key] = true
		if out = append(out, q); len(out) == prompt.MaxFollowUps {
			break
		}
	}
	return slices.Clip(out)
}

func questionKey(q string) string {
	return strings.Trim(strings.ToLower(strings.Join(strings.Fields(q), " ")), "?!. ")
}
