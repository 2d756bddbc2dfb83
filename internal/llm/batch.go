package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// BatchOptions configures Batched. A zero field means its default.
type BatchOptions struct {
	Limits   EmbedLimits // of the embedder, if it knows them
	Parallel int         // maximum number of concurrent calls; 4
}

// The sizes of a call. They are well below the limits of the big providers, so that a failed call costs
// little, and within the defaults of other servers. The narrowest of these is text-embeddings-inference,
// with 32 texts.
const (
	batchTexts   = 128
	unknownTexts = 32
	batchTokens  = 100_000 // estimated; the real number is at most three times as large
	textTokens   = 8191
)

// Batched returns an embedder that accepts any number of texts. It splits them into calls of e, makes a
// few calls at a time, and joins the answers in the order of the texts. The first error cancels the
// other calls and is returned.
//
// It checks every answer: a missing vector, or one of another length, with only zeros or with a value
// that is not a number, is an *Error that is not retryable. It replaces an impossible usage by an
// estimate. It cuts a text that is too long for the model, at a byte and a half for each token. Nearly
// all texts have more bytes for each token (English prose four, base64 1.4), so models hardly ever
// refuse the result.
func Batched(e Embedder, opts BatchOptions) Embedder {
	opts.Limits.Texts = cmp.Or(opts.Limits.Texts, unknownTexts)
	opts.Limits.Tokens = cmp.Or(opts.Limits.Tokens, batchTokens)
	opts.Limits.TextTokens = cmp.Or(opts.Limits.TextTokens, textTokens)
	opts.Parallel = cmp.Or(opts.Parallel, 4)
	opts.Limits.Texts = min(opts.Limits.Texts, batchTexts)
	opts.Limits.Tokens = min(opts.Limits.Tokens, batchTokens)
	return &batched{e, opts}
}

type batched struct {
	embedder Embedder
	opts     BatchOptions
}

// Embed implements Embedder.
func (b *batched) Embed(ctx context.Context, req EmbedRequest) (Embeddings, error) {
	batches, err := b.split(req)
	if err != nil {
		return Embeddings{}, err
	}
	answers := make([]Embeddings, len(batches))
	err = parallel(ctx, b.opts.Parallel, len(batches), func(ctx context.Context, i int) (err error) {
		answers[i], err = b.call(ctx, batches[i])
		return err
	})
	if err != nil {
		return Embeddings{}, err
	}
	return join(answers)
}

// split cuts texts that are too long, and returns the calls to make.
func (b *batched) split(req EmbedRequest) (batches []EmbedRequest, err error) {
	if len(req.Texts) == 0 {
		return nil, &Error{Err: errors.New("there is no text to embed")}
	}
	texts := make([]string, len(req.Texts))
	start, tokens := 0, 0
	add := func(end int) {
		batch := req
		batch.Texts = texts[start:end:end]
		batches = append(batches, batch)
		start, tokens = end, 0
	}
	for i, text := range req.Texts {
		if texts[i] = cutText(text, b.opts.Limits.TextTokens); texts[i] == "" {
			return nil, &Error{Err: fmt.Errorf("text %d of %d to embed is empty", i+1, len(req.Texts))}
		}
		n := EstimateTokens(texts[i])
		if i > start && (i-start == b.opts.Limits.Texts || tokens+n > b.opts.Limits.Tokens) {
			add(i)
		}
		tokens += n
	}
	add(len(texts))
	return batches, nil
}

// cutText returns the beginning of a text, short enough to have no more than tokens tokens: see Batched.
func cutText(s string, tokens int) string {
	limit := tokens * 3 / 2
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.TrimSpace(s[:limit])
}

func (b *batched) call(ctx context.Context, req EmbedRequest) (Embeddings, error) {
	out, err := b.embedder.Embed(ctx, req)
	if err != nil {
		return Embeddings{}, err
	}
	out.Usage = EmbedUsage(req, out.Usage)
	return out, checkEmbeddings(req, out.Vectors)
}

func join(answers []Embeddings) (Embeddings, error) {
	all := answers[0]
	for _, a := range answers[1:] {
		if got, want := len(a.Vectors[0]), len(all.Vectors[0]); got != want {
			return Embeddings{}, rejected("vectors of %d and of %d dimensions", want, got)
		}
		all.Vectors = append(all.Vectors, a.Vectors...)
		all.Usage = all.Usage.Add(a.Usage)
	}
	return all, nil
}

// parallel calls f with 0 to n-1, at most limit at a time, and returns when all calls have ended. The
// first error cancels the context of the others, prevents further calls, and is returned.
func parallel(ctx context.Context, limit, n int, f func(ctx context.Context, i int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(limit, n) {
		workers.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(err) // only the first one counts
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	if parent.Err() != nil {
		return parent.Err()
	}
	return context.Cause(ctx)
}
