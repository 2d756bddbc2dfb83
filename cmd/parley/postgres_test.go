package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/test/needs"
)

// What is ingested on one machine answers on another that shares only the database.
func TestPostgres_HoldsEverythingForCommandsAndServer(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	docs := folderOf(t, map[string]string{"tea.md": "# Tea\n\nGreen tea is brewed at 80 degrees.\n"})
	env := append(os.Environ(), "PARLEY_DATABASE="+url)
	parleyWith(t, env, "ingest", docs, "--data", t.TempDir())
	const question = "At how many degrees is green tea brewed?"
	if got := parleyWith(t, env, "ask", question, "--data", t.TempDir()); !strings.Contains(got, "80 degrees") {
		t.Errorf("the answer of another machine: %s", got)
	}
	waitServing(t, startServe(t, env, "--data", t.TempDir()).addr)
	folder := filepath.Join(t.TempDir(), "moved")
	got, code := refused(t, "migrate", url, folder)
	if code == 0 || !strings.Contains(got, "another process is serving") {
		t.Errorf("migrate beside a server: exit %d, %s", code, got)
	}
}

func TestMigrate_MovesEverythingToPostgresAndBack(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	url := pgtest.New(t)
	docs, folder, back, files := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "back"), t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "tea.md"), []byte("# Tea\n\nGreen tea is brewed at 80 degrees.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "ingest", docs, "--data", folder)
	p := startServe(t, nil, "--data", folder)
	waitServing(t, p.addr)
	if _, j := lastEvent(t, p.addr, uploadTo(t, p.addr, map[string]string{"rice.md": "# Rice\n\nRice is soaked for 30 minutes.\n"})); j.State != "done" {
		t.Fatalf("upload: %+v", j)
	}
	p.signal(t, os.Interrupt)
	for _, step := range [][]string{{folder, url}, {url, back}} {
		if got := parley(t, "migrate", step[0], step[1], "--data", files); !strings.Contains(got, "and compared it") {
			t.Errorf("migrate: %s", got)
		}
	}
	for _, from := range [][]string{{"--database", url, "--data", t.TempDir()}, {"--data", back}} {
		// An upload has the folder of uploads read, and what is no longer in it forgotten.
		p := startServe(t, nil, from...)
		waitServing(t, p.addr)
		if _, j := lastEvent(t, p.addr, uploadTo(t, p.addr, map[string]string{"salt.md": "# Salt\n\nSalt comes last.\n"})); j.State != "done" {
			t.Errorf("upload: %+v", j)
		}
		p.signal(t, os.Interrupt)
		for question, want := range map[string]string{"At how many degrees is green tea brewed?": "80 degrees", "For how long is rice soaked?": "30 minutes"} {
			if got := parley(t, append([]string{"ask", question}, from...)...); !strings.Contains(got, want) {
				t.Errorf("the answer from %s: %s", from[1], got)
			}
		}
	}
}

func TestMigrate_SaysWhatToDoAboutAnInterruptedCopy(t *testing.T) {
	t.Parallel()
	url, from := pgtest.New(t), t.TempDir()
	db, err := store.Open(t.Context(), from, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	parley(t, "migrate", from, url, "--data", t.TempDir())
	pgtest.Exec(t, url, "INSERT INTO parley_state.about (name, value) VALUES ('copying', 'the data folder "+from+"')")
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"ask", "why?"}, {"ingest", from}, {"doctor"}} {
		got, code := refused(t, append(args, "--database", url, "--data", t.TempDir())...)
		if code == 0 || !strings.Contains(got, "run the same parley migrate command again") {
			t.Errorf("%s: exit %d, %s", args[0], code, got)
		}
	}
	parley(t, "migrate", from, url, "--data", t.TempDir())
	if got, code := refused(t, "migrate", filepath.Join(from, "none"), url, "--data", t.TempDir()); code == 0 || !strings.Contains(got, "nothing is stored") {
		t.Errorf("a source that does not exist: exit %d, %s", code, got)
	}
	if got, code := refused(t, "migrate", from, from); code == 0 || !strings.Contains(got, "are the same") {
		t.Errorf("a copy to itself: exit %d, %s", code, got)
	}
}

