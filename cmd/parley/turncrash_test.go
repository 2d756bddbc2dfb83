package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to inspect the databases after a crash

	"parley/test/needs"
)

// crashRounds is the environment variable with the number of kills during turns. `make crash` sets
// 200; only then is the time of a restart checked too.
const crashRounds = "PARLEY_CRASH_ROUNDS"

// restartTime is the limit from the start of the program to its first answer.
const restartTime = time.Second

func roundsOfCrash(t *testing.T) (rounds int, full bool) {
	t.Helper()
	text, full := os.LookupEnv(crashRounds)
	if !full {
		return 20, false
	}
	rounds, err := strconv.Atoi(text)
	if err != nil || rounds < 1 {
		t.Fatalf("%s is %q", crashRounds, text)
	}
	return rounds, true
}

// asker is a client of one session. It repeats an unanswered question with the same key.
type asker struct {
	session  string
	answered []reply // acknowledged, in order
	pending  bool    // the next question was sent but not answered
}

func (a *asker) question(i int) string { return fmt.Sprintf("How high is Mount Everest (%d)?", i) }

// send sends the i-th question, which takes one model call.
func (a *asker) send(s *ragChatServer, i int) (reply, error) {
	body := fmt.Sprintf(`{"message":%q,"params":{"enable_query_rewrite":false,"raw_tail_turns":1000}}`, a.question(i))
	return s.send("/chat/"+a.session, body, "Idempotency-Key", fmt.Sprint("question ", i))
}

// ask sends questions until the server is killed.
func (a *asker) ask(t *testing.T, s *ragChatServer) {
	for {
		a.pending = true
		r, err := a.send(s, len(a.answered))
		if err != nil {
			return // killed
		}
		if r.status != http.StatusOK {
			t.Errorf("status %d: %s", r.status, r.body)
			return
		}
		a.answered, a.pending = append(a.answered, r), false
	}
}

// check compares the session with the acknowledged answers, after repeating the pending question.
func (a *asker) check(t *testing.T, s *ragChatServer) {
	t.Helper()
	if a.pending {
		r, err := a.send(s, len(a.answered))
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("asked again: status %d, %v: %s", r.status, err, r.body)
		}
		a.answered, a.pending = append(a.answered, r), false
	}
	if last := len(a.answered) - 1; last >= 0 {
		again, err := a.send(s, last)
		if err != nil || again.body != a.answered[last].body || again.header.Get("X-Turn-Id") != a.answered[last].header.Get("X-Turn-Id") {
			t.Fatalf("the same key got another answer: %v: %s\nfirst %s", err, again.body, a.answered[last].body)
		}
	}
	all := s.history(t, a.session)
	if len(all) != 2*len(a.answered) {
		t.Fatalf("%d messages after %d acknowledged turns", len(all), len(a.answered))
	}
	for i := range a.answered {
		if all[2*i] != "user: "+a.question(i) || !strings.HasPrefix(all[2*i+1], "assistant: ") {
			t.Fatalf("messages %d and %d are %q and %q", 2*i, 2*i+1, all[2*i], all[2*i+1])
		}
	}
}

