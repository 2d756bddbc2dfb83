package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/test/needs"
)

// reply is the part of a response that the tests check.
type reply struct {
	status int
	header http.Header
	body   string
	Answer string
	Turn   struct {
		Totals struct {
			Cost struct {
				Total float64 `json:"turn_total"`
			}
		}
	} `json:"turn_metrics"`
	Totals struct {
		Cost     struct{ Total float64 }
		Messages int
	} `json:"conversation_totals"`
}

func (s *ragChatServer) send(path, body string, headers ...string) (r reply, err error) {
	req, err := http.NewRequest(http.MethodPost, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	r.status, r.header, r.body = res.StatusCode, res.Header, string(raw)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// history returns the messages of a session as "role: content".
func (s *ragChatServer) history(t *testing.T, session string) (all []string) {
	t.Helper()
	status, body, err := call(http.MethodGet, "http://"+s.addr+"/chat/"+session+"/history", "")
	var h struct {
		Messages []struct{ Role, Content string }
	}
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &h) != nil {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	for _, m := range h.Messages {
		all = append(all, m.Role+": "+m.Content)
	}
	return all
}

// usage returns the rows of a report, and their sum in micro-dollars.
func (s *ragChatServer) usage(t *testing.T, by string) (rows []map[string]any, micros int64) {
	t.Helper()
	status, body, err := call(http.MethodGet, "http://"+s.addr+"/api/usage?by="+by, "")
	var report struct{ Rows []map[string]any }
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &report) != nil {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	for _, row := range report.Rows {
		micros += int64(row["cost_micros"].(float64))
	}
	return report.Rows, micros
}

func micros(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }

// again restarts the program on the same data folder.
func (s *ragChatServer) again(t *testing.T, args ...string) {
	t.Helper()
	s.process = s.start(t, args...)
	if err := awaitReady(s.addr); err != nil {
		t.Fatal(err)
	}
}

// After a crash, every acknowledged turn of a session is there, whole and in its place.
func TestRAGChat_SessionsSurviveKills(t *testing.T) {
	t.Parallel()
	const sessions, rounds = 4, 3
	s := startRAGChat(t)
	ids, known := make([]string, sessions), make([][]string, sessions) // the answered questions
	for i := range ids {
		ids[i] = s.session(t)
	}
	for round := range rounds {
		var posting sync.WaitGroup
		for i, id := range ids {
			posting.Go(func() {
				for n := 0; ; n++ {
					question := fmt.Sprintf("How high is Mount Everest (%d.%d)?", round, n)
					r, err := s.send("/chat/"+id, fmt.Sprintf(`{"message":%q}`, question))
					if err != nil {
						return // killed
					}
					if r.status != http.StatusOK {
						t.Errorf("status %d: %s", r.status, r.body)
						return
					}
					known[i] = append(known[i], question)
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		s.signal(t, syscall.SIGKILL)
		posting.Wait()
		s.again(t)
		for i, id := range ids {
			known[i] = s.checkSession(t, id, known[i])
		}
	}
	t.Logf("%d turns in the first session", len(known[0]))
}

// checkSession compares the messages of a session with the answered questions, and returns the
// messages. The turn in progress at the crash may be missing.
func (s *ragChatServer) checkSession(t *testing.T, id string, answered []string) (held []string) {
	t.Helper()
	all := s.history(t, id)
	if len(all)%2 != 0 || len(all)/2 < len(answered) || len(all)/2 > len(answered)+1 {
		t.Fatalf("%d messages after %d answered questions", len(all), len(answered))
	}
	for i := 0; i < len(all); i += 2 {
		question, ok := strings.CutPrefix(all[i], "user: ")
		if !ok || i/2 < len(answered) && question != answered[i/2] {
			t.Fatalf("message %d is %q, want the question %q", i, all[i], answered[i/2])
		}
		if !strings.HasPrefix(all[i+1], "assistant: ") || len(all[i+1]) < 20 {
			t.Fatalf("message %d is %q", i+1, all[i+1])
		}
		held = append(held, question)
	}
	return held
}

func TestRAGChat_AKeyIsOneTurnAndOneCharge(t *testing.T) {
	t.Parallel()
	s := startRAGChat(t, "--model", "openai:gpt-4o-mini")
	path, body := "/chat/"+s.session(t), `{"message":"How high is Mount Everest?"}`
	var first reply
	var all sync.WaitGroup
	replies := make([]reply, 10)
	for i := range replies {
		all.Go(func() {
			var err error
			if replies[i], err = s.send(path, body, "Idempotency-Key", "k1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	first = replies[0]
	check := func(r reply) {
		t.Helper()
		if r.status != http.StatusOK || r.body != first.body || r.header.Get("X-Turn-Id") != first.header.Get("X-Turn-Id") {
			t.Errorf("status %d, turn %s: %s\nfirst %s: %s", r.status, r.header.Get("X-Turn-Id"), r.body, first.header.Get("X-Turn-Id"), first.body)
		}
		if n := s.openai.Calls(); n != 1 {
			t.Errorf("%d calls of the model", n)
		}
	}
	for _, r := range replies {
		check(r)
	}
	if r, _ := s.send(path, `{"message":"Another question?"}`, "Idempotency-Key", "k1"); r.status != http.StatusUnprocessableEntity {
		t.Errorf("another body: status %d: %s", r.status, r.body)
	}
	s.signal(t, syscall.SIGKILL)
	s.again(t, "--model", "openai:gpt-4o-mini")
	r, err := s.send(path, body, "Idempotency-Key", "k1")
	if err != nil {
		t.Fatal(err)
	}
	check(r)
	if rows, spent := s.usage(t, "turn"); len(rows) != 1 || spent != micros(first.Turn.Totals.Cost.Total) || spent == 0 {
		t.Errorf("%v of %d, want %v", rows, spent, first.Turn.Totals.Cost.Total)
	}
	if got := s.history(t, strings.TrimPrefix(path, "/chat/")); len(got) != 2 {
		t.Errorf("the session holds %q", got)
	}
}

// The usage of a conversation equals the sum of its turns, to the millionth of a dollar: with
// concurrent turns, a failing provider, and after a crash.
func TestRAGChat_TotalsAreTheSumOfTheTurns(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	const turns = 100
	s := startRAGChat(t, "--model", "openai:gpt-4o-mini")
	var faults sync.Mutex
	s.openai.Fault = func(n int) string {
		faults.Lock()
		defer faults.Unlock()
		return map[int]string{3: "cut", 5: "500", 8: "nousage"}[n%10]
	}
	session := s.session(t)
	var posting sync.WaitGroup
	var mu sync.Mutex
	answered, charged := 0, int64(0)
	for i := range turns {
		posting.Go(func() {
			r, err := s.send("/chat/"+session, fmt.Sprintf(`{"message":"How high is Mount Everest (%d)?","params":{"enable_query_rewrite":false}}`, i))
			if err != nil || r.status != http.StatusOK && r.status != http.StatusBadGateway && r.status != http.StatusServiceUnavailable {
				t.Errorf("status %d, %v: %s", r.status, err, r.body)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if r.status == http.StatusOK {
				answered++
				charged += micros(r.Turn.Totals.Cost.Total)
			}
		})
	}
	posting.Wait()
	last, err := s.send("/chat/"+session, `{"message":"And at last?","params":{"enable_query_rewrite":false}}`)
	for err == nil && last.status != http.StatusOK {
		last, err = s.send("/chat/"+session, `{"message":"And at last?","params":{"enable_query_rewrite":false}}`)
	}
	if err != nil {
		t.Fatal(err)
	}
	charged += micros(last.Turn.Totals.Cost.Total)
	total := micros(last.Totals.Cost.Total)
	for range 2 {
		_, byTurn := s.usage(t, "turn")
		rows, byConversation := s.usage(t, "conversation")
		if byTurn != total || byConversation != total || len(rows) != 1 {
			t.Errorf("totals %d, turns %d, conversations %d in %d rows", total, byTurn, byConversation, len(rows))
		}
		if got := s.history(t, session); len(got) < 2*(answered+1) {
			t.Errorf("%d messages after %d answers", len(got), answered+1)
		}
		s.signal(t, syscall.SIGKILL)
		s.again(t, "--model", "openai:gpt-4o-mini")
	}
	if answered < turns/2 || charged > total || charged == 0 {
		t.Errorf("%d of %d answered; charged %d in the answers, %d in all", answered, turns, charged, total)
	}
}

// Of a hundred concurrent writers on one session none is lost, and their turns are in sequence.
func TestRAGChat_AHundredWritersOnOneSessionAreServedOneAfterTheOther(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	const writers = 100
	s := startRAGChat(t)
	session := s.session(t)
	var posting sync.WaitGroup
	for i := range writers {
		posting.Go(func() {
			question := fmt.Sprintf("How high is Mount Everest (%d)?", i)
			r, err := s.send("/chat/"+session, fmt.Sprintf(`{"message":%q}`, question))
			if err != nil || r.status != http.StatusOK {
				t.Errorf("status %d, %v: %s", r.status, err, r.body)
				return
			}
			// The totals are read after the turn, when another turn may have ended.
			if r.Totals.Messages < 1 || r.Totals.Messages > writers {
				t.Errorf("the answer tells of %d turns", r.Totals.Messages)
			}
		})
	}
	posting.Wait()
	all := s.history(t, session)
	if len(all) != 2*writers {
		t.Fatalf("%d messages after %d turns", len(all), writers)
	}
	asked := map[string]bool{}
	for i := 0; i < len(all); i += 2 {
		question, ok := strings.CutPrefix(all[i], "user: ")
		if !ok || asked[question] || !strings.HasPrefix(all[i+1], "assistant: ") {
			t.Fatalf("messages %d and %d are %q and %q", i, i+1, all[i], all[i+1])
		}
		asked[question] = true
	}
}

func TestRAGChat_ABudgetHoldsForTurnsAtOnceAndAfterAStart(t *testing.T) {
	t.Parallel()
	const most = 3
	flags := []string{"--budgets-user-requests", fmt.Sprint(most)}
	s := startRAGChat(t, flags...)
	ask := func(user string) reply {
		r, err := s.send("/chat", fmt.Sprintf(`{"message":"How high is Mount Everest?","params":{"user_id":%q}}`, user))
		if err != nil {
			t.Error(err)
		}
		return r
	}
	var asking sync.WaitGroup
	replies := make([]reply, 12)
	for i := range replies {
		asking.Go(func() { replies[i] = ask("u1") })
	}
	asking.Wait()
	admitted := 0
	for _, r := range replies {
		switch {
		case r.status == http.StatusOK:
			admitted++
		case r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "":
			t.Errorf("status %d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
		}
	}
	if admitted != most {
		t.Errorf("%d turns admitted, want %d", admitted, most)
	}
	if r := ask("u2"); r.status != http.StatusOK {
		t.Errorf("another user: status %d: %s", r.status, r.body)
	}
	s.signal(t, syscall.SIGKILL)
	s.again(t, flags...)
	if r := ask("u1"); r.status != http.StatusTooManyRequests {
		t.Errorf("after a start: status %d: %s", r.status, r.body)
	}
}

func TestRAGChat_TheStepsOfATurnComeWhileItRuns(t *testing.T) {
	t.Parallel()
	s := startRAGChat(t, "--model", "openai:gpt-4o-mini")
	res, err := http.Get("http://" + s.addr + "/chat/stream/stages?query_id=q1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	steps := make(chan string)
	go func() {
		defer close(steps)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var step struct{ Type, Stage, FinalContent string }
				if err := json.Unmarshal([]byte(data), &step); err != nil {
					t.Error(err)
				}
				steps <- step.Stage + step.FinalContent
			}
		}
	}()
	if got := <-steps; got != "_connected" {
		t.Fatalf("first %q", got)
	}
	answered := make(chan reply, 1)
	go func() {
		r, err := s.send("/chat", `{"message":"How high is Mount Everest?","params":{"query_id":"q1","show_sources":false}}`)
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	var got []string
	for step := range steps {
		got = append(got, step)
	}
	r := <-answered
	want := []string{"Query Rewrite", "Retrieve Vectors", "Skipping Rerank", "Inference Context Assembly", "Generating Response", "Final Answer" + r.Answer, "Done"}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Answer == "" {
		t.Errorf("steps %q, want %q", got, want)
	}
}
