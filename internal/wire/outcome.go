package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"parley/internal/chat"
)

// ErrEndedEarly is a turn without its last event: a cut answer is not a complete one.
var ErrEndedEarly = errors.New("the turn ended without its last event")

// AnswerOf returns the message that answers, the last one of a turn, or why there is none.
func AnswerOf(t *chat.Turn) (chat.MessageFinished, error) {
	if len(t.Messages) == 0 {
		return chat.MessageFinished{}, ErrEndedEarly
	}
	m := t.Messages[len(t.Messages)-1]
	return m, MessageError(m)
}

// MessageError returns why a message did not complete, nil when it did. It is for protocols with
// one message a turn, where the message's failure is the turn's.
func MessageError(m chat.MessageFinished) error {
	switch {
	case m.Status == chat.StatusCompleted:
		return nil
	case m.Err != nil:
		return m.Err
	case m.Status == "":
		return ErrEndedEarly
	}
	return errors.New("the message ended as " + string(m.Status))
}

// LevelOf returns the level at which the error that ended a request is logged: Debug for what the client
// did, leaving included.
func LevelOf(ctx context.Context, err error) slog.Level {
	if r, ok := errors.AsType[*RefusalError](err); ok && r.Status < http.StatusInternalServerError {
		return slog.LevelDebug
	}
	switch kind := chat.KindOf(err); {
	case errors.Is(err, ErrClientGone), errors.Is(ctx.Err(), context.Canceled):
		return slog.LevelDebug
	case kind == chat.Internal, kind == chat.Full, kind == chat.KeyRefused, kind == chat.NoCredit, kind == chat.ModelMissing:
		return slog.LevelError // somebody has to do something about it
	case kind == chat.Unavailable, kind == chat.RateLimited, kind == chat.ModelLimited, kind == chat.ModelUnreachable, kind == chat.ModelSlow:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
