package openai

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire/wiretest"
)

// However a text comes in pieces, its links are those of the whole, and none is cut.
func FuzzLinker_PiecesAreTheWhole(f *testing.F) {
	f.Add("See [a [1].pdf#page=2], [b.md; c.md] and [x](y) [b.md\n] [[b.md]]", uint64(1))
	f.Add("[a [1].pdf#page=2][b.md][", uint64(7))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > maxHeld/2 {
			return
		}
		newLinker := func() *linker {
			l := handlerOf(nil, nil).linkerOf(&exchange{base: "http://h"})
			l.note(chat.PromptBuilt{Labels: []string{"a [1].pdf#page=2", "b.md", "c.md"}})
			return l
		}
		whole, l, r := newLinker().link(text), newLinker(), rand.New(rand.NewPCG(seed, 0))
		var got strings.Builder
		for rest := text; rest != ""; {
			n := 1 + r.IntN(len(rest))
			piece := l.add(rest[:n])
			if strings.Count(piece, "](http://h") != strings.Count(piece, "/content/") {
				t.Errorf("a link is cut: %q", piece)
			}
			got.WriteString(piece)
			rest = rest[n:]
		}
		if got.WriteString(l.rest()); got.String() != whole && !strings.Contains(text, "/content/") {
			t.Errorf("in pieces %q, as a whole %q", got.String(), whole)
		}
	})
}

// What a client sends back is what the answer said.
func TestLinks_AreCitationsAgain(t *testing.T) {
	for _, label := range []string{"a.md", "a [1].pdf#page=2", `back\slash [x].md`, "ü (1).pdf"} {
		l := handlerOf(nil, nil).linkerOf(&exchange{base: "http://h"})
		l.note(chat.PromptBuilt{Labels: []string{label}})
		text := "It is [" + label + "]. [other](http://h/x)"
		parts := []llm.Part{{Text: l.link(text)}}
		if parts[0].Text == text {
			t.Errorf("%s is no link", label)
		}
		if unlink(parts); parts[0].Text != text {
			t.Errorf("%s comes back as %s", label, parts[0].Text)
		}
	}
}

func TestLinks_CanBeAskedForByAHeader(t *testing.T) {
	for value, want := range map[string]int{"true": 200, "0": 200, "perhaps": 400} {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(asking))
		r.Header.Set(linksHeader, value)
		w := httptest.NewRecorder()
		serve(handlerOf(&wiretest.Scripted{Steps: wiretest.Script(t, "include answer.events")}, nil)).ServeHTTP(w, r)
		if linked := strings.Contains(w.Body.String(), "](http://"); w.Code != want || linked != (value == "true") {
			t.Errorf("%s: %d %s", value, w.Code, w.Body)
		}
	}
}
