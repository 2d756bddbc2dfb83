package wire

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"

	"parley/internal/chat"
)

// ErrEndedEarly means that a turn ended without its last event, so its answer is incomplete.
var ErrEndedEarly = errors.New("the turn ended without its last event")

// SendTurn calls send for each event of a turn. It stops at the first error of the turn or of send, which cancels the
// turn, and returns it. It returns ErrEndedEarly if the last event is not TurnFinished.
func SendTurn(events iter.Seq2[chat.Event, error], send func(chat.Event) error) error {
	ended := false
	for e, err := range events {
		if err == nil {
			err = send(e)
		}
		if err != nil {
			return err
		}
		_, ended = e.(chat.TurnFinished)
	}
	if !ended {
		return ErrEndedEarly
	}
	return nil
}

// SendTurn is like the function SendTurn, and then closes the stream. If the turn fails after the response has
// begun, it calls fail with the cause, because the status can no longer change.
func (s *Stream) SendTurn(ctx context.Context, events iter.Seq2[chat.Event, error], send func(chat.Event) error, fail func(error) error) error {
	defer s.Close() // if the client is gone, the error does not matter
	err := SendTurn(events, send)
	if err != nil && s.Begun() {
		// If the client is gone too, this fails, and the error does not matter.
		_ = fail(CauseOf(ctx, err))
	}
	return err
}

// AnswerOf returns the answer of a turn, which is its last message. The error says why there is none, or why it
// is incomplete.
func AnswerOf(t *chat.Turn) (chat.MessageFinished, error) {
	if len(t.Messages) == 0 {
		return chat.MessageFinished{}, ErrEndedEarly
	}
	m := t.Messages[len(t.Messages)-1]
	return m, MessageError(m)
}

// MessageError returns why a message did not complete, or nil. It is for protocols with one message per
// turn, where the turn fails if its message fails.
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

// LevelOf returns the log level for the error that ended a request. Errors that the client caused, for
// example by disconnecting, have the level Debug.
func LevelOf(ctx context.Context, err error) slog.Level {
	if r, ok := errors.AsType[*RefusalError](err); ok && r.Status < http.StatusInternalServerError {
		return slog.LevelDebug
	}
	switch kind := chat.KindOf(err); {
	case errors.Is(err, ErrClientGone), errors.Is(ctx.Err(), context.Canceled):
		return slog.LevelDebug
	case kind == chat.Internal, kind == chat.Full, kind == chat.KeyRefused, kind == chat.NoCredit, kind == chat.ModelMissing:
		return slog.LevelError // somebody has to act
	case kind == chat.Unavailable, kind == chat.RateLimited, kind == chat.ModelLimited, kind == chat.ModelUnreachable, kind == chat.ModelSlow:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
