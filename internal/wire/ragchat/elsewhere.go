package ragchat

import (
	"context"
	"encoding/json"
	"time"

	"parley/internal/turn"
)

// lookInterval is the interval at which a watcher looks for a turn on another server.
const lookInterval = 500 * time.Millisecond

// noticed is a message between servers about a run. It has the id of the turn, and the fields of view in JSON.
type noticed struct {
	Turn                                              string
	ShowSteps, ShowSources, RenderHTML, Web, Rewrites bool
	NoWeb, Base, Home, Namespace                      string
}

func (t topic) notice() string { return "steps\x00" + t.owner + "\x00" + t.queryID }

// tellOthers lets watchers on other servers find a run.
func (h *hub) tellOthers(ctx context.Context, t topic, v view, turnID string) error {
	if h.board == nil || t.queryID == "" || turnID == "" {
		return nil
	}
	raw, err := json.Marshal(noticed{turnID, v.showSteps, v.showSources, v.renderHTML, v.webSearch, v.rewrites, v.noWeb, v.base, v.home, v.namespace})
	if err != nil {
		return err
	}
	return h.board.Notice(ctx, t.notice(), string(raw))
}

// elsewhere returns the latest run of a topic that a server has announced on the board, or nil if there is none. It
// returns a run that has ended only with replay, and only within keepEnded of its beginning.
func (h *hub) elsewhere(ctx context.Context, t topic, replay bool) (*stepRun, error) {
	raw, err := h.board.Noticed(ctx, t.notice())
	if err != nil || raw == "" {
		return nil, err
	}
	var n noticed
	if err := json.Unmarshal([]byte(raw), &n); err != nil {
		return nil, err
	}
	log, err := h.log(ctx, t.owner, n.Turn)
	if err != nil || log.Ended() && (!replay || h.now().Sub(turn.Began(n.Turn)) > keepEnded) {
		return nil, err
	}
	r := &stepRun{hub: h, topic: t, turnID: n.Turn, log: log, ended: make(chan struct{}), view: view{
		showSteps: n.ShowSteps, showSources: n.ShowSources, renderHTML: n.RenderHTML, webSearch: n.Web, noWeb: n.NoWeb,
		rewrites: n.Rewrites, base: n.Base, home: n.Home, namespace: n.Namespace,
	}}
	go r.endWith(ctx, log)
	return r, nil
}

// endWith ends a run of another server when its log or ctx ends.
func (r *stepRun) endWith(ctx context.Context, log *turn.Log) {
	r.at, r.ok = r.hub.now(), true
	for _, err := range log.Follow(ctx, 0, 0) {
		if err != nil {
			f, _ := failureOf(&exchange{}, err)
			r.ok, r.fail = false, f.Text
		}
	}
	r.at = r.hub.now()
	close(r.ended)
}
