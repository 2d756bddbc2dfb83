package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"parley/internal/llm"
)

// explain gives an error of a turn its kind and its sentence for clients.
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

// explainModel maps a provider's error. What an upstream says of this server's credentials or
// requests is no fault of the client.
func (t *turn) explainModel(e *llm.Error, err error) error {
	out := &Error{Kind: Unavailable, Msg: "The model is not available at the moment.", Err: err, RetryAfter: e.RetryAfter}
	switch {
	case e.Filtered:
		out.Kind, out.Msg = Filtered, "The model's content filter refused the question or its answer."
	case e.Status == http.StatusTooManyRequests:
		out.Kind, out.Msg = RateLimited, "The model is busy. Try again later."
	case e.Status == http.StatusRequestEntityTooLarge:
		out.Kind, out.Msg = TooLarge, "The conversation is too long for the model."
	case e.Status == http.StatusNotFound && t.req.Options.Models.Inference != t.cfg.Defaults.Models.Inference:
		out.Kind, out.Msg = Invalid, fmt.Sprintf("The provider has no model %q.", llm.CleanName(t.model.name))
	}
	return out
}
