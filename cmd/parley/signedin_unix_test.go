//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/retrieval"
)

// processorTime returns the processor time of this process, in user and system mode.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSignedIn compares the processor time of requests of callers who have signed in with that of anonymous ones, on servers
// with the same documents. The requests take turns, in bursts, so that other programs disturb both alike. Issue 17 allows 1.05
// for a turn, and 1.10 for a search with 10,000 keys and a user of 1,000 groups.
//
//	go test ./cmd/parley -run '^$' -bench BenchmarkSignedIn -benchtime 200x
func BenchmarkSignedIn(b *testing.B) {
	idp := newAuthorizationServer(b)
	groups := make([]string, 1000)
	for i := range groups {
		groups[i] = fmt.Sprintf("group-%04d", i)
	}
	token, err := idp.sign("parley", map[string]any{"groups": groups})
	if err != nil {
		b.Fatal(err)
	}
	few := newWholeServer(b)
	many := newWholeServer(b, settingOIDC(b, fmt.Sprintf(`{idp: {issuer: %q, audience: parley}}`, idp.URL)))
	key := ""
	for range 10_000 {
		key = newKey(b, many.serving.instance, apikey.Key{Role: access.Reader})
	}
	for _, s := range []*wholeServer{few, many} {
		addPlans(b, s)
	}
	const question = "What does the deductible of the plan cost?"
	turn, search := [2]string{"/chat", `{"message":"` + question + `"}`}, [2]string{"/search", `{"query":"` + question + `"}`}
	for _, c := range []struct {
		name, credential string
		request          [2]string
	}{
		{"turn/nobody else", "", turn}, {"turn/key", key, turn}, {"turn/token with 1000 groups", token, turn},
		{"search/key", key, search}, {"search/token with 1000 groups", token, search},
	} {
		b.Run(c.name, func(b *testing.B) {
			other := many
			if c.credential == "" {
				other = few // the ratio of a server to itself says how exact the others are
			}
			ask := func(s *wholeServer, credential string) time.Duration {
				const burst = 20
				began := processorTime()
				for range burst {
					askOnce(b, s, credential, c.request)
				}
				return (processorTime() - began) / burst
			}
			var anonymous, signedIn time.Duration
			for b.Loop() {
				anonymous += ask(few, "")
				signedIn += ask(other, c.credential)
			}
			b.ReportMetric(float64(signedIn)/float64(anonymous), "ratio")
			b.ReportMetric(float64(anonymous.Microseconds())/float64(b.N), "anonymous-µs")
		})
	}
}

func askOnce(b *testing.B, s *wholeServer, credential string, request [2]string) {
	r := httptest.NewRequest(http.MethodPost, request[0], strings.NewReader(request[1]))
	r.Header.Set("Content-Type", "application/json")
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusOK {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
}

// addPlans adds documents, of which every tenth is for a group of its own that no caller is in.
func addPlans(b *testing.B, s *wholeServer) {
	batch := retrieval.Batch{Namespace: "default"}
	for i := range 500 {
		text := fmt.Sprintf("The deductible of plan %d costs %d dollars. It is due in month %d.", i, 10*i, i%12)
		p := retrieval.Put{
			Document: retrieval.Document{ID: fmt.Sprintf("plan-%d", i), Name: fmt.Sprintf("plan-%d.txt", i), Title: "Plan", MediaType: "text/plain", Pages: 1, IndexedAt: time.Now()},
			Pages:    []retrieval.Page{{Number: 1, Text: text}},
			Chunks:   []retrieval.Chunk{{Text: text, Spans: []retrieval.Span{{Page: 1, End: len(text)}}, Tokens: 16}},
		}
		if i%10 == 0 {
			p.Document.Access.Groups = []string{fmt.Sprintf("secret-%d", i)}
		}
		batch.Put = append(batch.Put, p)
	}
	if err := s.serving.corpus.Apply(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
}
