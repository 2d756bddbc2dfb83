// Package adminapi lets administrators check the server with `parley doctor`, see and set budgets, and read people's
// feedback on answers.
//
//	GET    /api/doctor    checks the machine and the settings
//	GET    /api/budgets   returns the limits of the current period, and what has been spent in it
//	PUT    /api/budgets   overrides the configured limits
//	DELETE /api/budgets   restores the configured limits
//	GET    /api/feedback  lists the answers that people rated good or bad, with their reasons
package adminapi

import (
	"context"
	_ "embed"
	"net/http"
	"time"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// Config has the functions that the handler calls. All are required.
type Config struct {
	// Examine checks the machine and the settings.
	Examine func(context.Context) (Report, error)
	// Budgets returns the current period of the budgets.
	Budgets func(context.Context) (ledger.Period, error)
	// SetBudgets overrides the configured limits; nil restores them.
	SetBudgets func(context.Context, *ledger.Allowance) error
	// Rated calls visit with each message that may contain a rating, the last changed chat first, until visit returns false.
	Rated func(ctx context.Context, visit func(transcript.Scope, transcript.Hit) bool) error
}

// Report is the result of `parley doctor`. Its JSON keys are part of the API: programs rely on them.
type Report struct {
	OK       bool      `json:"ok"` // there is no Broken finding
	Version  string    `json:"parley"`
	Findings []Finding `json:"findings"`
}

// Finding is the result of one check.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	Remedy  string  `json:"remedy,omitempty"` // what to do about it; "" for nothing
}

// Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	Fine    Verdict = "ok"
	Warned  Verdict = "warning" // it works for now
	Broken  Verdict = "problem"
	Skipped Verdict = "skipped" // there is nothing to check
)

// Handler handles the routes.
type Handler struct {
	cfg       Config
	examining chan struct{} // full during an examination
}

// New returns a handler.
func New(cfg Config) *Handler { return &Handler{cfg, make(chan struct{}, 1)} }

//go:embed openapi.json
var openAPI []byte

// types are the Go types that schemas in openapi.json are derived from; see wire.Protocol.Types.
var types = map[string]any{"Finding": Finding{}, "BudgetLimits": limits{}, "BudgetSpent": spent{}, "Rating": rating{}}

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	rt := wire.Route{Right: wire.Administer, Fail: wire.PlainError}
	put := rt
	put.Body = wire.JSON
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: []wire.Route{
		rt.At("GET /api/doctor", h.doctor),
		rt.At("GET /api/budgets", h.budgets),
		put.At("PUT /api/budgets", h.setBudgets),
		rt.At("DELETE /api/budgets", h.unsetBudgets),
		rt.At("GET /api/feedback", h.feedback),
	}}
}

// examineTime limits an examination, which reads the databases once.
const examineTime = time.Minute

// doctor handles GET /api/doctor. It allows one examination at a time, since each reads a lot.
func (h *Handler) doctor(w http.ResponseWriter, r *wire.Request) error {
	select {
	case h.examining <- struct{}{}:
	default:
		return &chat.Error{Kind: chat.RateLimited, RetryAfter: 5 * time.Second, Msg: "The server is being checked already. Please try again in a moment."}
	}
	defer func() { <-h.examining }()
	ctx, cancel := context.WithTimeout(r.Context(), examineTime)
	defer cancel()
	report, err := h.cfg.Examine(ctx)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, report)
}
