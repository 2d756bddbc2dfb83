package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerOf returns a Handler with ids and a clock that repeat, and with the namespaces default,
// hr and "a b/ü".
func handlerOf(runner chat.Runner, change func(*Config)) *Handler {
	cfg := Config{
		Base: wire.Base{
			Runner:     runner,
			Namespaces: namespaces("a b/ü", "default", "hr"),
			Defaults:   chat.Options{Top: 3, Mode: "hybrid", Temperature: 0.3, MaxOutputTokens: 1024, FollowUps: true},
			Now:        func() time.Time { return time.Unix(1706301586, 0) },
			NewID:      wiretest.IDs(),
		},
		Embedding: Embedding{Model: "openai:text-embedding-3-small", Embed: embedded},
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func namespaces(names ...string) func(context.Context, access.Principal) ([]string, error) {
	return func(context.Context, access.Principal) ([]string, error) { return names, nil }
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }

// embedded returns vectors of as many dimensions as are asked for, with the length of the text in front.
func embedded(_ context.Context, req llm.EmbedRequest) (out llm.Embeddings, err error) {
	for _, text := range req.Texts {
		if text == "fail" {
			return out, &llm.Error{Status: 401, Err: errors.New("the key sk-secret is not valid")}
		}
		v := make([]float32, cmp.Or(req.Dimensions, 3))
		v[0], v[1] = float32(len(text)), -0.1
		out.Vectors = append(out.Vectors, v)
		out.Usage.Input += len(text)
	}
	return out, nil
}