// checkFiles checks a copy of the databases as the crash left them, so that the program is the
// first to open the originals.
func checkFiles(t *testing.T, data string) {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // there are hundreds of rounds
	for _, name := range []string{"state.db", "corpus.db"} {
		for _, suffix := range []string{"", "-wal"} {
			raw, err := os.ReadFile(filepath.Join(data, name+suffix))
			if err != nil && suffix == "" {
				t.Fatal(err)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name+suffix), raw, 0o600)
			}
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var verdict string
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("%s: %s, %v", name, verdict, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After any number of crashes, no acknowledged turn is lost or duplicated, a key gets one answer,
// and the ledger is exact to the millionth of a dollar.
func TestRAGChat_KilledAtAnyMomentItLosesAndDoublesNothing(t *testing.T) {
	needs.Long(t)
	const sessions = 4
	rounds, full := roundsOfCrash(t)
	flags := []string{"--model", "openai:gpt-4o-mini"}
	s := startRAGChat(t, flags...)
	askers := make([]*asker, sessions)
	for i := range askers {
		askers[i] = &asker{session: s.session(t)}
	}
	var restarts []time.Duration
	for range rounds {
		var asking sync.WaitGroup
		for _, a := range askers {
			asking.Go(func() { a.ask(t, s) })
		}
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		s.signal(t, syscall.SIGKILL)
		asking.Wait()
		checkFiles(t, s.data)
		began := time.Now()
		s.again(t, flags...)
		restarts = append(restarts, time.Since(began))
		for _, a := range askers {
			a.check(t, s)
		}
		if t.Failed() {
			return
		}
	}
	slices.Sort(restarts)
	median, slowest := restarts[len(restarts)/2], restarts[len(restarts)-1]
	if full && slowest > restartTime {
		t.Errorf("a restart took %s (median %s)", slowest, median)
	}
	turns := checkBooks(t, s, askers)
	t.Logf("%d kills, %d turns acknowledged, restart %s in the median and %s at most", rounds, turns, median, slowest)
}

// checkBooks compares the usage of sessions with the ledger, and returns the number of turns.
func checkBooks(t *testing.T, s *ragChatServer, askers []*asker) (turns int) {
	t.Helper()
	want := map[string]int64{}
	perCall := int64(0)
	for _, a := range askers {
		r, err := a.send(s, len(a.answered))
		if err != nil || r.status != http.StatusOK || r.Totals.Messages != len(a.answered)+1 {
			t.Fatalf("status %d, %v: %d messages after %d turns", r.status, err, r.Totals.Messages, len(a.answered)+1)
		}
		turns += len(a.answered) + 1
		want[a.session] = micros(r.Totals.Cost.Total)
		perCall = micros(r.Turn.Totals.Cost.Total)
	}
	rows, byConversation := s.usage(t, "conversation")
	for _, row := range rows {
		id, _ := row["conversation"].(string)
		if got := int64(row["cost_micros"].(float64)); got != want[id] {
			t.Errorf("conversation %s took %d micro-dollars in the ledger, %d in its totals", id, got, want[id])
		}
	}
	byTurn, sum := s.usage(t, "turn")
	interrupted, reported := 0, int64(0)
	for _, row := range byTurn {
		if row["calls"] != 1.0 {
			t.Errorf("a turn has %v calls: %v", row["calls"], row)
		}
		if row["calls_with_estimated_tokens"] == 1.0 {
			interrupted++ // its cost at the provider is unknown
			continue
		}
		reported += int64(row["cost_micros"].(float64))
	}
	if len(rows) != len(askers) || sum != byConversation || perCall == 0 {
		t.Errorf("%d conversations took %d, their turns %d", len(rows), byConversation, sum)
	}
	if completed := len(byTurn) - interrupted; completed != turns || reported != int64(turns)*perCall {
		t.Errorf("%d calls took %d micro-dollars, want %d of %d each; %d were interrupted", completed, reported, turns, perCall, interrupted)
	}
	if calls := s.openai.Calls(); calls < turns || calls > len(byTurn) {
		t.Errorf("the provider was called %d times, the ledger has %d calls", calls, len(byTurn))
	}
	return turns
}

// An acknowledged turn is on the disk, not only in the cache that survives a kill: the test counts
// syncs with strace.
func TestRAGChat_EachAcknowledgedTurnWasSynced(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if runtime.GOOS != "linux" {
		t.Skip("strace is a program of Linux")
	}
	if err != nil {
		needs.Missing(t, "strace: apt-get install strace")
	}
	const turns = 50
	s := startRAGChat(t)
	path := "/chat/" + s.session(t)
	trace := filepath.Join(t.TempDir(), "trace")
	watch := exec.Command(strace, "-f", "-e", "trace=fsync,fdatasync", "-o", trace, "-p", strconv.Itoa(s.cmd.Process.Pid))
	attached, err := watch.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := attached.Read(make([]byte, 1)); err != nil { // strace reports that it has attached
		needs.Missing(t, "the right to attach strace to a process")
	}
	for i := range turns {
		if r, err := s.send(path, fmt.Sprintf(`{"message":"How high is Mount Everest (%d)?"}`, i)); err != nil || r.status != http.StatusOK {
			t.Fatalf("status %d, %v: %s", r.status, err, r.body)
		}
	}
	if err := watch.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = watch.Wait() // it ends by the signal
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	syncs := len(regexp.MustCompile(`(?m)f(?:data)?sync\(\d+`).FindAll(raw, -1))
	if syncs < turns {
		t.Errorf("%d syncs for %d acknowledged turns", syncs, turns)
	}
	t.Logf("%d syncs for %d turns", syncs, turns)
}
