package main

import (
	"context"
	"fmt"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire/mcp"
)

// mcpCmd serves the MCP client that started this process.
type mcpCmd struct{}

// Run answers until the client closes standard input. Logs go to standard error.
func (mcpCmd) Run(ctx context.Context, p *program) error {
	if p.config.LogLevel == "info" {
		p.log = newLogger(p.stderr, "warn") // clients show the logs of their servers
	}
	in, err := p.openAnswering(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.mcp(p, in.newRunner(p.log, turn.Options{})).Serve(ctx, access.Anonymous, &mcpsdk.StdioTransport{}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the MCP client: %w", err)
	}
	return nil
}

// mcp returns the MCP server over an instance.
func (in *instance) mcp(p *program, runner chat.Runner) *mcp.Handler {
	return mcp.New(mcp.Config{
		Runner: runner, Search: in.corpus, Documents: in.db.Corpus(),
		Namespaces: in.namespaces, SignIn: in.cfg.AuthOIDC.protects(),
		Defaults: in.engine.Defaults(), Namespace: in.cfg.Namespace, PublicURL: in.cfg.PublicURL,
		Version: release, Logger: p.log,
	})
}
