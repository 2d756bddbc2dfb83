// Command durablefloor is the floor of ../shared/tools for a JSON answer, with two durable commits:
// a row of the size of an intent before the upstream call, and a row of the size of a turn before
// the reply. Both go to one table without an index. It shows the least processor time that
// durability costs with this database.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver that the store uses
)

// Approximate sizes of a turn's rows, in bytes.
const (
	intentBytes = 250
	turnBytes   = 13 << 10

	maxBody = 1 << 20
)

func main() {
	addr := flag.String("addr", "", "address to listen on")
	upstream := flag.String("upstream", "", "base URL of an OpenAI-compatible API, without /v1")
	data := flag.String("data", "", "file of the database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *upstream, *data); err != nil {
		fmt.Fprintln(os.Stderr, "durablefloor:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, upstream, data string) error {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(data), OmitHost: true}
	db, err := sql.Open("sqlite", file.String()+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE kept (id INTEGER PRIMARY KEY, body BLOB NOT NULL)"); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	keep, err := db.PrepareContext(ctx, "INSERT INTO kept (body) VALUES (?)")
	if err != nil {
		return err
	}
	h := &handler{
		upstream: upstream + "/v1/chat/completions",
		client:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10000, DisableCompression: true}},
		keep:     keep,
	}
	server := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // no request is in progress
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type handler struct {
	upstream string
	client   *http.Client
	keep     *sql.Stmt
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ServeHTTP answers one chat request in one piece.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply, err := h.answer(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"message": reply, "session_state": nil}) // the client may have left
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) (message, error) {
	var question struct {
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&question); err != nil {
		return message{}, err
	}
	if err := h.commit(intentBytes); err != nil {
		return message{}, err
	}
	body, err := json.Marshal(map[string]any{"model": "stub", "stream": false, "messages": question.Messages})
	if err != nil {
		return message{}, err
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, h.upstream, bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(req)
	if err != nil {
		return message{}, err
	}
	defer resp.Body.Close()
	var completion struct {
		Choices []struct{ Message message }
	}
	if err := json.NewDecoder(resp.Body).Decode(&completion); err != nil {
		return message{}, err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is reused
	if len(completion.Choices) == 0 {
		return message{}, errors.New("the upstream answered nothing")
	}
	return completion.Choices[0].Message, h.commit(turnBytes)
}

// commit commits a row of that many bytes. Like the program, it finishes even if the client leaves.
func (h *handler) commit(size int) error {
	_, err := h.keep.ExecContext(context.Background(), make([]byte, size))
	return err
}
