package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

func chatUI() Protocol {
	const (
		fields   = "Chat UI API, Field Descriptions"
		standard = "Chat UI API, Standard Response"
		multi    = "Chat UI API, Multi-Agent Response"
		stream   = "Chat UI API, Streaming Responses"
		events   = "Chat UI API, Server-Sent Events (SSE) Format"
		list     = "Chat UI API, Get Chat Histories"
		read     = "Chat UI API, Get Chat Messages"
		create   = "Chat UI API, Create New Chat"
		update   = "Chat UI API, Update Chat"
		remove   = "Chat UI API, Delete Chat"
		ask      = `{"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello!"},{"role":"user","content":{question}}]}`
		chat     = "/chat-history/{chat_id}"
		stored   = `{"messages":[{"messageId":"check-1","conversationId":"{chat_id}","status":"completed","role":"user","content":"Is this kept?","contentType":"text","sources":[],"error":null,"createdAt":"2026-01-02T03:04:05.678Z"},` +
			`{"messageId":"check-2","conversationId":"{chat_id}","status":"completed","role":"assistant","content":"It is.","contentType":"text","sources":[],"error":null,"createdAt":"2026-01-02T03:04:06.789Z"}]}`
	)
	summary := allOf(filled("id"), has("title", text), moment("lastUpdated"), has("messageCount", number))
	return Protocol{
		Name: "chatui", Title: "Chat UI API", marks: []string{"messageId", "content", "status", "0.Items"},
		Exchanges: []Exchange{
			{Name: "standard", Method: http.MethodPost, Path: "/api/chat", Body: ask, Rules: join(json1(standard, http.StatusOK), []Rule{
				rule("message", fields, "The message has all required fields, or is in the minimal format.", eitherForm),
				rule("answer", fields, "The answer is not empty.", answered),
				rule("sources", "Chat UI API, Sources Object Structure", "Each source has an id and a title.", may("sources", array|null), each("sources", has("id", text), has("title", text))),
			})},
			{Name: "events", Method: http.MethodPost, Path: "/api/chat/sse", Body: ask, Accept: "text/event-stream", frame: sse, Extra: true, Rules: []Rule{
				whole(events, http.StatusOK),
				typed(events, "text/event-stream"),
				unbuffered(events),
				framed(events, "Each event is data lines with one JSON object, and an empty line ends it."),
				streamRule("fields", fields, "Each event has all required fields.", every(messageFields)),
				streamRule("one-message", stream, "All events of a message have its messageId.", same("messageId")),
				streamRule("growing", stream, "The content of an event begins with the content before it.", growing),
				streamRule("states", stream, `All events have the status "processing", but the last one, which has "completed".`, states),
				streamRule("answer", stream, "The answer of the last event is not empty.", last(filled("content"))),
				{Name: "no-done", Place: events, Demand: "No event is [DONE]: the last one is the completed message.", holds: func(r *Reply) error {
					if r.done {
						return errors.New("there is a [DONE]")
					}
					return nil
				}},
			}},
			{Name: "multi-agent", Method: http.MethodPost, Path: "/api/multi-agent-chat", Body: ask, Extra: true, Rules: join(json1(multi, http.StatusOK), []Rule{
				rule("list", multi, "The reply is a list of messages.", some("")),
				rule("messages", multi, "Each message has all required fields and the name of its agent.", each("", messageFields, filled("agentName"))),
				rule("ids", fields, "Each message has an id of its own.", distinct("messageId")),
			})},
			{Name: "create chat", Method: http.MethodPost, Path: "/chat-history", Body: `{"mode":"standard","title":"parley check"}`, Writes: true, Extra: true,
				Saves: map[string]string{"chat_id": "id"}, Rules: join(json1(create, http.StatusOK, http.StatusCreated), []Rule{
					rule("chat", create, "The reply has id, title, lastUpdated and messageCount.", summary),
					rule("empty", create, "A new chat has no messages, and the title that was sent.", is("messageCount", 0), is("title", "parley check"))})},
			{Name: "update chat", Method: http.MethodPut, Path: chat + "/messages", Body: stored, Writes: true, Rules: join(json1(update, http.StatusOK), []Rule{
				rule("chat", update, "The reply has id, title, lastUpdated and messageCount.", summary),
				rule("last", update, `"lastMessage" is the last message, and "messageCount" the number of messages.`, is("lastMessage", "It is."), is("messageCount", 2))})},
			{Name: "read chat", Method: http.MethodGet, Path: chat + "/messages", Writes: true, Rules: join(json1(read, http.StatusOK), []Rule{
				rule("messages", read, "The messages come back in order.", turns("", "user", "assistant")),
				rule("fields", fields, "Each message has its fields.", each("", messageFields)),
				rule("ids", read, "The ids are those that were sent.", is("0.messageId", "check-1"), is("1.messageId", "check-2"))})},
			{Name: "list chats", Method: http.MethodGet, Path: "/chat-history?mode=standard", Writes: true, Rules: join(json1(list, http.StatusOK), []Rule{
				rule("list", list, "The reply is a list.", self(array)),
				rule("chats", list, "Each chat has id, title, lastUpdated and messageCount.", each("", summary))})},
			{Name: "delete chat", Method: http.MethodDelete, Path: chat, Writes: true, Rules: join(json1(remove, http.StatusOK), []Rule{
				rule("success", remove, `The reply is {"success":true}.`, is("success", true))})},
			{Name: "read a deleted chat", Method: http.MethodGet, Path: chat + "/messages", Writes: true, Rules: []Rule{whole(remove, http.StatusNotFound)}},
			{Name: "no messages", Method: http.MethodPost, Path: "/api/chat", Body: nothing, Rules: refusal("Chat UI API, Error Object Structure",
				`"error" is an object with a message.`, filled("error.message"))},
		},
	}
}

// messageFields demands the required fields of a message.
func messageFields(v any) error {
	return allOf(filled("messageId"), is("status", "processing", "completed", "failed"), has("role", text), has("content", text),
		is("contentType", "text", "markdown"), has("error", object|null), moment("createdAt"))(v)
}

// eitherForm demands a complete message in the standard or the minimal format.
func eitherForm(v any) error {
	if _, minimal := v.([]any); minimal {
		return allOf(some("0.Items"), has("0.Items.0.Text", text))(v)
	}
	return allOf(messageFields, is("status", "completed"), is("role", "assistant"), has("error", null))(v)
}

func answered(v any) error {
	if _, minimal := v.([]any); minimal {
		return filled("0.Items.0.Text")(v)
	}
	return filled("content")(v)
}

func growing(items []any) error {
	earlier := ""
	for i, v := range items {
		found, _ := at(v, "content")
		content, _ := found.(string)
		if !strings.HasPrefix(content, earlier) {
			return fmt.Errorf("event %d does not", i+1)
		}
		earlier = content
	}
	return nil
}

func states(items []any) error {
	for i, v := range items {
		want := "processing"
		if i == len(items)-1 {
			want = "completed"
		}
		if err := is("status", want)(v); err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	return nil
}

// distinct demands that no two elements of an array have the same string in a member.
func distinct(path string) judgement {
	return func(v any) error {
		elements, _ := v.([]any)
		seen := map[any]bool{}
		for _, e := range elements {
			id, _ := at(e, path)
			if s, ok := id.(string); ok {
				if seen[s] {
					return fmt.Errorf("%s %q occurs twice", path, shorten(s, 60))
				}
				seen[s] = true
			}
		}
		return nil
	}
}
