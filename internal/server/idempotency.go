package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"parley/internal/turn"
	"parley/internal/wire"
)

// keyHeader carries a client's key for a request that it may send again.
const keyHeader = "Idempotency-Key"

// maxForm is the largest multipart form that may carry a key, in bytes: what azurechat reads.
const maxForm = 10 << 20

var keyReused = wire.Failure{
	Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused",
	Text: "This Idempotency-Key was used with another request. Please use a new one.",
}

// once makes requests that carry the same Idempotency-Key one turn, whatever the protocol: of
// several at one time one runs, and all get its answer (see turn.Keys). Requests without a key go
// straight through.
func (s *Server) once(answer handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if values := r.Header.Values(keyHeader); len(values) > 0 {
			return s.keyed(w, r, values, answer)
		}
		return answer(w, r)
	}
}

// keyed answers a request that carries a key.
func (s *Server) keyed(w http.ResponseWriter, r *http.Request, values []string, answer handler) error {
	if s.deps.Keys == nil || len(values) > 1 {
		return wire.Invalidf("%s cannot be used here, or is there twice", keyHeader)
	}
	limit := s.cfg.MaxBody
	if isForm(r.Header) {
		limit = maxForm
	}
	body, err := wire.ReadBody(w, r, limit)
	if err != nil {
		return err
	}
	who, err := s.deps.Principal(r)
	if err != nil {
		return err
	}
	key := turn.Key{Owner: who.Subject, Route: strings.TrimSuffix(r.URL.Path, "/"), Value: values[0]}
	ctx, release, err := s.deps.Keys.Claim(r.Context(), key, body)
	if errors.Is(err, turn.ErrKeyReused) {
		return &refusalError{keyReused}
	}
	if err != nil {
		return err
	}
	defer release()
	again := r.WithContext(ctx)
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer(w, again)
}
