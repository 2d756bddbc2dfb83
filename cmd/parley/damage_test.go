package main

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If a damaged database can still be opened but searches would find less, the program ends with a
// sentence that names the file and what to do.
func TestServe_SaysThatAnIndexInADatabaseIsDamaged(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeCorpus(t, docs, 20)
	p := serveIngested(t, nil, docs, "--data", data)
	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	corpus := filepath.Join(data, "corpus.db")
	hideDocuments(t, corpus)

	p = startServe(t, nil, "--data", data)
	var err error
	select {
	case err = <-p.ended:
		close(p.ended)
	case <-time.After(patience):
		t.Fatal("the program goes on")
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("the program ended with %v", err)
	}
	if said := p.stderr.String(); !strings.Contains(said, "parley: the database "+corpus+" is damaged") || !strings.Contains(said, "ingest the documents again") {
		t.Errorf("it said %s", said)
	}
}

// hideDocuments overwrites a part of the index from documents to chunks, in a page that another
// program has left without a checksum.
func hideDocuments(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var root, size int64
	err = db.QueryRow("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_documents_2'").Scan(&root)
	err = errors.Join(err, db.QueryRow("PRAGMA page_size").Scan(&size), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(make([]byte, 100), (root-1)*size+8)
	_, err2 := f.WriteAt(make([]byte, 4), root*size-4)
	if err := errors.Join(err, err2, f.Close()); err != nil {
		t.Fatal(err)
	}
}