func TestDoctor_ChecksPostgres(t *testing.T) {
	t.Parallel()
	url, data := pgtest.New(t), filepath.Join(t.TempDir(), "data")
	findings, _ := doctor(t, nil, "--database", url, "--data", data)
	wantFinding(t, findings, "databases", warned, "fsync") // the server of the tests is fast, not safe
	findings, _ = doctor(t, nil, "--database", url, "--data", data, "--embedding", "builtin:multilingual-e5-small")
	wantFinding(t, findings, "pgvector", fine, "has no pgvector")
	findings, code := doctor(t, nil, "--database", "postgres://127.0.0.1:1/none", "--data", data)
	wantFinding(t, findings, "databases", broken, "check --database")
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	if exists(data) {
		t.Error("the data folder was created")
	}

	findings, _ = doctor(t, nil, "--database", url+"&statement_timeout=1min&idle_session_timeout=1h", "--data", data)
	wantFinding(t, findings, "databases", warned, "idle_session_timeout = 1h, statement_timeout = 1min")
	pgtest.Exec(t, url, "CREATE ROLE guest LOGIN")
	t.Cleanup(func() { pgtest.Exec(t, url, "DROP ROLE guest") })
	findings, _ = doctor(t, nil, "--database", strings.Replace(url, "user=parley", "user=guest", 1), "--data", data)
	wantFinding(t, findings, "databases", broken, "let the user own parley_corpus")
	pgtest.Exec(t, url, "DROP SCHEMA parley_corpus, parley_state CASCADE")
	for change, want := range map[[2]string]string{
		{"user=parley", "user=parley&options=-c%20default_transaction_read_only%3Don"}: "host that can be written to",
		{"user=parley", "user=guest"}:  "GRANT CREATE ON DATABASE",
		{"user=parley", "user=nobody"}: "check the user",
		{"/test_", "/none_"}:           "create the database",
	} {
		findings, _ = doctor(t, nil, "--database", strings.Replace(url, change[0], change[1], 1), "--data", data)
		wantFinding(t, findings, "databases", broken, want)
	}
}

func TestDoctor_ComparesTheClockWithThatOfTheDatabase(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	findings, _ := doctor(t, nil, "--database", url)
	wantFinding(t, findings, "clock", fine, "agrees with the clock of the PostgreSQL server")
	pgtest.Exec(t, url, "ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO right_time")
	t.Cleanup(func() {
		pgtest.Exec(t, url, "DROP FUNCTION pg_catalog.clock_timestamp(); ALTER FUNCTION pg_catalog.right_time() RENAME TO clock_timestamp")
	})
	for _, c := range []struct {
		off     string
		verdict verdict
		text    string
		code    int
	}{
		{"+ interval '20 seconds'", fine, "agrees with the clock of the PostgreSQL server", exitOK},
		{"+ interval '2 minutes'", warned, "behind the clock of the PostgreSQL server let both machines follow a time server", exitOK},
		{"- interval '1 hour'", broken, "ahead of the clock of the PostgreSQL server", exitFailure},
	} {
		pgtest.Exec(t, url, "CREATE OR REPLACE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT right_time() "+c.off+"$$")
		findings, code := doctor(t, []string{"OPENAI_API_KEY=right", "OPENAI_BASE_URL=" + modelServer(t, 0)}, "--database", url, "--model", "openai:gpt-4o-mini")
		wantFinding(t, findings, "clock", c.verdict, c.text)
		wantFinding(t, findings, "clock", fine, "agrees with the clock of http://127.0.0.1")
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.off, code, c.code)
		}
	}
}

// refused runs a command of the binary that should fail, and returns its output and code.
func refused(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Stderr, cmd.Stdout = &stderr, &stderr // doctor prints what is wrong
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stderr.String(), cmd.ProcessState.ExitCode()
}

