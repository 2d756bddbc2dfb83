package adminapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/internal/ledger"
	"parley/internal/wire"
)

// limits are the limits of each user or each namespace in a period; 0 means no limit.
type limits struct {
	Requests int64    `json:"requests"`
	Tokens   int64    `json:"tokens"`
	Cost     wire.USD `json:"cost_usd"`
}

// spent is what one user or namespace has used in the period.
type spent struct {
	Kind     string   `json:"kind"`           // "user" or "namespace"
	Name     string   `json:"name"`           // the namespace, or the subject of the user
	User     string   `json:"user,omitempty"` // the user that the request named, for callers without sign-in
	Requests int64    `json:"requests"`
	Tokens   int64    `json:"tokens"`
	Cost     wire.USD `json:"cost_usd"`
	Used     float64  `json:"used"` // share of the limit that is closest to used up; 1 is all of it, 0 if there are no limits
}

type budgetReport struct {
	From      string  `json:"from"`
	Until     string  `json:"until"`
	User      limits  `json:"user"`
	Namespace limits  `json:"namespace"`
	Chosen    bool    `json:"chosen"` // an administrator has set the limits; they override the configuration
	Spent     []spent `json:"spent"`
	Left      int     `json:"left_out"` // how many entries Spent leaves out
}

// mostSpent is the maximum number of entries, users and namespaces together, in a report.
const mostSpent = 200

// budgets handles GET /api/budgets. The entries that have used up the largest share of a limit come first.
func (h *Handler) budgets(w http.ResponseWriter, r *wire.Request) error {
	p, err := h.cfg.Budgets(r.Context())
	if err != nil {
		return err
	}
	out := budgetReport{From: p.From.Format(time.RFC3339), Until: p.Until.Format(time.RFC3339), User: shownLimits(p.User), Namespace: shownLimits(p.Namespace), Chosen: p.Chosen, Spent: []spent{}}
	for _, s := range p.Spent {
		one := spent{Kind: "namespace", Name: s.Namespace, Requests: s.Requests, Tokens: s.Tokens, Cost: wire.USD(s.Micros), Used: used(s.Amount, p.Namespace)}
		if s.OfUser {
			one.Kind, one.Name, one.User, one.Used = "user", s.Owner, s.User, used(s.Amount, p.User)
		}
		out.Spent = append(out.Spent, one)
	}
	slices.SortFunc(out.Spent, func(a, b spent) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.User, b.User))
	})
	if len(out.Spent) > mostSpent {
		out.Left, out.Spent = len(out.Spent)-mostSpent, out.Spent[:mostSpent]
	}
	return wire.Reply(w, http.StatusOK, out)
}

// setBudgets handles PUT /api/budgets.
func (h *Handler) setBudgets(w http.ResponseWriter, r *wire.Request) error {
	const expected = "expected user and namespace, each with requests, tokens and cost_usd, which are numbers; 0 means no limit"
	var body struct {
		User      *limits `json:"user"`
		Namespace *limits `json:"namespace"`
	}
	if err := r.Decode(&body, expected); err != nil {
		return err
	}
	if body.User == nil || body.Namespace == nil { // otherwise a body with only one of them would remove the limits of the other
		return wire.Invalidf(expected)
	}
	for name, l := range map[string]*limits{"user": body.User, "namespace": body.Namespace} {
		if min(l.Requests, l.Tokens, int64(l.Cost)) < 0 || max(l.Requests, l.Tokens) > maxLimit {
			return wire.Invalidf("the limits of %s must be between 0 (no limit) and %d", name, int64(maxLimit))
		}
	}
	chosen := ledger.Allowance{User: body.User.read(), Namespace: body.Namespace.read()}
	if err := h.cfg.SetBudgets(r.Context(), &chosen); err != nil {
		return fmt.Errorf("set budgets: %w", err)
	}
	r.Changed = fmt.Sprintf("budgets: user %+v, namespace %+v", chosen.User, chosen.Namespace)
	return h.budgets(w, r)
}

// maxLimit is the largest limit. JavaScript represents all integers up to it exactly.
const maxLimit = 1<<53 - 1

// unsetBudgets handles DELETE /api/budgets.
func (h *Handler) unsetBudgets(w http.ResponseWriter, r *wire.Request) error {
	if err := h.cfg.SetBudgets(r.Context(), nil); err != nil {
		return fmt.Errorf("reset budgets: %w", err)
	}
	r.Changed = "budgets: as configured"
	return h.budgets(w, r)
}

func (l limits) read() ledger.Limits {
	return ledger.Limits{Requests: l.Requests, Tokens: l.Tokens, Micros: int64(l.Cost)}
}

func shownLimits(l ledger.Limits) limits { return limits{l.Requests, l.Tokens, wire.USD(l.Micros)} }

// used returns the largest share of a limit that an amount uses up, for example 1 for all of it; 0 if there are no limits.
func used(a ledger.Amount, l ledger.Limits) (most float64) {
	for _, x := range [][2]int64{{a.Requests, l.Requests}, {a.Tokens, l.Tokens}, {a.Micros, l.Micros}} {
		if x[1] > 0 {
			most = max(most, float64(x[0])/float64(x[1]))
		}
	}
	return most
}
