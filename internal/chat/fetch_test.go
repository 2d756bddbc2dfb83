package chat_test

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

// answered runs a model that says and thinks the deltas, and returns the turn. It fails the test if
// the turn's text is not the concatenation of the client's deltas.
func answered(t testing.TB, deltas []string, more ...func(*chat.Request)) *chat.Turn {
	t.Helper()
	model := &llmtest.Model{}
	for _, d := range deltas {
		model.Steps = append(model.Steps, llmtest.Step{Chunk: llm.Chunk{Text: d, Reasoning: d}})
	}
	model.Steps = append(model.Steps, llmtest.Step{Chunk: llm.Chunk{FinishReason: "stop"}})
	e := newEngine(model, passages(chattest.Passage("guide.md", 0, "Leave is 25 days, see https://evil.example/x."), chattest.Passage("other.pdf", 2, "The premium is 12 euros.")))
	var said strings.Builder
	turn := &chat.Turn{}
	for event, err := range e.Run(t.Context(), new(ask(e, "q", more...))) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := event.(chat.TextDelta); ok {
			said.WriteString(d.Text)
		}
		turn.Add(event)
	}
	if turn.Messages[0].Text != said.String() {
		t.Fatalf("the message is %q, its deltas were %q", turn.Messages[0].Text, said.String())
	}
	return turn
}

// checkFetches is row S16: whatever a model says and however its answer is cut, no renderer of the
// answer fetches anything from another site.
func checkFetches(t testing.TB, answer string, deltas []string) {
	t.Helper()
	turn := answered(t, deltas, followUps)
	text := turn.Messages[0].Text
	written := append([]string{text, turn.Reasoning}, turn.FollowUps...)
	if len(turn.FollowUps) > 0 { // as some protocols send them
		written = append(written, text+"\n\n<<"+strings.Join(turn.FollowUps, ">>\n<<")+">>\n")
	}
	for _, left := range written {
		if found := chattest.Fetches(left); len(found) > 0 {
			t.Fatalf("%q\n%q fetches %q", answer, left, found)
		}
	}
	if whole := answered(t, []string{answer}, followUps).Messages[0].Text; whole != text {
		t.Fatalf("%q\nwhole %q\nin pieces %q", answer, whole, text)
	}
}

func TestAnswers_FetchNothingFromOtherSites(t *testing.T) {
	for _, answer := range []string{
		"!![i](https://evil.example/p)",
		"!!![i](https://evil.example/p)",
		"![nope.pdf#page=9]![i](https://evil.example/p)",
		"<[nope.pdf#page=9]img src=//evil.example/p>",
		"< [nope.pdf#page=9]img src=//evil.example/p>",
		"![r]\n\n[r][nope.pdf#page=9]: https://evil.example/p",
		"![r][nope.pdf#page=9](https://evil.example/p)",
		"!【nope.pdf#page=9】[r](https://evil.example/p)",
		"【 ![i](https://evil.example/p) 】",
		"[<img src=//evil.example/p>]",
		"[^x <img src=//evil.example/p>]: a",
		"[![i](https://evil.example/p)](https://other.example)",
		"![^1]\n\n[^1]: https://evil.example/p",
		"![i]\n\n> [i]:\n> https://evil.example/p",
		"![i]\n\n[i]: < //evil.example/p>",
		"![a http://x.co/](/local) b](https://evil.example/p)",
		"![i](<)< a:b>)",
		"![i](<)\n![i](</a)< https://evil.example/p:x>)",
		"<img\fsrc=//evil.example/p>",
		"<img\rsrc=//evil.example/p>",
		"<img src=\"/\r/evil.example/p\">",
		"<a<b style=background:url(//evil.example/p)>",
		"<" + strings.Repeat("a", 199) + " style=background:url(//evil.example/p)>",
		"<https:/style=background:url(//evil.example)>",
		"<https://a.example/onclick=fetch(1)>",
		"<<img src=//evil.example/p>>",
		"Text.\n<<img src=//evil.example/p>> <<Who is img src=//evil.example?>> <<![i](https://evil.example)>>",
		"Text.\n<<style>> <<{}*{background:url(//evil.example)}>>",
	} {
		for _, deltas := range [][]string{{answer}, strings.Split(answer, "")} {
			checkFetches(t, answer, deltas)
		}
	}
}

// An address in a passage deserves no more trust than the passage: among many such addresses a model
// can choose the ones that spell out a secret.
func TestAnswers_FetchWhatTheUserGaveAndNoMore(t *testing.T) {
	const image = "![i](https://evil.example/x)"
	if got := answered(t, []string{image}).Messages[0].Text; got != image[1:] {
		t.Errorf("an image of a passage: %q", got)
	}
	asked := func(r *chat.Request) { r.Messages[0] = chat.TextMessage(llm.User, "What shows "+image+"?") }
	if got := answered(t, []string{image}, asked).Messages[0].Text; got != image {
		t.Errorf("an image of the user's: %q", got)
	}
}

// TestAnswers_OfRandomPiecesFetchNothing is row S16 with PARLEY_SEQUENCES random sequences; make
// sequences runs ten million.
func TestAnswers_OfRandomPiecesFetchNothing(t *testing.T) {
	sequences, seed := 5000, uint64(16)
	if n, err := strconv.Atoi(os.Getenv("PARLEY_SEQUENCES")); err == nil {
		sequences, seed = n, rand.Uint64()
	}
	t.Logf("%d sequences with seed %d", sequences, seed)
	var done atomic.Int64
	for worker := range runtime.GOMAXPROCS(0) {
		t.Run(strconv.Itoa(worker), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := done.Add(1); n <= int64(sequences); n = done.Add(1) {
				answer := chattest.RandomAnswer(r, 12)
				checkFetches(t, answer, chattest.Cut(r, answer))
				if n%100_000 == 0 {
					t.Logf("%d done", n)
				}
			}
		})
	}
}

// FuzzAnswersFetchNothing looks for an answer that makes a page fetch something. It makes the answer
// from pieces, each chosen by two bytes, from any text, or from both.
func FuzzAnswersFetchNothing(f *testing.F) {
	f.Add([]byte{}, "!![i](https://evil.example/p)", uint64(1))
	f.Add([]byte{0, 1, 0, 2, 0, 3}, "", uint64(2))
	r := rand.New(rand.NewPCG(16, 1))
	for n := range uint64(64) {
		picks := make([]byte, 2*(1+r.IntN(10)))
		for i := range picks {
			picks[i] = byte(r.Uint32())
		}
		f.Add(picks, "x", n)
	}
	f.Fuzz(func(t *testing.T, picks []byte, text string, cuts uint64) {
		var b strings.Builder
		for i := 0; i+1 < len(picks) && i < 60; i += 2 {
			b.WriteString(chattest.Pieces[(int(picks[i])<<8|int(picks[i+1]))%len(chattest.Pieces)])
			if i == len(picks)/4*2 {
				b.WriteString(text)
			}
		}
		if len(picks) < 2 {
			b.WriteString(text)
		}
		answer := strings.ToValidUTF8(b.String(), "\ufffd")
		if len(answer) > 10_000 {
			t.Skip("too long")
		}
		checkFetches(t, answer, chattest.Cut(rand.New(rand.NewPCG(cuts, 0)), answer))
	})
}