// A client sees an error that it can retry, or none.
func TestPostgres_RestartsWhileTheServerAnswers(t *testing.T) {
	needs.Long(t)
	url := pgtest.New(t)
	docs := folderOf(t, map[string]string{"tea.md": "# Tea\n\nGreen tea is brewed at 80 degrees.\n"})
	p := startServe(t, []string{"PARLEY_DATABASE=" + url}, docs, "--data", t.TempDir())
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	ask := func() (*http.Response, error) {
		client := http.Client{Timeout: 2 * time.Minute}
		return client.Post("http://"+p.addr+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"parley","messages":[{"role":"user","content":"At how many degrees is green tea brewed?"}]}`))
	}
	done := make(chan struct{})
	var asking sync.WaitGroup
	statuses := make([]map[int]int, 2)
	for i := range statuses {
		statuses[i] = map[int]int{}
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				res, err := ask()
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				statuses[i][res.StatusCode]++
				if res.StatusCode != http.StatusOK && (res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "") {
					t.Errorf("status %d, Retry-After %q: %s", res.StatusCode, res.Header.Get("Retry-After"), body)
				}
			}
		})
	}
	const restarts = 2
	for range restarts {
		time.Sleep(time.Second) // of load
		pgtest.Restart(t, time.Second)
	}
	time.Sleep(time.Second)
	close(done)
	asking.Wait()
	for i, s := range statuses {
		if s[http.StatusOK] == 0 || s[http.StatusServiceUnavailable] > restarts {
			t.Errorf("client %d: answers by status: %v", i, s)
		}
	}
	res, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || !strings.Contains(string(body), "80 degrees") {
		t.Errorf("after the restarts: status %d, %s", res.StatusCode, body)
	}
}

// A client is told so in its own protocol: after one wait, then at once, and not any more when there are connections again.
func TestPostgres_RefusesRequestsWhileThereIsNoConnection(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	url := pgtest.New(t)
	role, urlOfRole := pgtest.NewRole(t, url) // limits do not hold for the superuser of url
	docs := folderOf(t, map[string]string{"tea.md": "# Tea\n\nGreen tea is brewed at 80 degrees.\n"})
	p := serveIngested(t, []string{"PARLEY_DATABASE=" + urlOfRole}, docs, "--data", t.TempDir())
	p.askEverywhere(t, true, time.Minute)
	pgtest.Exec(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT 0")
	pgtest.Cut(t, url)
	p.askEverywhere(t, false, 35*time.Second) // less than two waits
	p.askEverywhere(t, false, 10*time.Second)
	pgtest.Exec(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT -1")
	p.askEverywhere(t, true, time.Minute)
}

// The ingestion at the start begins again when the database is back, and misses no file.
func TestPostgres_IngestionOutlivesLostConnections(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	url := pgtest.New(t)
	role, urlOfRole := pgtest.NewRole(t, url)
	docs := t.TempDir()
	for _, name := range []string{"green.md", "black.md"} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte("# Tea\n\nTea is brewed at 80 degrees.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parleyWith(t, []string{"PARLEY_DATABASE=" + urlOfRole}, "jobs", "--data", t.TempDir()) // makes the tables
	pgtest.Hold(t, url, "LOCK TABLE parley_corpus.documents IN SHARE MODE")                // the ingestion waits before it stores anything
	p := startServe(t, []string{"PARLEY_DATABASE=" + urlOfRole}, docs, "--data", t.TempDir())
	if err := awaitReady(p.addr); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT 0")
	pgtest.Cut(t, url) // which also ends the lock
	noticed := func() bool { return strings.Contains(p.stderr.String(), "starts again") }
	for range 3 { // it waits for a connection more than once
		if poll("the ingestion to notice", noticed) == nil {
			break
		}
	}
	if !noticed() {
		t.Fatal("the ingestion did not notice that the database is gone")
	}
	pgtest.Exec(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT -1")
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	if err := poll("the line about both documents", func() bool { return strings.Contains(p.stdout.String(), "answers from 2 documents") }); err != nil {
		t.Errorf("%v: %s", err, p.stdout.String())
	}
}

// askEverywhere asks a question through several protocols at the same time, and checks that it is answered or that the
// refusal has the shape of the protocol, within a time.
func (p *process) askEverywhere(t *testing.T, answered bool, within time.Duration) {
	t.Helper()
	const messages = `"messages":[{"role":"user","content":"At how many degrees is green tea brewed?"}]`
	var asking sync.WaitGroup
	for _, c := range []struct {
		path, body string
		status     int
		refusal    string
	}{
		{"/v1/chat/completions", `{"model":"parley",` + messages + `}`, http.StatusServiceUnavailable,
			`{"error":{"message":"The database cannot be reached at the moment. Try again.","type":"server_error","param":null,"code":"unavailable"}}`},
		{"/v1/responses", `{"model":"parley","input":"At how many degrees is green tea brewed?"}`, http.StatusServiceUnavailable,
			`{"error":{"type":"server_error","code":"unavailable","message":"The database cannot be reached at the moment. Try again.","param":null}}`},
		{"/chat/stream", "{" + messages + "}", http.StatusInternalServerError, // this protocol has no 503
			`{"error":"The app encountered an error processing your request.\nIf you are an administrator of the app, view the full error in the logs."}`},
	} {
		asking.Go(func() {
			client := http.Client{Timeout: 2 * time.Minute}
			began := time.Now()
			res, err := client.Post("http://"+p.addr+c.path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			if took := time.Since(began); took > within {
				t.Errorf("%s took %v, more than %v", c.path, took, within)
			}
			switch got := strings.TrimSpace(string(body)); {
			case answered && (res.StatusCode != http.StatusOK || !strings.Contains(got, "80 degrees")):
				t.Errorf("%s is not answered: %d, %s", c.path, res.StatusCode, got)
			case !answered && (res.StatusCode != c.status || got != c.refusal || res.Header.Get("Retry-After") == ""):
				t.Errorf("%s is refused with %d, Retry-After %q, %s", c.path, res.StatusCode, res.Header.Get("Retry-After"), got)
			}
		})
	}
	asking.Wait()
}
