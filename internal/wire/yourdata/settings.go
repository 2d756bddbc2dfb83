package yourdata

import (
	"time"

	"parley/internal/chat"
	"parley/internal/wire"
)

// frontendSettings answers GET /frontend_settings. Answers and documents may hold markup, so the front end is told
// to sanitize what it shows.
func frontendSettings(*wire.Request) ([]byte, error) {
	return []byte(`{"auth_enabled":false,"feedback_enabled":true,"ui":{"title":"Parley","logo":null,"chat_logo":null,` +
		`"chat_title":"Start chatting","chat_description":"Ask a question about your documents.",` +
		`"show_share_button":true,"show_chat_history_button":true},"sanitize_answer":true,"oyd_enabled":true}`), nil
}

// me answers GET /.auth/me, at which Azure App Service says who has signed in. Front ends without a user show no
// chat unless they run on 127.0.0.1, so a caller who may ask is one. There are no tokens for it: the server's own
// sign-in decides who may ask.
func (h *Handler) me(r *wire.Request) ([]byte, error) {
	name := r.Who.Subject
	if name == "" {
		name = "anonymous"
	}
	body := wire.AppendString([]byte(`[{"access_token":"","expires_on":`), h.cfg.Now().Add(24*time.Hour).UTC().Format(time.RFC3339))
	body = wire.AppendString(append(body, `,"id_token":"","provider_name":"parley","user_claims":[],"user_id":`...), chat.Seen(name))
	return append(body, `}]`...), nil
}
