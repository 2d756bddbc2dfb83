package chat

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/llm"
)

// explain adds a kind and a sentence for clients to an error of a turn.
func (t *turn) explain(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			return &Error{Kind: Unavailable, Msg: "The answer took too long.", Err: fmt.Errorf("%w: %w", ctxErr, err)}
		}
		if errors.Is(err, ctxErr) {
			return err
		}
		return fmt.Errorf("%w: %w", ctxErr, err)
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[*llm.UnknownModelError](err); ok {
		return &Error{Kind: Invalid, Msg: e.Msg, Err: err}
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return t.explainModel(e, err)
	}
	return err
}

// kindsOf maps the failures that providers report to kinds of error. Other failures are Unavailable.
var kindsOf = map[llm.Reason]Kind{
	llm.KeyRefused:  KeyRefused,
	llm.Limited:     ModelLimited,
	llm.NoCredit:    NoCredit,
	llm.TooLong:     PromptTooLong,
	llm.NoModel:     ModelMissing,
	llm.Unreachable: ModelUnreachable,
	llm.TooSlow:     ModelSlow,
}

// explainModel is like explainUpstream, but a missing model is the client's error if the client named it.
func (t *turn) explainModel(e *llm.Error, err error) error {
	if kindsOf[e.Why()] == ModelMissing && !e.Filtered && t.req.Options.Models.Inference != t.cfg.Defaults.Models.Inference {
		return &Error{Kind: Invalid, Msg: fmt.Sprintf("The provider has no model %q.", llm.CleanName(t.model.name)), Err: err}
	}
	return explainUpstream(e, err)
}

// explainUpstream maps a provider's error. An error that concerns this server's credentials or requests is
// not the client's fault, and the provider's text must not reach the client.
func explainUpstream(e *llm.Error, err error) error {
	kind, known := kindsOf[e.Why()]
	switch {
	case e.Filtered:
		return &Error{Kind: Filtered, Err: err}
	case !known:
		return &Error{Kind: Unavailable, Msg: "The model is not available at the moment.", Err: err, RetryAfter: e.RetryAfter}
	}
	return &Error{Kind: kind, Err: err, RetryAfter: e.RetryAfter}
}

// ExplainUpstream adds a kind and a sentence for clients to the error of a model that was called outside
// of a turn. It returns other errors unchanged.
func ExplainUpstream(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return explainUpstream(e, err)
	}
	return err
}
