package conformance

import (
	"fmt"
	"net/http"
)

func ragchat() Protocol {
	const (
		shape    = "Chat-with-RAG, 5. Response shape"
		asks     = "Chat-with-RAG, 3.1. Top-level request body"
		params   = "Chat-with-RAG, 3.2. params contract"
		create   = "Chat-with-RAG, Session-Based Chat API, 2.1. Create Session"
		send     = "Chat-with-RAG, Session-Based Chat API, 2.2. Send Message to Session"
		history  = "Chat-with-RAG, Session-Based Chat API, 2.3. Get Session History"
		question = `{"message":{question},"history":[],"params":{"top_k":4,"enable_query_rewrite":false,"show_sources":false}}`
		session  = "/chat/{session_id}"
	)
	answer := []Rule{
		rule("answer", shape, `"answer" and "response" are the same text, which is not empty.`, filled("answer"), func(v any) error {
			a, _ := at(v, "answer")
			return is("response", a)(v)
		}),
		rule("metrics", shape, `"metrics.vectors_retrieved" is a number.`, has("metrics.vectors_retrieved", number)),
		rule("turn-metrics", shape, `"turn_metrics" has tokens and cost, each with a total.`, has("turn_metrics.tokens.total", number), has("turn_metrics.cost.total", number)),
		rule("token-sum", shape, "The total of the tokens is the sum of the stages; reasoning is part of inference.",
			sum("turn_metrics.tokens.total", tokens("embedding", "rewrite", "rerank", "summary", "inference", "tools_synth")...)),
		rule("totals", shape, `"conversation_totals" has tokens, cost and messages.`,
			has("conversation_totals.tokens.total", number), has("conversation_totals.cost.total", number), has("conversation_totals.messages", number)),
		rule("tools", shape, `"tools_used" is a list of names.`, has("tools_used", array), each("tools_used", self(text))),
		rule("rewrite", shape, `"rewrite_display" has its ten members.`, has("rewrite_display.enabled", boolean), has("rewrite_display.triggered", boolean),
			has("rewrite_display.accepted", boolean), has("rewrite_display.original", text), has("rewrite_display.rewritten", text),
			has("rewrite_display.confidence", number), has("rewrite_display.threshold", number), has("rewrite_display.ambiguous", boolean),
			has("rewrite_display.reason", text), has("rewrite_display.changed", boolean)),
		rule("html", shape, `"answer_html", if it is there, is a string.`, may("answer_html", text|null)),
	}
	return Protocol{
		Name: "ragchat", Title: "Chat-with-RAG API", marks: []string{"answer", "response", "turn_metrics"},
		Exchanges: []Exchange{
			{Name: "stateless", Method: http.MethodPost, Path: "/chat", Body: question, Rules: join(json1(shape, http.StatusOK), answer)},
			{Name: "history", Method: http.MethodPost, Path: "/chat", Body: `{"message":{question},"history":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello!"}],"params":null}`,
				Rules: join(json1(asks, http.StatusOK), []Rule{rule("answer", asks, "A request with a history is answered.", filled("answer"))})},
			{Name: "HTML", Method: http.MethodPost, Path: "/chat", Body: `{"message":{question},"params":{"render_html":true}}`,
				Rules: join(json1(params, http.StatusOK), []Rule{rule("html", params, `With "render_html" the answer comes as HTML too.`, filled("answer_html"))})},
			{Name: "no message", Method: http.MethodPost, Path: "/chat", Body: `{"message":"","params":{}}`, Rules: refusal(asks, `The reply says in "detail" what is wrong.`, has("detail", text|array))},
			{Name: "create session", Method: http.MethodPost, Path: "/chat/session", Writes: true, Saves: map[string]string{"session_id": "session_id"},
				Rules: join(json1(create, http.StatusOK, http.StatusCreated), []Rule{rule("id", create, `"session_id" is a string.`, filled("session_id"))})},
			{Name: "session", Method: http.MethodPost, Path: session, Writes: true, Body: `{"message":{question}}`, Rules: join(json1(send, http.StatusOK), answer)},
			{Name: "session, second turn", Method: http.MethodPost, Path: session, Writes: true, Body: `{"message":"Why?","history":[]}`,
				Rules: join(json1(send, http.StatusOK), []Rule{rule("answer", send, "A follow-up is answered.", filled("answer"))})},
			{Name: "session history", Method: http.MethodGet, Path: session + "/history", Writes: true, Rules: join(json1(history, http.StatusOK), []Rule{
				rule("id", history, `"session_id" is a string.`, filled("session_id")),
				rule("messages", history, "The messages of both turns are there, in order, with role and content.", turns("messages", "user", "assistant", "user", "assistant")),
				rule("question", history, "The third message is the second question.", func(v any) error { return is("messages.2.content", "Why?")(v) }),
				rule("times", history, `"created_at" and "last_activity" are ISO 8601 times.`, moment("created_at"), moment("last_activity")),
			})},
			{Name: "unknown session", Method: http.MethodPost, Path: "/chat/00000000-0000-4000-8000-000000000000", Body: `{"message":"Hello"}`,
				Rules: []Rule{whole("Chat-with-RAG, Session-Based Chat API, 1. Session API Overview", http.StatusNotFound)}},
			{Name: "delete session", Method: http.MethodDelete, Path: session, Writes: true, Clean: true},
		},
	}
}

func tokens(stages ...string) []string {
	for i, s := range stages {
		stages[i] = "turn_metrics.tokens." + s
	}
	return stages
}

// turns demands exactly the messages with these roles, in order, each with content.
func turns(path string, roles ...string) judgement {
	return func(v any) error {
		if err := has(path, array)(v); err != nil {
			return err
		}
		found, _ := at(v, path)
		messages := found.([]any)
		if len(messages) != len(roles) {
			return fmt.Errorf("%s has %d messages, not %d", path, len(messages), len(roles))
		}
		for i, role := range roles {
			if err := allOf(is("role", role), filled("content"))(messages[i]); err != nil {
				return fmt.Errorf("message %d: %w", i+1, err)
			}
		}
		return nil
	}
}
