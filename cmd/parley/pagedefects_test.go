package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// scriptedAnswer is the answer of a model to questions that contain a word.
type scriptedAnswer struct {
	word   string
	status int    // of a refusal, 0 for an answer
	text   string // sent word by word
	finish string // "stop" if empty
	hang   bool   // it says the text and then nothing until the request ends
	breaks bool   // it says the text and then the connection ends
}

// startScripted starts an OpenAI-compatible server.
func startScripted(t testing.TB, answers []scriptedAnswer) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Content string }
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		question, _, _ := strings.Cut(request.Messages[len(request.Messages)-1].Content, "\n\nSources:\n")
		for _, a := range answers {
			if strings.Contains(question, a.word) {
				a.send(w, r)
				return
			}
		}
		http.Error(w, "unknown question", http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	return s
}

func (a scriptedAnswer) send(w http.ResponseWriter, r *http.Request) {
	if a.status != 0 {
		w.WriteHeader(a.status)
		fmt.Fprint(w, `{"error":{"message":"not today"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range strings.SplitAfter(a.text, " ") {
		writePiece(w, word)
	}
	if a.breaks {
		panic(http.ErrAbortHandler)
	}
	if a.hang {
		<-r.Context().Done()
		return
	}
	finish := a.finish
	if finish == "" {
		finish = "stop"
	}
	fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", finish)
}

const citedWords = citedPDF + " [keepers.pdf#page=2] "

// answerState is the state of an answer as the page shows it.
type answerState struct {
	Text, Note, Failure, CutOff, Doing, Loud, Quiet string
	Chips, Doubtful                                 int
}

func TestPage_TellsHowAnAnswerEnded(t *testing.T) {
	pageTest(t)
	m := startScripted(t, []scriptedAnswer{
		{word: "Continue your answer", text: "And the rest. "},
		{word: "stopped", text: citedWords + "More words follow here ", hang: true},
		{word: "broken", text: citedWords + "More words follow here ", breaks: true},
		{word: "length", text: citedWords + "The ferry", finish: "length"},
		{word: "refused", status: http.StatusUnauthorized},
		{word: "limited", status: http.StatusTooManyRequests},
		{word: "Merci", text: "De rien. "},
		{word: "walrus", text: "I don't know. "},
		{word: "paraphrase", text: "Lodgings near beacons sheltered **seven guardians** throughout winters long gone [keepers.pdf#page=2]. "},
		{word: "number", text: "Lighthouse keepers on Hirsholm island: 4711 lived there [keepers.pdf#page=2]. "},
	})
	p := serveWithModel(t, m.URL, pageDocuments(t))
	var got struct {
		Stopped, Reloaded, Broken, BrokenReloaded, Length, Refused, Limited, Paraphrase, Number, Thanked, Unknown answerState
		Continued, Limit                                                                                          string
		Seen                                                                                                      seenOnPage
	}
	onPage(t, "endings", p.addr, map[string]any{"question": askedPDF}, &got)
	got.Seen.check(t)
	for name, a := range map[string]answerState{"stopped": got.Stopped, "after a reload": got.Reloaded, "broken": got.Broken,
		"broken, after a reload": got.BrokenReloaded, "cut off": got.Length} {
		if a.Chips != 1 || strings.Contains(a.Text, "keepers.pdf#page") {
			t.Errorf("%s: %d chips in %q", name, a.Chips, a.Text)
		}
	}
	if got.Broken.Failure == "" || got.BrokenReloaded.Failure+got.BrokenReloaded.Note == "" {
		t.Errorf("a broken answer looks whole: %+v, after a reload %+v", got.Broken, got.BrokenReloaded)
	}
	if got.Length.CutOff == "" || !strings.Contains(got.Continued, "And the rest.") || got.Limit != "4000" {
		t.Errorf("cut off: %q, continued %q, then the limit %q", got.Length.CutOff, got.Continued, got.Limit)
	}
	if !strings.Contains(got.Refused.Failure, "refused the key") || !strings.Contains(got.Limited.Failure, "provider is limiting") {
		t.Errorf("refused: %q, limited: %q", got.Refused.Failure, got.Limited.Failure)
	}
	if a := got.Paraphrase; a.Loud != "" || a.Doubtful != 0 || !strings.Contains(a.Quiet, "seven guardians") || strings.Contains(a.Quiet, "**") {
		t.Errorf("a paraphrase: loud %q, quiet %q, %d doubtful", a.Loud, a.Quiet, a.Doubtful)
	}
	if got.Thanked.Text == "" || got.Thanked.Note != "" || !strings.Contains(got.Unknown.Note, "Nothing in your documents") {
		t.Errorf("below a reply to thanks: %q, below one to a question without passages: %q", got.Thanked.Note, got.Unknown.Note)
	}
	if a := got.Number; a.Loud == "" || a.Doubtful != 1 {
		t.Errorf("a wrong number: loud %q, %d doubtful", a.Loud, a.Doubtful)
	}
}

// cutProxy stands between the browser and the server. GET /cut on control ends all its connections and refuses new
// ones; GET /restore ends that.
type cutProxy struct {
	addr, control string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func startCutProxy(t *testing.T, target string) *cutProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	x := &cutProxy{addr: listener.Addr().String()}
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { x.set(r.URL.Path == "/cut") }))
	t.Cleanup(control.Close)
	t.Cleanup(func() { x.set(true) })
	x.control = control.URL
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			x.join(client, target)
		}
	}()
	return x
}

func (x *cutProxy) set(cut bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut = cut
	if cut {
		for _, c := range x.conns {
			_ = c.Close()
		}
		x.conns = nil
	}
}

func (x *cutProxy) join(client net.Conn, target string) {
	server, err := net.Dial("tcp", target)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil || x.cut {
		_ = client.Close()
		if err == nil {
			_ = server.Close()
		}
		return
	}
	x.conns = append(x.conns, client, server)
	pipe := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		_, _ = dst.Close(), src.Close() // one of them is closed already
	}
	go pipe(server, client)
	go pipe(client, server)
}

// The server goes away in the middle of an answer: the page says so below the text and on the start page, and
// notices by itself that it is back.
func TestPage_SaysThatTheServerIsGone(t *testing.T) {
	pageTest(t)
	m := startScripted(t, []scriptedAnswer{{word: "", text: citedWords + "More words ", hang: true}})
	p := serveWithModel(t, m.URL, pageDocuments(t))
	proxy := startCutProxy(t, p.addr)
	var got struct {
		During, Doing, Welcome, Banner string
		Below, Back                    bool
	}
	onPage(t, "gone", proxy.addr, map[string]any{"question": askedPDF, "control": proxy.control}, &got)
	if got.During == "" || !got.Below || !strings.Contains(got.Doing, "Reconnecting") {
		t.Errorf("during the answer: banner %q, status %q, below the text: %v", got.During, got.Doing, got.Below)
	}
	if !strings.Contains(got.Welcome, "can't be reached") || got.Banner == "" || !got.Back {
		t.Errorf("the start page says %q under %q; back: %v", got.Welcome, got.Banner, got.Back)
	}
}

func TestPage_DoesWhatPeopleExpectOfAnyPage(t *testing.T) {
	pageTest(t)
	docs := folderOf(t, map[string]string{"skagen.md": "# Skagen\n\n## The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"})
	p := serveIngested(t, nil, docs)
	type closing struct {
		Tip        int
		URL, Focus string
	}
	var got struct {
		At, Title                                   string
		ByButton, ByKey, ByBack                     closing
		DropTaken                                   bool
		DraftElsewhere, DraftBack, DraftAfterReload string
		Code                                        string
		Directions                                  []string
		BrokenWords, InPage, Printed, Sent          int
		Menu                                        []bool
		UploadKept                                  bool
		UploadAfterReload, Jobs, TooLarge           string
		Seen                                        seenOnPage
	}
	onPage(t, "manners", p.addr, map[string]any{"question": "How tall is the lighthouse of Skagen?", "broken": "%PDF-1.4\nthis is no PDF"}, &got)
	got.Seen.check(t)
	for name, c := range map[string]closing{"its button": got.ByButton, "Esc": got.ByKey, "Back": got.ByBack} {
		if c.Tip != 0 || c.URL != got.At || !strings.Contains(c.Focus, "chip") {
			t.Errorf("closed by %s: %d tips, at %q with the focus on %q", name, c.Tip, c.URL, c.Focus)
		}
	}
	if !strings.HasPrefix(got.Title, "How tall is the lighthouse") {
		t.Errorf("the title is %q", got.Title)
	}
	if !got.DropTaken {
		t.Error("the browser opens a file that is dropped on the page")
	}
	if typed := "half a question"; got.DraftElsewhere != "" || got.DraftBack != typed || got.DraftAfterReload != typed {
		t.Errorf("drafts: %q elsewhere, %q back, %q after a reload", got.DraftElsewhere, got.DraftBack, got.DraftAfterReload)
	}
	for _, d := range got.Directions {
		if d != "rtl" {
			t.Errorf("Arabic text runs %q", got.Directions)
		}
	}
	if got.Code != `func main() { return "<b>" }` {
		t.Errorf("coloured code is %q", got.Code)
	}
	if got.BrokenWords > 0 {
		t.Errorf("%d words of a table are broken", got.BrokenWords)
	}
	if got.InPage > 260 || got.Printed < 10 {
		t.Errorf("%d of 1000 messages are in the page, %d pages are printed", got.InPage, got.Printed)
	}
	for i, whole := range got.Menu {
		if !whole {
			t.Errorf("line %d of the menu is clipped", i)
		}
	}
	if !got.UploadKept || !strings.Contains(got.UploadAfterReload, "broken.pdf") || strings.Contains(got.Jobs, "elsewhere.txt") {
		t.Errorf("kept: %v, after a reload %q, listed %q", got.UploadKept, got.UploadAfterReload, got.Jobs)
	}
	if got.Sent != 0 || !strings.Contains(got.TooLarge, "10 bytes") {
		t.Errorf("a file over the limit: sent %d times, %q", got.Sent, got.TooLarge)
	}
}

func TestPage_LeadsFromAnEmptyServerToARatedAnswer(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil)
	var got struct {
		Steps, Cards, Tabs                        []string
		About, Copied, Rated, Details, Tab, Found string
		FoundBy                                   map[string][]string
		MenuBegins, TrayEnds                      float64
		Chips, TrayLeft, General                  int
		Beside                                    bool
		Seen                                      seenOnPage
	}
	const text = "# The pier of Hirtshals\n\n## Length\n\nThe pier of Hirtshals is 600 metres long.\n"
	onPage(t, "journeys", p.addr, map[string]any{"question": "How long is the pier of Hirtshals?", "text": text}, &got)
	got.Seen.check(t)
	if len(got.Steps) != 3 || !strings.Contains(got.About, "pier.md") || got.Chips == 0 || got.TrayLeft != 0 {
		t.Errorf("steps %q, asked %q, %d citations, %d files left in the tray", got.Steps, got.About, got.Chips, got.TrayLeft)
	}
	if len(got.Cards) != 3 || !strings.Contains(strings.Join(got.Cards, " "), "Length") {
		t.Errorf("questions to begin with: %q", got.Cards)
	}
	if !got.Beside {
		t.Error("the original covers the answer at 960 px")
	}
	if !strings.Contains(got.Copied, "600 metres long. [1]") || !strings.Contains(got.Copied, "\n[1] The pier of Hirtshals") {
		t.Errorf("copied: %q", got.Copied)
	}
	if got.Rated != "true" || !strings.Contains(got.Details, "Time") || !strings.Contains(got.Details, "Cost") {
		t.Errorf("rated: %q, details: %q", got.Rated, got.Details)
	}
	if strings.Join(got.Tabs, " ") != "General Answers Search Developer" || got.General > 8 || got.Tab != "Answers" || !strings.Contains(got.Found, "Temperature") {
		t.Errorf("settings: tabs %q, %d rows at first, then %q; found %q", got.Tabs, got.General, got.Tab, got.Found)
	}
	for words, label := range map[string]string{"theme": "Theme", "language": "Language", "rerank": "Reranking"} {
		if !slices.Contains(got.FoundBy[words], label) {
			t.Errorf("%q finds the settings %q, not %q", words, got.FoundBy[words], label)
		}
	}
	if got.MenuBegins < 0 || got.TrayEnds < 0 {
		t.Errorf("the menu of the question begins %v px behind its button, the files end %v px before the page", got.MenuBegins, got.TrayEnds)
	}
}

func TestPage_LeadsFromAnEmptyServerToACitedAnswerByTwoClicks(t *testing.T) {
	requirePage(t)
	t.Parallel()
	p := serveIngested(t, nil)
	var got struct {
		Clicks, Chips int
		Question      string
		Seen          seenOnPage
	}
	onPage(t, "samples", p.addr, nil, &got)
	got.Seen.check(t)
	if got.Clicks != 2 || got.Chips == 0 || !strings.Contains(got.Question, "sample-") {
		t.Errorf("%d clicks to %d citations, asked %q", got.Clicks, got.Chips, got.Question)
	}
}
