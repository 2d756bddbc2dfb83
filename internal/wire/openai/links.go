package openai

import (
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/wire"
)

// Clients that drop annotations can get the citations in the text as Markdown links to the cited pages: they request a
// model with this suffix, or send this header.
const (
	linksSuffix = ":links"
	linksHeader = "X-Parley-Links"
)

// readLinks decides whether citations are links, and returns the model without the suffix.
func (x *exchange) readLinks(h http.Header) (model string, err error) {
	model, x.links = strings.CutSuffix(x.model, linksSuffix)
	switch value := strings.ToLower(h.Get(linksHeader)); value {
	case "":
	case "true", "1":
		x.links = true
	case "false", "0":
		x.links = false
	default:
		return "", Refusef(linksHeader, invalid, "%s must be true or false.", linksHeader)
	}
	return model, nil
}

// linker turns the citations in an answer into links while it streams. It holds text back only from an opening bracket
// that may begin a citation.
type linker struct {
	h      *Handler
	x      *exchange
	labels map[string]*chat.Citation // that the answer may cite; the values are unused
	held   string
}

func (h *Handler) linkerOf(x *exchange) *linker {
	return &linker{h: h, x: x, labels: map[string]*chat.Citation{}}
}

// note remembers the labels that an event allows the answer to cite.
func (l *linker) note(e chat.Event) {
	switch e := e.(type) {
	case chat.PromptBuilt:
		for _, label := range e.Labels {
			l.labels[label] = nil
		}
	case chat.ToolReturned:
		for i := range e.Found {
			l.labels[cite.LabelOf(&e.Found[i])] = nil
		}
	case chat.MessageFinished:
		for _, c := range e.Citations {
			l.labels[c.Label] = nil
		}
	}
}

// maxHeld is the maximum number of bytes that are held back. Labels are shorter.
const maxHeld = 2 << 10

// add takes a piece of the answer and returns the text that can be sent now.
func (l *linker) add(piece string) string {
	text := l.held + piece
	cut := l.openAt(text)
	l.held = text[cut:]
	return l.link(text[:cut])
}

// rest returns the text that is still held back.
func (l *linker) rest() string {
	text := l.held
	l.held = ""
	return l.link(text)
}

// openAt returns the offset of the first bracket that may begin an incomplete citation, or the length of the text.
func (l *linker) openAt(text string) int {
	from := max(0, len(text)-maxHeld)
	for i := from; i < len(text); i++ {
		if text[i] != '[' {
			continue
		}
		if rest := text[i+1:]; !strings.ContainsAny(rest, "]\n") || l.begins(rest) {
			return i
		}
	}
	return len(text)
}

// begins reports whether a text is a prefix of a label. Labels may contain brackets.
func (l *linker) begins(text string) bool {
	for label := range l.labels {
		if len(text) <= len(label) && strings.HasPrefix(label, text) {
			return true
		}
	}
	return false
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`)

// link returns a text with its citations as links.
func (l *linker) link(text string) string {
	var b strings.Builder
	from := 0
	for s := range marks(text, l.labels) {
		label := text[s.start:s.end]
		if bare, ok := strings.CutPrefix(label, "["); ok {
			if _, known := l.labels[label]; !known { // the brackets are not part of the label
				label = strings.TrimSuffix(bare, "]")
			}
		}
		b.WriteString(text[from:s.start])
		from = s.end
		namespace := l.x.req.Namespace
		if namespace == l.h.cfg.Namespace {
			namespace = ""
		}
		b.WriteString("[" + escapeLabel.Replace(label) + "](" + wire.ContentURLIn(l.x.base, label, namespace) + ")")
	}
	b.WriteString(text[from:])
	return b.String()
}

var (
	contentLink   = lazyregexp.New(`\[((?:\\.|[^\[\]\\\n])+)\]\(https?://[^\s()]+/content/[^\s()]*\)`)
	unescapeLabel = strings.NewReplacer(`\\`, `\`, `\[`, `[`, `\]`, `]`)
)

// unlink turns links in an earlier answer back into citations, so that the model sees the form in which it must cite.
func unlink(parts []llm.Part) {
	for i := range parts {
		if !strings.Contains(parts[i].Text, "/content/") {
			continue
		}
		parts[i].Text = contentLink.ReplaceAllStringFunc(parts[i].Text, func(link string) string {
			return "[" + unescapeLabel.Replace(contentLink.FindStringSubmatch(link)[1]) + "]"
		})
	}
}
