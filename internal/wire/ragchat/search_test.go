package ragchat

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/wire/wiretest"
)

// If several values are wrong, the error always names the same one.
func TestRefusals_NameTheFirstFieldThatIsWrong(t *testing.T) {
	h := serve(handlerOf(&wiretest.Scripted{}, &books{}, nil))
	for _, c := range []struct{ path, body, want string }{
		{"/search", `{"query":"x","namespace":[],"active_domain":[],"score_threshold":"x","limit":"x"}`, `"loc":["body","limit"]`},
		{"/search", `{"query":"x","namespace":[],"active_domain":[]}`, `"loc":["body","active_domain"]`},
		{"/chat/clear", `{"user_id":[],"conversation_id":[]}`, `"loc":["body","conversation_id"]`},
	} {
		for range 20 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body)))
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), c.want) {
				t.Fatalf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
			}
		}
	}
}
