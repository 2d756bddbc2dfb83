package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/test/needs"
)

// requirePage returns the folder with the scenarios of the web page, or skips the test if a
// component is missing.
func requirePage(t testing.TB) string {
	t.Helper()
	if needs.Race {
		t.Skip("the page is tested without the race detector: what it asks of the server is tested with it elsewhere")
	}
	dir, err := filepath.Abs("../../test/ui")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := exec.LookPath("node")
	if missing == nil {
		_, missing = exec.LookPath("chromium")
	}
	if missing == nil {
		_, missing = os.Stat(filepath.Join(dir, "node_modules", "playwright-core"))
	}
	if missing != nil {
		needs.Missing(t, fmt.Sprintf("node, Chromium, and npm ci --prefix test/ui: %v", missing))
	}
	return dir
}

// pageTest begins a test of the web page, which runs beside others.
func pageTest(t *testing.T) {
	t.Helper()
	needs.Long(t)
	requirePage(t)
	t.Parallel()
}

// scenarioTime is the limit for one scenario on a busy machine.
const scenarioTime = 5 * time.Minute

// onPage runs a scenario of test/ui against a server and decodes its result.
func onPage(t testing.TB, scenario, addr string, options map[string]any, into any) {
	t.Helper()
	dir := requirePage(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	input := map[string]any{"base": "http://" + addr, "chromium": chromium, "patience": 60_000}
	for name, value := range options {
		input[name] = value
	}
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	defer reserveBrowser()()
	cmd := exec.Command("node", "run.mjs", scenario, string(raw))
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(scenarioTime, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("scenario %s: %v: %s", scenario, err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("scenario %s: %v: %s", scenario, err, stdout.String())
	}
}

// seenOnPage holds the faults that no scenario may find on the page.
type seenOnPage struct {
	Errors, Dialogs, Foreign []string
	Scripts                  int
}

func (s seenOnPage) check(t *testing.T) {
	t.Helper()
	if len(s.Errors) > 0 {
		t.Errorf("the page reports errors: %q", s.Errors)
	}
	if len(s.Dialogs) > 0 || s.Scripts > 0 {
		t.Errorf("%d scripts ran: %q", s.Scripts, s.Dialogs)
	}
	if len(s.Foreign) > 0 {
		t.Errorf("requests left the origin: %q", s.Foreign)
	}
}

// pdfLine is a line of text in 12 points on a page made by pagePDF, at (x, y) in points from the
// lower left corner.
type pdfLine struct {
	x, y float64
	text string
}

// The page's size.
const pdfWidth, pdfHeight = 612, 792

// pagePDF returns a PDF with these lines on each page.
func pagePDF(pages ...[]pdfLine) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	kids := make([]string, len(pages))
	for i := range pages {
		kids[i] = fmt.Sprintf("%d 0 R", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, lines := range pages {
		var content strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&content, "BT /F 12 Tf %g %g Td (%s) Tj ET\n", l.x, l.y, l.text)
		}
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>", pdfWidth, pdfHeight, 5+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String())
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}

// A fact on the second page of a PDF with the position of its line, and the same in other formats.
const (
	askedPDF  = "How many lighthouse keepers lived on the island of Hirsholm?"
	citedPDF  = "Seven lighthouse keepers lived on the island of Hirsholm in 1886."
	citedLeft = 90
	citedBase = 500
)

// pageDocuments writes small documents of several kinds.
func pageDocuments(t testing.TB) string {
	t.Helper()
	files := map[string]string{
		"keepers.pdf": string(pagePDF(
			[]pdfLine{{72, 700, "The coast of Jutland"}, {72, 660, "This report is about buildings, ferries and the weather of the coast."}},
			[]pdfLine{
				{72, 700, "Islands"}, {72, 660, "The ferry to Laeso takes ninety minutes and runs four times a day."},
				{citedLeft, citedBase, citedPDF}, {72, 300, "Amber is found after storms, mostly in spring."},
			})),
		"skagen.md":    "# Skagen\n\n## The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n\n- It was built in 1858.\n- It shows a light every four seconds.\n\n## Dunes\n\nThe church was buried by sand.\n",
		"opening.csv":  "Museum,Opens,Closes\nAmber museum,10:00,17:00\nFishery museum,09:30,16:00\nShip museum,11:00,18:00\n",
		"harbour.html": "<!doctype html><title>Harbour</title><h1>Harbour</h1><p>The harbour dues for sailing boats are 180 kroner a night.</p><p>Fuel is sold until noon.</p>",
		"boats.txt":    "Boats\n\nThe rescue boat Martha carries twelve passengers and two crew.\n\nIt was repaired in winter.\n",
	}
	return folderOf(t, files)
}

// shownCitation holds the fields that the panel shows for a citation.
type shownCitation struct {
	Question, Tip, Answer, Title, Original, Text, Focus string
	Page                                                int
	Marks                                               []string
	MarksVisible                                        bool
	Boxes                                               []struct {
		X, Y, Width, Height float64
		Visible             bool
	}
}

// Ask, stream, click the citation: the cited words are marked at their position on the page.
func TestPage_ShowsTheCitedWordsWhereTheyStand(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	words := []struct{ question, cited, title string }{
		{askedPDF, citedPDF, ""},
		{"How tall is the lighthouse of Skagen?", "The lighthouse of Skagen is 46 metres tall.", "Skagen"},
		{"What are the harbour dues for sailing boats?", "The harbour dues for sailing boats are 180 kroner a night.", "Harbour"},
		{"How many passengers does the rescue boat Martha carry?", "The rescue boat Martha carries twelve passengers and two crew.", ""},
		{"When does the Fishery museum open?", "Fishery museum", ""},
	}
	questions := make([]string, len(words))
	for i, w := range words {
		questions[i] = w.question
	}
	var result struct {
		Found []shownCitation
		Seen  seenOnPage
	}
	onPage(t, "citations", p.addr, map[string]any{"questions": questions}, &result)
	result.Seen.check(t)
	if len(result.Found) != len(words) {
		t.Fatalf("%d questions were asked", len(result.Found))
	}
	for i, got := range result.Found[1:] {
		want := words[i+1]
		if !strings.Contains(strings.Join(got.Marks, " "), want.cited) || !got.MarksVisible {
			t.Errorf("%s: marked %q (visible: %v), want %q", want.question, got.Marks, got.MarksVisible, want.cited)
		}
		if table := want.cited == "Fishery museum"; !table && len(got.Text) <= len(strings.Join(got.Marks, "")) {
			t.Errorf("%s: the whole page is marked", want.question)
		}
		if want.title != "" && got.Title != want.title {
			t.Errorf("%s: the panel is titled %q", want.question, got.Title)
		}
		if !strings.Contains(got.Focus, "chip") {
			t.Errorf("%s: after closing, the focus is on %q", want.question, got.Focus)
		}
	}
	checkBoxes(t, result.Found[0])
}

// checkBoxes compares the boxes with the position of the line: 12 points of Helvetica have an
// ascent of about 9 and a descent of about 3 points.
func checkBoxes(t *testing.T, got shownCitation) {
	t.Helper()
	if got.Page != 2 || !strings.Contains(got.Original, "/content/keepers.pdf") || !strings.Contains(got.Original, "#page=2") {
		t.Errorf("page %d of %q is shown, want page 2 of keepers.pdf", got.Page, got.Original)
	}
	if !strings.Contains(got.Tip, citedPDF) {
		t.Errorf("hovering shows %q", got.Tip)
	}
	if len(got.Boxes) != 1 || !got.Boxes[0].Visible {
		t.Fatalf("boxes %+v, want a visible one", got.Boxes)
	}
	const tolerance = 4.0 // points
	b := got.Boxes[0]
	left, top, bottom := b.X*pdfWidth, b.Y*pdfHeight, (b.Y+b.Height)*pdfHeight
	if left < citedLeft-tolerance || left > citedLeft+tolerance {
		t.Errorf("the box begins at %.1f points, the words at %d", left, citedLeft)
	}
	baseline := float64(pdfHeight - citedBase)
	if top > baseline-6 || top < baseline-12-tolerance || bottom < baseline-tolerance || bottom > baseline+3+tolerance {
		t.Errorf("the box is from %.1f to %.1f points below the top, the words stand on %.1f", top, bottom, baseline)
	}
	if width := b.Width * pdfWidth; width < 300 || width > 420 { // set in 12 points, the line is about 355 wide
		t.Errorf("the box is %.1f points wide", width)
	}
}

// slowModel is an OpenAI-compatible server that streams words, one for each pause: after a word that was late, the next ones come sooner. For
// questions that contain "early", it waits before the first word.
type slowModel struct {
	*httptest.Server
	words []string
	pause time.Duration

	mu    sync.Mutex
	calls map[string]int // by question
}

func startSlowModel(t testing.TB, words []string, pause time.Duration) *slowModel {
	m := &slowModel{words: words, pause: pause, calls: map[string]int{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *slowModel) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	question := request.Messages[len(request.Messages)-1].Content
	for _, name := range []string{"reload", "early", "offline", "stop"} {
		if strings.Contains(question, "? "+name) {
			m.mu.Lock()
			m.calls[name]++
			m.mu.Unlock()
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.Contains(question, "? early") {
		m.wait(r, 5*time.Second)
	}
	began := time.Now()
	for i, word := range m.words {
		writePiece(w, word)
		if due := began.Add(time.Duration(i+1) * m.pause); !m.wait(r, time.Until(due)) {
			return
		}
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

func (m *slowModel) wait(r *http.Request, pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-r.Context().Done():
		return false
	}
}

// serveWithModel serves documents with a stub as the model.
func serveWithModel(t *testing.T, url, docs string) *process {
	t.Helper()
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + url + "/v1"}
	p := serveIngested(t, env, docs, "--model", "openai:test-model", "--stages-rewrite", "builtin:rules", "--stages-summary", "builtin:none")
	return p
}

func TestPage_TakesUpAnswersThatItLost(t *testing.T) {
	pageTest(t)
	var words []string
	for i := range 100 {
		words = append(words, fmt.Sprintf("word%d ", i))
	}
	m := startSlowModel(t, append(words, "end."), 100*time.Millisecond)
	p := serveWithModel(t, m.URL, pageDocuments(t))
	var got struct {
		Before, Reloaded, Early, Reconnected, Later, LaterQuestion, Stopped, Note, Retried, Versions, Edited string
		Left                                                                                                 int
		Seen                                                                                                 seenOnPage
	}
	const question = "How tall is the lighthouse of Skagen?"
	onPage(t, "resume", p.addr, map[string]any{"question": question}, &got)
	got.Seen.Errors = nil // browsers report being offline as errors
	got.Seen.check(t)
	whole := strings.Join(m.words, "")
	if len(got.Before) >= len(whole) {
		t.Error("the answer was whole before the reload")
	}
	for name, text := range map[string]string{
		"after a reload": got.Reloaded, "after an early reload": got.Early, "after a lost connection": got.Reconnected, "asked again": got.Retried, "asked without a connection": got.Later,
	} {
		if text != whole {
			t.Errorf("%s: %q, want %q", name, text, whole)
		}
	}
	if !strings.HasPrefix(whole, got.Stopped) || len(got.Stopped) >= len(whole) || got.Note != "Stopped." {
		t.Errorf("stopped with %q: %q", got.Note, got.Stopped)
	}
	if strings.Join(strings.Fields(got.Versions), "") != "2/2" || got.Edited != question+" stop" || got.Left != 0 {
		t.Errorf("versions %q, edited %q, %d questions left behind", got.Versions, got.Edited, got.Left)
	}
	if got.LaterQuestion != question+" later" {
		t.Errorf("the question asked without a connection is %q", got.LaterQuestion)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, want := range map[string]int{"reload": 1, "early": 1, "offline": 1, "stop": 2} {
		if m.calls[name] != want {
			t.Errorf("%s: the model was asked %d times, want %d", name, m.calls[name], want)
		}
	}
}

// startEcho starts an OpenAI-compatible server that answers with the question, a few characters at
// a time.
func startEcho(t testing.TB) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		question, _, _ := strings.Cut(request.Messages[len(request.Messages)-1].Content, "\n\nSources:\n")
		w.Header().Set("Content-Type", "text/event-stream")
		const piece = 40 // characters
		for runes := []rune(question); len(runes) > 0; runes = runes[min(piece, len(runes)):] {
			writePiece(w, string(runes[:min(piece, len(runes))]))
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// hostileDocuments writes documents whose names, titles and texts contain markup.
func hostileDocuments(t testing.TB) string {
	t.Helper()
	const attack = `<img src=x onerror=alert(1)>`
	files := map[string]string{
		`"><img src=x onerror=alert(1)>.md`:           "# " + attack + "\n\nThe documents say " + attack + " [x](javascript:alert(1)) ![x](https://evil.example/x.png).\n",
		`'onmouseover='alert(1).txt`:                  "The documents say <script>alert(1)</script> and </textarea><script>alert(1)</script>.\n",
		`javascript:alert(1).md`:                      "# {{constructor.constructor('alert(1)')()}}\n\nThe documents say <svg onload=alert(1)>.\n",
		`a]b[c](javascript:alert(1)).md`:              "# [x](javascript:alert(1))\n\nThe documents say <iframe srcdoc='<script>parent.alert(1)</script>'>.\n",
		`page <b onclick=alert(1)>.html`:              "<!doctype html><title>&lt;script&gt;alert(1)&lt;/script&gt;</title><p onclick=alert(1)>The documents say <img src=x onerror=alert(1)>this &lt;img src=x onerror=alert(1)&gt;.</p><script>alert(1)</script>",
		`table <svg onload=alert(1)>.csv`:             "a,b\n" + attack + ",<script>alert(1)</script>\nThe documents,say javascript:alert(1)\n",
		"${alert(1)} %3Cscript%3Ealert(1)%3C%2Fx.txt": "The documents say ${alert(1)} and \"><script>alert(1)</script>.\n",
	}
	return folderOf(t, files)
}

func TestPage_RunsNothingOfWhatItShows(t *testing.T) {
	pageTest(t)
	docs := hostileDocuments(t)
	p := serveWithModel(t, startEcho(t), docs)
	var got struct {
		Vectors int
		Reports []struct {
			Shown, Streamed, Documents int
			Bad                        []string
			Seen                       seenOnPage
		}
	}
	onPage(t, "xss", p.addr, nil, &got)
	if got.Vectors < 200 || len(got.Reports) != 2 {
		t.Fatalf("%d vectors in %d rounds", got.Vectors, len(got.Reports))
	}
	for _, r := range got.Reports {
		r.Seen.check(t)
		if len(r.Bad) > 0 {
			t.Errorf("in the page there is %q", r.Bad)
		}
		if r.Shown < got.Vectors || r.Streamed < 5000 || r.Documents < 6 {
			t.Errorf("%d vectors, %d characters of answers and %d documents were shown", r.Shown, r.Streamed, r.Documents)
		}
	}
}

// Every view and state passes axe in both themes at three sizes. PARLEY_UI_SHOTS names a folder for
// screenshots.
func TestPage_IsAccessibleInEveryState(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	for _, size := range []string{"phone", "tablet", "wide"} {
		t.Run(size, func(t *testing.T) {
			var got struct {
				Findings, Views []string
				Rules           int // rules checked, over all views
			}
			options := map[string]any{"question": askedPDF, "shots": os.Getenv("PARLEY_UI_SHOTS"), "size": size}
			onPage(t, "states", p.addr, options, &got)
			for _, f := range got.Findings {
				t.Error(f)
			}
			if len(got.Views) < 15 || got.Rules < 500 {
				t.Errorf("only %q were looked at, and %d rules were met", got.Views, got.Rules)
			}
		})
	}
}

func TestPage_TellsWhatBecameOfAGoodAndABrokenFile(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	good := filepath.Join(t.TempDir(), "good.md")
	const text = "# A good file\n\nThe pier of Hirtshals is 600 metres long.\n"
	if err := os.WriteFile(good, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Done, Failed, Refused, Chunk, Marked string
		Seen                                 seenOnPage
	}
	onPage(t, "upload", p.addr, map[string]any{"good": good, "broken": "%PDF-1.4\nthis is no PDF"}, &got)
	got.Seen.check(t)
	if !strings.Contains(got.Done, "good.md") || !strings.Contains(got.Done, "done") || !strings.Contains(got.Done, "1 added, 1 passage") {
		t.Errorf("the good file: %q", got.Done)
	}
	if !strings.Contains(got.Failed, "broken.pdf") || !strings.Contains(got.Failed, "failed") || len(got.Failed) < len("broken.pdf failed just now")+10 {
		t.Errorf("the broken file: %q", got.Failed)
	}
	if !strings.Contains(got.Refused, "http") {
		t.Errorf("an address that is none: %q", got.Refused)
	}
	if !strings.Contains(got.Chunk, "600 metres") || got.Marked == "" {
		t.Errorf("the chunk is %q, marked %q", got.Chunk, got.Marked)
	}
}
