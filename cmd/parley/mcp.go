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

// mcpCmd is Parley as a server and as a client of the Model Context Protocol.
type mcpCmd struct {
	Serve  mcpServeCmd  `cmd:"" default:"withargs" settings:"data,database,namespace,model,embedding,openai-api-key,openai-base-url" help:"Serve the tools search, fetch and ask, and the documents, to an MCP client on standard input and output."`
	SignIn mcpSignInCmd `cmd:"" settings:"data,database,mcp" name:"sign-in" help:"Sign in at an MCP server whose tools models may call, in a browser. Parley renews the sign-in from then on."`

	SignOut mcpSignOutCmd `cmd:"" settings:"data,database" name:"sign-out" help:"Forget the sign-in at an MCP server."`
}

// mcpServeCmd serves the MCP client that started this process.
type mcpServeCmd struct{}

// Run answers until the client closes standard input. Logs go to standard error.
func (mcpServeCmd) Run(ctx context.Context, p *program) error {
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
		Base:      in.base(runner),
		Search:    in.searcher,
		Documents: in.db.Corpus(),
		SignIn:    in.cfg.AuthOIDC.protects(),
		Version:   release,
		Logger:    p.log,
	})
}
