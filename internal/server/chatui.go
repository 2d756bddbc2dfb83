package server

import (
	"net/http"

	"parley/internal/wire/azurechat"
	"parley/internal/wire/chatui"
)

// ChatUI answers requests of the Chat UI API; chatui.Handler does. Bodies were read.
type ChatUI interface {
	// Chat answers with one message, or with one of each agent.
	Chat(w http.ResponseWriter, r *http.Request, form chatui.Form, body []byte)
	// Chats, CreateChat, Messages, PutMessages and DeleteChat are the history.
	Chats(w http.ResponseWriter, r *http.Request)
	CreateChat(w http.ResponseWriter, r *http.Request, body []byte)
	Messages(w http.ResponseWriter, r *http.Request, id string)
	PutMessages(w http.ResponseWriter, r *http.Request, id string, body []byte)
	DeleteChat(w http.ResponseWriter, r *http.Request, id string)
}

// AzureHistory keeps the chats of the AI Chat Protocol's front ends; azurechat.History does.
type AzureHistory interface {
	Save(w http.ResponseWriter, r *http.Request, body []byte)
	Sessions(w http.ResponseWriter, r *http.Request)
	Session(w http.ResponseWriter, r *http.Request, id string)
	Delete(w http.ResponseWriter, r *http.Request, id string)
}

var (
	_ ChatUI       = (*chatui.Handler)(nil)
	_ AzureHistory = (*azurechat.History)(nil)
)

// chatUIRoutes returns the routes of the Chat UI API. Its standard chat has no form with a slash
// behind it, except below /p/: that path is the AI Chat Protocol's.
func (s *Server) chatUIRoutes() []*route {
	chat := []*route{post("/api/chat", s.chatUI(chatui.Form{}))}
	slashed := []*route{
		post("/api/chat/sse", s.chatUI(chatui.Form{Stream: chatui.Always})),
		post("/p/chatui/api/chat", s.chatUI(chatui.Form{})),
		post("/p/chatui/api/chat/sse", s.chatUI(chatui.Form{Stream: chatui.Always})),
		// For clients that append /stream to a base.
		post("/p/chatui/api/chat/stream", s.chatUI(chatui.Form{Stream: chatui.Always})),
	}
	for _, prefix := range []string{"/api", "/p/chatui/api"} {
		slashed = append(slashed,
			post(prefix+"/multi-agent-chat", s.chatUI(chatui.Form{Team: true})),
			post(prefix+"/multi-agent-chat/batch", s.chatUI(chatui.Form{Team: true, Stream: chatui.Never})),
			post(prefix+"/multi-agent-chat/stream", s.chatUI(chatui.Form{Team: true, Stream: chatui.Always})))
	}
	for _, prefix := range []string{"", "/api", "/p/chatui/api"} {
		slashed = append(slashed, s.chatHistory(prefix+"/chat-history")...)
	}
	routes := append(chat, withSlashes(slashed)...)
	for _, rt := range routes {
		rt.errors = chatui.WriteFailure
	}
	return routes
}

// chatHistory returns the routes of the Chat UI's history below a path.
func (s *Server) chatHistory(path string) []*route {
	ui := s.deps.ChatUI
	put := s.withBody(func(w http.ResponseWriter, r *http.Request, body []byte) {
		ui.PutMessages(w, r, r.PathValue("id"), body)
	})
	list, one, messages := get(path, answering(ui.Chats)), &route{path: path + "/{id}"}, get(path+"/{id}/messages", answering(
		func(w http.ResponseWriter, r *http.Request) { ui.Messages(w, r, r.PathValue("id")) }))
	list.methods[http.MethodPost] = s.withBody(ui.CreateChat)
	messages.methods[http.MethodPut] = put
	one.methods = map[string]handler{
		http.MethodPut: put,
		http.MethodDelete: answering(func(w http.ResponseWriter, r *http.Request) {
			ui.DeleteChat(w, r, r.PathValue("id"))
		}),
	}
	return []*route{list, one, messages}
}

// azureHistory returns the routes of the history of the AI Chat Protocol's front ends.
func (s *Server) azureHistory() []*route {
	h := s.deps.AzureHistory
	one := get("/chat_history/sessions/{id}", answering(func(w http.ResponseWriter, r *http.Request) {
		h.Session(w, r, r.PathValue("id"))
	}))
	one.methods[http.MethodDelete] = answering(func(w http.ResponseWriter, r *http.Request) {
		h.Delete(w, r, r.PathValue("id"))
	})
	return []*route{
		post("/chat_history", s.withBody(h.Save)),
		get("/chat_history/sessions", answering(h.Sessions)),
		one,
	}
}

// chatUI answers on a path of the Chat UI API.
func (s *Server) chatUI(form chatui.Form) handler {
	return s.turn(s.withBody(func(w http.ResponseWriter, r *http.Request, body []byte) {
		s.deps.ChatUI.Chat(w, r, form, body)
	}))
}
