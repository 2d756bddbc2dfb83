package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"parley/internal/documents"
	"parley/internal/extract"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/tokens"
)

// transcribes reports whether a provider may have models that transcribe recordings.
func transcribes(p provider) bool { return p.name == "openai" }

func (c *Config) checkTranscriber() error {
	if c.IngestTranscriber == "" {
		return nil
	}
	return c.checkAble(c.IngestTranscriber, transcribes, "transcribes no recordings")
}

// transcription returns how recordings are written down; nil if they are not.
func (p *program) transcription(cfg Config, db *store.DB) *documents.Transcription {
	if cfg.IngestTranscriber == "" {
		return nil
	}
	name, model, _ := strings.Cut(cfg.IngestTranscriber, ":")
	return &documents.Transcription{Model: cfg.IngestTranscriber, Write: func(ctx context.Context, file string, recording io.Reader, size int64) (string, error) {
		t, err := p.transcriber(cfg, name)
		if err != nil {
			return "", err
		}
		prices, err := readPrices(cfg)
		if err != nil {
			return "", err
		}
		books := ledger.New(db.State(), ledger.Options{Log: p.log, Price: costs(prices), Count: tokens.Count})
		out, err := llm.Guards{Endpoint: cfg.IngestTranscriber, Meter: books.Of(name)}.Transcriber(t).Transcribe(ctx, model, file, recording, size)
		if err != nil {
			return "", aboutRecording(err)
		}
		return llm.WebVTT(out.Spoken), nil
	}}
}

// transcriber opens the provider of a name.
func (p *program) transcriber(cfg Config, name string) (llm.Transcriber, error) {
	opened, err := p.openProvider(cfg, name)
	if err != nil {
		return nil, err
	}
	t, ok := opened.(llm.Transcriber)
	if !ok {
		return nil, fmt.Errorf("the model provider %s transcribes no recordings", name)
	}
	return t, nil
}

// openProvider opens the provider of a name for work that no question waits for.
func (p *program) openProvider(cfg Config, name string) (any, error) {
	all := p.providersOf(cfg)
	i := slices.IndexFunc(all, func(p provider) bool { return p.name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no model provider %s", name)
	}
	if need := all[i].missing(cfg); need != "" {
		return nil, errors.New(need)
	}
	opened, err := all[i].open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open the model provider %s: %w", name, err)
	}
	return opened, nil
}

// recordingRefusals are the statuses with which a server refuses one recording, and what they mean.
var recordingRefusals = map[int]string{
	http.StatusBadRequest:            "the model cannot read it",
	http.StatusRequestEntityTooLarge: "it is too large for the model",
	http.StatusUnsupportedMediaType:  "the model does not know its format",
	http.StatusUnprocessableEntity:   "the model cannot read it",
}

// aboutRecording turns an error of a model into the reason why a recording is not transcribed, if it is about that recording.
func aboutRecording(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && recordingRefusals[e.Status] != "" {
		return &extract.Error{Reason: extract.ScanOnly, Detail: recordingRefusals[e.Status]}
	}
	return err
}
