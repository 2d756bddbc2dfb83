package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// pdfOf returns a PDF with a page for each list of lines.
func pdfOf(pages ...[]string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"}
	var kids []string
	for _, lines := range pages {
		var content strings.Builder
		for i, line := range lines {
			fmt.Fprintf(&content, "BT /F 11 Tf 1 0 0 1 72 %d Tm (%s) Tj ET\n", 700-14*i, line)
		}
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>", n+1),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String()))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// web is a client of a running server.
type web struct {
	t    *testing.T
	addr string
}

func (w web) call(method, path string, headers ...string) (*http.Response, []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.addr+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res, body
}

func (w web) get(path string, v any) {
	w.t.Helper()
	res, body := w.call(http.MethodGet, path)
	if res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d %s", path, res.StatusCode, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		w.t.Fatalf("%s: %v: %s", path, err, body)
	}
}

func TestWebPage_ShowsTheCitedWordsOnThePage(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), t.TempDir()
	pdf := pdfOf([]string{"Nothing of interest is on the first page."},
		[]string{"Vision care is part of every plan.", "Contact lenses are covered up to 150 dollars each year.", "Glasses are covered in every second year."})
	if err := os.WriteFile(filepath.Join(docs, "plan.pdf"), pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIngested(t, nil, docs, "--data", data)
	w := web{t, p.addr}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	res, err := client.Post("http://"+p.addr+"/chat/stream", "application/json",
		strings.NewReader(`{"messages":[{"role":"user","content":"Are contact lenses covered?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil { // leaving before the end would cancel the turn
		t.Fatal(err)
	}
	res.Body.Close()
	var turn struct {
		Status    string
		Citations []struct {
			DocumentID string `json:"document_id"`
			Page       int
			Start, End int
			Quote      string
		}
	}
	w.get("/api/turns/"+res.Header.Get("X-Turn-Id"), &turn)
	if len(turn.Citations) != 1 || turn.Citations[0].Page != 2 || !strings.HasPrefix(turn.Citations[0].Quote, "Contact lenses are covered") {
		t.Fatalf("%+v", turn)
	}
	c := turn.Citations[0]
	page := fmt.Sprintf("/api/documents/%s/pages/%d", c.DocumentID, c.Page)
	var shown struct {
		Width, Height float64
		ImageURL      string `json:"image_url"`
	}
	w.get(page, &shown)
	if shown.Width != 612 || shown.Height != 792 {
		t.Errorf("the page is %g by %g", shown.Width, shown.Height)
	}
	var boxes struct {
		Boxes []struct{ X, Y, Width, Height float64 }
	}
	w.get(fmt.Sprintf("%s/boxes?start=%d&end=%d", page, c.Start, c.End), &boxes)
	if len(boxes.Boxes) != 1 || boxes.Boxes[0].X < .1 || boxes.Boxes[0].X > .13 || boxes.Boxes[0].Y*792 < 92 || boxes.Boxes[0].Y*792 > 100 ||
		boxes.Boxes[0].Width < .4 || boxes.Boxes[0].Height*792 > 16 { // the second line, whose baseline is 106 points from the top
		t.Errorf("%+v", boxes)
	}
	picture, body := w.call(http.MethodGet, shown.ImageURL+"&width=600")
	img, err := jpeg.Decode(bytes.NewReader(body))
	if err != nil || img.Bounds().Dx() < 590 || img.Bounds().Dx() > 610 {
		t.Errorf("picture: %v, %v", picture.Header, err)
	}
	if again, _ := w.call(http.MethodGet, shown.ImageURL+"&width=600", "If-None-Match", picture.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("picture again: %d", again.StatusCode)
	}
	for path, want := range map[string]int{"/pages/3/image": http.StatusNotFound, "/pages/3": http.StatusNotFound, "/pages/3/boxes?start=0&end=1": http.StatusOK} {
		if res, body := w.call(http.MethodGet, "/api/documents/"+c.DocumentID+path); res.StatusCode != want {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	var all sync.WaitGroup // concurrent requests for a page that has not been drawn yet
	for i := range 24 {
		all.Go(func() {
			res, err := client.Get(fmt.Sprintf("http://%s%s&width=%d", p.addr, shown.ImageURL, 700+100*(i%3)))
			if err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("picture %d: %v %v", i, res, err)
				return
			}
			res.Body.Close()
		})
	}
	all.Wait()
}

func TestWebPage_ReadsADocumentAnew(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), t.TempDir()
	path := filepath.Join(docs, "sub", "leave.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(days int) {
		if err := os.WriteFile(path, fmt.Appendf(nil, "# Leave\n\nEmployees get %d days of paid leave.\n", days), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(25)
	p := serveIngested(t, nil, docs, "--data", data)
	w := web{t, p.addr}
	var list struct{ Documents []struct{ ID string } }
	w.get("/api/documents", &list)
	document := "/api/documents/" + list.Documents[0].ID
	text := func() string {
		var chunks struct{ Chunks []struct{ Text string } }
		w.get(document+"/chunks", &chunks)
		return chunks.Chunks[0].Text
	}
	before := text()
	reindex := func() (state string) {
		t.Helper()
		res, body := w.call(http.MethodPost, document+"/reindex")
		var begun struct {
			ID string `json:"job_id"`
		}
		if err := json.Unmarshal(body, &begun); err != nil || res.StatusCode != http.StatusAccepted {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			var job struct{ State string }
			w.get("/api/jobs/"+begun.ID, &job)
			if state = job.State; state != "queued" && state != "running" {
				return state
			}
		}
		t.Fatalf("the job is still %s", state)
		return ""
	}
	if state := reindex(); state != "done" || text() != before {
		t.Errorf("unchanged: %s, %q", state, text())
	}
	write(30)
	if state := reindex(); state != "done" || !strings.Contains(text(), "30 days") {
		t.Errorf("changed: %s, %q", state, text())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if state := reindex(); state != "failed" {
		t.Errorf("gone: %s", state)
	}
}

func TestWebPage_DeletesADocumentEverywhere(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), t.TempDir()
	for _, name := range []string{"a b.md", "other.md"} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte("# Leave\n\nEmployees get 25 days of paid leave in "+name+".\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := serveIngested(t, nil, docs, "--data", data)
	w := web{t, p.addr}
	type list struct {
		Documents []struct {
			ID, Name   string
			ContentURL string `json:"content_url"`
		}
		Total int
	}
	var before, after list
	w.get("/api/documents?q="+url.QueryEscape("a b"), &before)
	if before.Total != 1 {
		t.Fatalf("%+v", before)
	}
	res, body := w.call(http.MethodDelete, "/api/documents/"+before.Documents[0].ID)
	if res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"returns":true`) {
		t.Errorf("delete: %d %s", res.StatusCode, body)
	}
	if res, _ := w.call(http.MethodGet, before.Documents[0].ContentURL); res.StatusCode != http.StatusNotFound {
		t.Errorf("its original: %d", res.StatusCode)
	}
	w.get("/api/documents", &after)
	if after.Total != 1 || after.Documents[0].Name != "other.md" {
		t.Errorf("left: %+v", after)
	}
	var config struct {
		Documents int
		Problems  []struct{ Code string }
		Settings  struct{ Azure, RAGChat []struct{ Name string } }
	}
	w.get("/api/ui/config", &config)
	if config.Documents != 1 || len(config.Problems) != 1 || config.Problems[0].Code != "no_key" || len(config.Settings.Azure) < 10 || len(config.Settings.RAGChat) < 15 {
		t.Errorf("%+v", config)
	}
}
