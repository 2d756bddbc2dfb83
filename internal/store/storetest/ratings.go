package storetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"parley/internal/transcript"
)

// RatingStore keeps chats, and finds the answers in them that somebody has rated.
type RatingStore interface {
	transcript.Store
	Rated(ctx context.Context, visit func(transcript.Scope, transcript.Hit) bool) error
}

// Ratings checks that rated answers of all owners are found, and nothing else.
func Ratings(t *testing.T, s RatingStore) {
	tr := transcripts{tester{t}, s}
	for i, c := range []struct {
		scope  transcript.Scope
		bodies []string
	}{
		{transcript.Scope{Kind: transcript.ChatUI, Namespace: "ns", Owner: "alice"}, []string{
			`{"content":"a question"}`, `{"content":"a","parley":{"feedback":{"good":false,"reason":"wrong"}}}`, `{"content":"b","parley":{"feedback":null}}`}},
		{transcript.Scope{Kind: transcript.YourData, Namespace: "other", Owner: "bob"}, []string{`{"content":"c","feedback":"negative"}`, `{"content":"d"}`}},
		{transcript.Scope{Kind: transcript.Azure, Namespace: "ns", Owner: "carl"}, []string{`{"content":"e","feedback":"negative"}`}},
	} {
		chat := aChat("rated", 0)
		chat.UpdatedAt = started.Add(time.Duration(i) * time.Minute)
		for j, body := range c.bodies {
			chat.Messages = append(chat.Messages, transcript.Message{ID: string(rune('0' + j)), Body: json.RawMessage(body)})
		}
		chat.Count = len(chat.Messages)
		tr.put(c.scope, chat)
	}
	rated := func(most int) (seen string) {
		t.Helper()
		err := s.Rated(t.Context(), func(scope transcript.Scope, h transcript.Hit) bool {
			seen += string(scope.Kind) + " " + scope.Namespace + " " + scope.Owner + " " + h.Chat.ID + " " + h.Message.ID + " " + string(h.Message.Body) + "\n"
			most--
			return most > 0
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	first := "yourdata other bob rated 0 {\"content\":\"c\",\"feedback\":\"negative\"}\n"
	tr.equal("all", first+"chatui ns alice rated 1 {\"content\":\"a\",\"parley\":{\"feedback\":{\"good\":false,\"reason\":\"wrong\"}}}\n", rated(100))
	tr.equal("until it is enough", first, rated(1))
}
