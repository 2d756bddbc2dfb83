package yourdata

import "parley/internal/wire"

// frontendSettings handles GET /frontend_settings. Answers and documents may contain markup, so the settings tell the
// front end to sanitize answers.
func frontendSettings(*wire.Request) ([]byte, error) {
	return []byte(`{"auth_enabled":false,"feedback_enabled":true,"ui":{"title":"Parley","logo":null,"chat_logo":null,` +
		`"chat_title":"Start chatting","chat_description":"Ask a question about your documents.",` +
		`"show_share_button":true,"show_chat_history_button":true},"sanitize_answer":true,"oyd_enabled":true}`), nil
}
