package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"parley/internal/conformance"
)

// checkCmd checks which rules of the chat protocols a server follows.
type checkCmd struct {
	URL       string   `arg:"" name:"url" help:"Address of the server, such as http://127.0.0.1:8000, without the paths of the protocols."`
	Protocol  []string `placeholder:"NAME" help:"Check this protocol even if the server seems not to speak it, and no other; may be repeated. Names: azure-0529, azure-0128, microsoft-sdk, ragchat, chatui, openai, responses, files, mcp, mcp-2026-07, ai-sdk, ag-ui, azure-2026-04, on-your-data, dify, embeddings, completions, librechat, open-webui."`
	Header    []string `short:"H" sep:"none" placeholder:"NAME: VALUE" help:"Header to send with each request, such as \"Authorization: Bearer KEY\"; may be repeated. Values are never printed."`
	ReadOnly  bool     `help:"Leave out all requests that store something on the server."`
	Question  string   `placeholder:"TEXT" help:"Question to ask in every protocol."`
	Knowledge string   `default:"default" placeholder:"ID" help:"Knowledge base to search in Dify's protocol."`
	Timeout   duration `default:"60s" placeholder:"TIME" help:"Time for each reply."`
	JSON      bool     `name:"json" help:"Print the report as one JSON object."`
	JUnit     string   `name:"junit" placeholder:"FILE" help:"Also write the report to FILE in the XML of JUnit."`
}

// errRulesBroken ends a check that found something; the report says what.
var errRulesBroken = errors.New("the server breaks rules of its protocols; see above")

// errNothingSpoken ends a check of a server that speaks none of the protocols.
var errNothingSpoken = errors.New("the server speaks none of the protocols; see above for what it answered")

// Run checks the server and prints the report. It exits with 1 if a rule is broken or no protocol is spoken.
func (c checkCmd) Run(ctx context.Context, p *program) error {
	header := http.Header{}
	for _, line := range c.Header {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return usagef("--header must be \"NAME: VALUE\"")
		}
		header.Add(name, strings.TrimSpace(value))
	}
	report, err := conformance.Run(ctx, conformance.Options{URL: c.URL, Protocols: c.Protocol, Header: header, ReadOnly: c.ReadOnly,
		Question: c.Question, Knowledge: c.Knowledge, Timeout: time.Duration(c.Timeout)})
	if errors.Is(err, conformance.ErrUsage) {
		return usagef("%v", err)
	}
	if err != nil {
		return err
	}
	if c.JUnit != "" {
		var b bytes.Buffer
		if err := report.JUnit(&b); err != nil {
			return err
		}
		if err := os.WriteFile(c.JUnit, b.Bytes(), 0o644); err != nil { //nolint:gosec // a report is for others to read
			return err
		}
	}
	show := report.Print
	if c.JSON {
		show = report.JSON
	}
	if err := show(p.stdout); err != nil {
		return err
	}
	switch {
	case report.Broken > 0:
		return errRulesBroken
	case report.Held == 0:
		return errNothingSpoken
	}
	return nil
}
