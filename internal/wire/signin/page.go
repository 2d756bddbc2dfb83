package signin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"

	"parley/internal/auth/oidc"
	"parley/internal/wire"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // a constant
}).Parse(pageText))

// policy is the page's Content-Security-Policy. It allows the page's own style sheet and forms that are sent to this server,
// and no scripts.
var policy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// shown is the data of the page template.
type shown struct {
	Back   string // local path to go to after signing in
	Failed string // why the last attempt failed, as a sentence; "" if it did not
	Out    bool   // the caller has just signed out

	Ways      []oidc.Way
	Keys      bool
	Anonymous bool
}

// show responds with the page. It sets Ways, Keys and Anonymous itself.
func (h *Handler) show(w http.ResponseWriter, r *wire.Request, status int, view shown) error {
	view.Ways, view.Anonymous = h.ways, h.Anonymous
	some, err := h.Keys.Any(r.Context())
	if err != nil {
		return fmt.Errorf("look for keys: %w", err)
	}
	view.Keys = some
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, view); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // fails only if the client has left
	return nil
}
