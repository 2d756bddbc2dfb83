package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/llm"
	"parley/internal/turn"
)

type askCmd struct {
	Question []string `arg:"" name:"question" help:"The question. Quote it if it holds characters that the shell would interpret."`
	JSON     bool     `name:"json" help:"Print the answer as one JSON object."`
}

// Run prints the answer as it comes, then its citations and follow-up questions.
func (c askCmd) Run(ctx context.Context, p *program) error {
	question := strings.Join(c.Question, " ")
	if strings.TrimSpace(question) == "" {
		return usagef("the question is empty")
	}
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	if p.config.LogLevel == "info" {
		p.log = newLogger(p.stderr, "warn") // the reader wants the answer, not the turn's log line
	}
	in, err := p.openAnswering(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	stats, err := in.db.Corpus().Stats(ctx, p.config.Namespace)
	if err != nil {
		return err
	}
	if stats.Documents == 0 {
		return in.nothingToAsk()
	}
	options := in.engine.Defaults()
	options.FollowUps = true
	events := in.newRunner(p.log, turn.Options{}).Run(ctx, &chat.Request{
		Namespace: p.config.Namespace, Options: options,
		Messages: []chat.Message{chat.TextMessage(llm.User, question)},
	})
	if c.JSON {
		return p.printJSON(question, events)
	}
	return p.printAnswer(events)
}

// nothingToAsk returns an error that says why the namespace has no documents.
func (in *instance) nothingToAsk() error {
	if _, busy := errors.AsType[*ingest.LockedError](in.locks().Busy()); busy {
		return fmt.Errorf("there are no documents in the namespace %s yet, but another process is reading some: ask again in a moment", in.cfg.Namespace)
	}
	return fmt.Errorf("there are no documents in the namespace %s: run parley ingest PATH first", in.cfg.Namespace)
}

// checkStoredAnything reports an empty data folder, before opening would create it.
func (p *program) checkStoredAnything() error {
	if p.config.Database != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(p.config.Data, "corpus.db")); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("nothing is stored in %s yet: run parley ingest PATH first, or name another folder with --data", p.config.Data)
	}
	return nil
}

func (p *program) printAnswer(events iter.Seq2[chat.Event, error]) error {
	width := min(terminalWidth(p.stdout), maxTextWidth)
	out := &wrapper{w: p.stdout, width: width, clean: width > 0}
	t := &chat.Turn{}
	for e, err := range events {
		if err != nil {
			out.end()
			return p.answerError(err)
		}
		if d, ok := e.(chat.TextDelta); ok {
			out.add(d.Text)
		}
		t.Add(e)
	}
	out.end()
	if citations := citationsOf(t); len(citations) > 0 {
		out.add("\nSources:\n")
		for _, c := range citations {
			out.add("  [" + c.Label + "] " + describeCitation(c) + "\n")
		}
	}
	if len(t.FollowUps) > 0 {
		out.add("\nYou could also ask:\n")
		for _, q := range t.FollowUps {
			out.add("  " + q + "\n")
		}
	}
	out.flush()
	return out.err
}

func describeCitation(c chat.Citation) string {
	s := c.Title
	if c.Page > 0 {
		s += fmt.Sprintf(", page %d", c.Page)
	}
	if c.URL != "" {
		s += ", " + c.URL
	}
	return s
}

// answer is the output of `parley ask --json`; programs rely on its keys.
type answer struct {
	Question  string          `json:"question"`
	Query     string          `json:"query"` // the query that was searched for
	Answer    string          `json:"answer"`
	Citations []chat.Citation `json:"citations"`
	FollowUps []string        `json:"follow_ups"`
	Model     string          `json:"model"` // the model that answered in fact
	Usage     llm.Usage       `json:"usage"`
	Seconds   float64         `json:"seconds"`
}

func (p *program) printJSON(question string, events iter.Seq2[chat.Event, error]) error {
	t, err := chat.Collect(events)
	if err != nil {
		return p.answerError(err)
	}
	a := answer{
		Question: question, Query: t.Rewrite.Query, Citations: citationsOf(t), FollowUps: t.FollowUps,
		Usage: t.Usage, Seconds: t.Duration.Round(time.Microsecond).Seconds(),
	}
	for _, m := range t.Messages {
		a.Answer += m.Text
		a.Model = m.Model
	}
	if a.Citations == nil {
		a.Citations = []chat.Citation{}
	}
	if a.FollowUps == nil {
		a.FollowUps = []string{}
	}
	enc := json.NewEncoder(p.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(a)
}

func citationsOf(t *chat.Turn) []chat.Citation {
	var all []chat.Citation
	for _, m := range t.Messages {
		all = append(all, m.Citations...)
	}
	return all
}

// answerError says why there is no answer. The user of the command, unlike a client, may see the
// cause.
func (p *program) answerError(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case ok && len(p.config.Fallback) > 0: // it is unknown which of them failed last
		return fmt.Errorf("no answer from %s or %s: %w", p.config.Model, strings.Join(p.config.Fallback, " or "), e)
	case ok:
		return fmt.Errorf("no answer from %s: %w%s", p.config.Model, e, modelRemedy(e, p.config.Model))
	}
	return fmt.Errorf("no answer: %w", err)
}
