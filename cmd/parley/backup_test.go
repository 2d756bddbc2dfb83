package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/test/needs"
)

// A server restored from a backup that was made while clients were asking has every answer that was
// acknowledged before the backup began, and gives it again for the same key.
func TestBackup_OfARunningServerHasAllThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	flags := []string{"--model", "openai:gpt-4o-mini"}
	s := startRAGChat(t, flags...)
	askers := make([]*asker, 4)
	var asking sync.WaitGroup
	for i := range askers {
		askers[i] = &asker{session: s.session(t)}
		for range 3 {
			r, err := askers[i].send(s, len(askers[i].answered))
			if err != nil || r.status != 200 {
				t.Fatal(err, r.body)
			}
			askers[i].answered = append(askers[i].answered, r)
		}
	}
	before := make([]asker, len(askers))
	for i, a := range askers {
		before[i] = *a
		asking.Go(func() { a.ask(t, s) })
	}
	file := filepath.Join(t.TempDir(), "parley.tar.zst")
	said := parley(t, "backup", file, "--data", s.data)
	if !strings.Contains(said, "Backed up ") || !strings.Contains(said, "1 original") {
		t.Errorf("it says %q", said)
	}
	_ = s.signal(t, syscall.SIGKILL) // it always ends with an error
	asking.Wait()

	restored := filepath.Join(t.TempDir(), "data")
	parley(t, "restore", file, "--data", restored)
	s.data = restored
	if err := os.WriteFile(s.prices(), []byte("{}"), 0o600); err != nil { // its name follows from that of the folder
		t.Fatal(err)
	}
	s.process = s.start(t, flags...)
	if err := awaitReady(s.addr); err != nil {
		t.Fatal(err)
	}
	for i := range before {
		all := s.history(t, before[i].session)
		if len(all) < 2*len(before[i].answered) || len(all)%2 != 0 {
			t.Errorf("session %d has %d messages after %d acknowledged turns", i, len(all), len(before[i].answered))
		}
		for n, old := range before[i].answered {
			if all[2*n] != "user: "+before[i].question(n) {
				t.Errorf("message %d is %q", 2*n, all[2*n])
			}
			again, err := before[i].send(s, n)
			if err != nil || again.header.Get("X-Turn-Id") != old.header.Get("X-Turn-Id") {
				t.Errorf("the same key got another turn: %v: %s\nfirst %s", err, again.body, old.body)
			}
		}
	}
	if status, body := s.post(t, "/search", `{"query":"Everest"}`); status != 200 || !strings.Contains(body, "peaks.md") {
		t.Errorf("status %d: %s", status, body)
	}
}

func TestRestore_IsRefusedWhileAServerRuns(t *testing.T) {
	t.Parallel()
	data, file := stationFolder(t, "one"), filepath.Join(t.TempDir(), "b.tar.zst")
	parley(t, "backup", file, "--data", data)
	p := startServe(t, nil, "--data", data)
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{"is not empty": nil, "stop it first": {"--replace"}} {
		out, err := exec.Command(binary(t), append([]string{"restore", file, "--data", data}, args...)...).CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitUsage || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	keeperIn(t, data, "one")
}

// stationFolder makes a data folder whose only document says who keeps a station, and whose only
// stored turn asks for that.
func stationFolder(t *testing.T, keeper string) (data string) {
	t.Helper()
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	text := fmt.Sprintf("# Station\n\nThe keeper of the station is called Keeper%s.\n", keeper)
	if err := os.WriteFile(filepath.Join(docs, "station-"+keeper+".md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "ingest", docs, "--data", data)
	keeperIn(t, data, keeper)
	return data
}

// keeperIn fails unless a data folder is whole and answers with that keeper.
func keeperIn(t *testing.T, data, keeper string) {
	t.Helper()
	if out := parley(t, "ask", "--json", "Who is the keeper of the station?", "--data", data); !strings.Contains(out, "Keeper"+keeper) {
		t.Fatalf("the keeper is not %s: %s", keeper, out)
	}
	checkFiles(t, data)
}

// killedRounds returns the number of times that a test kills a command.
func killedRounds() int {
	if needs.All() && !needs.Race {
		return 30
	}
	return 8
}

// killedAfter runs a command, kills it after a time, and reports whether it had ended.
func killedAfter(t *testing.T, after time.Duration, args ...string) (ended bool) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer kill.Stop()
	return cmd.Wait() == nil
}

// howLong returns how long a command takes.
func howLong(t *testing.T, args ...string) time.Duration {
	t.Helper()
	start := time.Now()
	parley(t, args...)
	return time.Since(start)
}

func TestBackup_KilledAtAnyMomentLeavesTheEarlierOneOrAWholeOne(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	data, file := stationFolder(t, "one"), filepath.Join(t.TempDir(), "b.tar.zst")
	all := []string{"backup", file, "--data", data}
	took := max(howLong(t, all...), howLong(t, all...))
	killed := 0
	for range killedRounds() {
		if !killedAfter(t, rand.N(took), all...) {
			killed++
		}
		parley(t, "restore", "--check", file)
	}
	t.Logf("killed %d of %d", killed, killedRounds())
	restored := filepath.Join(t.TempDir(), "data")
	parley(t, "restore", file, "--data", restored)
	keeperIn(t, restored, "one")
}

// After a kill, the folder is as it was or as the backup says, never a mixture. If renaming had begun,
// it says what to do.
func TestRestore_KilledAtAnyMomentLeavesTheOldFolderOrTheNewOne(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	backups := map[string]string{}
	for _, keeper := range []string{"one", "two"} {
		backups[keeper] = filepath.Join(t.TempDir(), keeper+".tar.zst")
		parley(t, "backup", backups[keeper], "--data", stationFolder(t, keeper))
	}
	data := filepath.Join(t.TempDir(), "data")
	restore := func(keeper string) []string { return []string{"restore", "--replace", backups[keeper], "--data", data} }
	took := max(howLong(t, restore("one")...), howLong(t, restore("one")...))
	is, counts := "one", map[string]int{}
	for range killedRounds() {
		next := map[string]string{"one": "two", "two": "one"}[is]
		ended := killedAfter(t, took/4+rand.N(took*3/4), restore(next)...)
		out, err := exec.Command(binary(t), "restore", "--data", data).CombinedOutput()
		finished := err == nil
		if !finished && !strings.Contains(string(out), "no restore into") {
			t.Fatalf("%v: %s", err, out)
		}
		docs := parley(t, "ask", "--json", "Who is the keeper of the station?", "--data", data)
		switch {
		case strings.Contains(docs, "Keeper"+next):
			is = next
			counts["new"]++
		case ended || finished:
			t.Fatalf("the restore was complete, but the folder is the old one: %s", docs)
		default:
			counts["old"]++
		}
		keeperIn(t, data, is)
	}
	t.Logf("after the kills the folder was %v", counts)
}
