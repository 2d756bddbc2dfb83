package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/audit"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
)

// archived reads an export.
func archived(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range r.File {
		if !regexp.MustCompile(`^([a-z_]+\.jsonl|export\.json|files/[0-9]{6}-[A-Za-z0-9_-][A-Za-z0-9._-]*)$`).MatchString(f.Name) || !filepath.IsLocal(f.Name) {
			t.Errorf("a file named %q", f.Name)
		}
		body, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(text)
	}
	return all
}

// hostileNames are names of documents that would leave a folder, or control a terminal.
var hostileNames = []string{"../../etc/passwd", `..\..\windows`, "a/\x1b[2J.txt", "...", "C:/con", "x/" + strings.Repeat("ä", 300)}

func TestUsers_AnExportHasEverythingAndADeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	in := m.serving.instance
	for i, name := range hostileNames {
		sum, _, err := in.db.Blobs().Put(t.Context(), strings.NewReader(canary+name))
		if err == nil {
			err = in.corpus.Apply(t.Context(), retrieval.Batch{Namespace: "elsewhere", Put: []retrieval.Put{{
				Document: retrieval.Document{ID: "hostile" + string(rune('a'+i)), Name: name, Title: canary, Owner: m.ownerID, SHA256: sum, IndexedAt: time.Now()},
				Chunks:   []retrieval.Chunk{{Text: canary, Spans: []retrieval.Span{{End: 5}}, Tokens: 1}}}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	of := "?user=" + url.QueryEscape(m.ownerID)
	w := m.as(m.admin, "GET", "/api/users", "", "")
	if !strings.Contains(w.Body.String(), m.ownerID) {
		t.Errorf("users: %s", w.Body)
	}
	w = m.as(m.admin, "GET", "/api/users/export"+of, "", "")
	all := archived(t, w.Body.Bytes())
	for _, kind := range []string{"conversation", "turn", "message", "chat", "chat_message", "file_or_store", "job", "document", "key"} {
		if all[kind+".jsonl"] == "" {
			t.Errorf("no %s in the export", kind)
		}
	}
	files := 0
	for name, text := range all {
		if strings.Contains(text, strings.TrimPrefix(m.owner, "parley_")) {
			t.Errorf("%s tells the key", name)
		}
		if strings.HasPrefix(name, "files/") && strings.Contains(text, canary) {
			files++
		}
	}
	if files < 2+len(hostileNames) {
		t.Errorf("%d files in %v", files, all["export.json"])
	}
	if entries, err := in.db.Audit().Audit(t.Context(), audit.Query{}); err != nil || entries[len(entries)-1].What != "GET /api/users/export" {
		t.Errorf("the audit log does not tell who exported: %+v, %v", entries[len(entries)-1], err)
	}
	for _, bad := range []string{"", "?user=", "?user=deleted:", "?user=local:root", "?user=%00", "?user=%ff"} {
		for method, path := range map[string]string{"GET": "/api/users/export", "DELETE": "/api/users"} {
			if w := m.as(m.admin, method, path+bad, "", ""); w.Code != http.StatusBadRequest {
				t.Errorf("%s %s%s: %d %.200s", method, path, bad, w.Code, w.Body)
			}
		}
	}
	if w = m.as(m.admin, "DELETE", "/api/users"+of, "", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"documents":7`) {
		t.Fatalf("delete: %d %s", w.Code, w.Body)
	}
	left := map[string]string{}
	err := in.db.Users().Records(t.Context(), m.ownerID, func(kind string, record []byte) error { left[kind] += string(record); return nil })
	delete(left, "audit")
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := filepath.WalkDir(in.cfg.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, ".db") {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), canary) {
			t.Errorf("%s still tells %.100s, %v", path, text, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if w := m.as(m.admin, "POST", "/chat", `{"messages":[{"role":"user","content":"What is secret?"}]}`, "application/json"); strings.Contains(w.Body.String(), canary) {
		t.Errorf("the index still tells %s", w.Body)
	}
	if w := m.as(m.owner, "GET", "/api/jobs", "", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("the key of a deleted user: %d", w.Code)
	}
	entries, err := in.db.Audit().Audit(t.Context(), audit.Query{})
	if last := entries[len(entries)-1]; err != nil || !strings.Contains(last.What+last.Object, "key:") && last.Action != audit.Refused {
		t.Errorf("the last entry of the audit log is %+v, %v", last, err)
	}
}

// A turn that runs while its user is deleted ends, and is not kept.
func TestUsers_ARunningTurnOfADeletedUserIsNotKept(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	in := m.serving.instance
	ctx := access.WithStart(t.Context(), time.Now())
	if _, err := in.users().Delete(t.Context(), m.ownerID); err != nil {
		t.Fatal(err)
	}
	scope := turn.Scope{Namespace: "default", Owner: m.ownerID}
	err := in.db.State().Save(context.WithoutCancel(ctx), turn.Record{ID: "late", Scope: scope, ConversationID: "late", StartedAt: time.Now(), FinishedAt: time.Now()})
	if f := wire.FailureOf(err); f.Status != http.StatusForbidden {
		t.Errorf("saved with %v", err)
	}
}

func TestUsersCommand_ExportsAndDeletes(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	if err := m.serving.Close(); err != nil {
		t.Fatal(err)
	}
	data, archive := m.serving.cfg.Data, filepath.Join(t.TempDir(), "a.zip")
	parley := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--data", data), &out, &errs, func(string) (string, bool) { return "", false })
		return code, out.String() + errs.String()
	}
	if code, out := parley("users"); code != exitOK || !strings.Contains(out, m.ownerID+"\n") {
		t.Errorf("list: %d %s", code, out)
	}
	code, out := parley("users", "export", m.ownerID, archive)
	raw, err := os.ReadFile(archive)
	if st, _ := os.Stat(archive); code != exitOK || err != nil || st.Mode().Perm() != 0o600 || !strings.Contains(archived(t, raw)["message.jsonl"], canary) {
		t.Errorf("export: %d %s %v", code, out, err)
	}
	if code, out := parley("users", "export", m.ownerID, archive); code != exitUsage {
		t.Errorf("over another file: %d %s", code, out)
	}
	if code, out := parley("users", "delete", m.ownerID); code != exitOK || !strings.Contains(out, "--yes") {
		t.Errorf("delete without --yes: %d %s", code, out)
	}
	if code, out := parley("users", "delete", m.ownerID, "--yes"); code != exitOK || !strings.Contains(out, "1 document") {
		t.Errorf("delete: %d %s", code, out)
	}
	if code, out := parley("users"); code != exitOK || strings.Contains(out, m.ownerID) {
		t.Errorf("list after: %d %s", code, out)
	}
	if code, out := parley("users", "delete", "local:root", "--yes"); code != exitUsage {
		t.Errorf("no user: %d %s", code, out)
	}
}
