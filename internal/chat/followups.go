package chat

import (
	"regexp"
	"slices"
	"strings"

	"parley/internal/chat/prompt"
)

// The limits of what a model may suggest.
const (
	maxFollowUpRunes = 200
	maxHeldBack      = 16 << 10 // bytes kept of what follows the first "<<"
)

// holdBack separates a streamed answer from the follow-ups that the model writes after it: the
// answer ends before the first "<<". A "<" at the end of a delta waits for the next one.
type holdBack struct {
	pending bool // the answer so far ends with a "<" that was not given out
	found   bool // "<<" has come
	held    []byte
}

// add takes a delta and returns what of the answer is certain now.
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

var followUp = regexp.MustCompile(`<<([^<>]+)>>`)

// questions returns what the model wrote between angle brackets.
func (h *holdBack) questions() []string {
	var out []string
	for _, m := range followUp.FindAllSubmatch(h.held, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// cleanQuestions returns at most three questions, each on one line, without those that were
// asked before.
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
