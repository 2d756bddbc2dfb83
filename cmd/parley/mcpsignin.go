package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"

	"parley/internal/documents/ingest"
	"parley/internal/interrupt"
	"parley/internal/shelf"
	"parley/internal/store"
	"parley/internal/tool/mcptool"
)

// mcpSignInCmd signs in at an MCP server whose tools models may call.
type mcpSignInCmd struct {
	Name string `arg:"" help:"Name of the server in the setting mcp."`
	Port int    `help:"Port of this machine to which the browser comes back; 0 chooses a free one. A client that you registered may need a certain one."`
}

// Run signs in, and prints which tools the server has.
func (c mcpSignInCmd) Run(ctx context.Context, p *program) error {
	s, known := content[map[string]mcpServer](p.config.MCP)[c.Name]
	if !known || s.OAuth == nil || !s.OAuth.Browser {
		return usagef("the setting mcp has no server %q with oauth: {browser: true}", c.Name)
	}
	db, err := p.openStore(ctx, p.config)
	if err != nil {
		return err
	}
	defer db.Close()
	server, err := p.mcpServer(c.Name, s, grantsOf(db, locksOf(p.config, db)))
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)))
	if err != nil {
		return fmt.Errorf("wait for the browser: %w", err)
	}
	defer l.Close()
	redirect := "http://" + l.Addr().String() + "/callback"
	tools, err := mcptool.SignIn(ctx, server, redirect, func(ctx context.Context, args *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
		fmt.Fprintf(p.stderr, "Open this page in a browser, and sign in:\n\n    %s\n\nIf the browser is on another machine, it ends at a page that it cannot open: paste the address of that page here.\n", printable(args.URL))
		u, err := url.Parse(args.URL)
		if err != nil {
			return nil, fmt.Errorf("read the address of the authorization server: %w", err)
		}
		return p.comeBack(ctx, l, os.Stdin, u.Query().Get("state"))
	})
	if err != nil {
		return fmt.Errorf("sign in at %s: %w", c.Name, err)
	}
	_, err = fmt.Fprintf(p.stdout, "Signed in. %s has the tools %s.\n", c.Name, printable(strings.Join(tools, ", ")))
	return err
}

// mcpSignOutCmd forgets a sign-in.
type mcpSignOutCmd struct {
	Name string `arg:"" help:"Name of the server, as it was given to sign-in."`
}

// Run deletes the tokens of a server, whose people may have to revoke them there as well.
func (c mcpSignOutCmd) Run(ctx context.Context, p *program) error {
	db, err := p.openStore(ctx, p.config)
	if err != nil {
		return err
	}
	defer db.Close()
	switch err := db.Shelf().Delete(ctx, grantKey(c.Name)); {
	case errors.Is(err, shelf.ErrNotFound):
		return fmt.Errorf("nobody is signed in at %q", c.Name)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Forgot the sign-in at %s. A running server uses it until it is restarted; the MCP server may have a page to revoke it.\n", printable(c.Name))
	return err
}

// lastPage is the time that the browser has to take the page that ends a sign-in.
const lastPage = 2 * time.Second

// comeBack waits for the browser to open the redirect address, or for somebody to type that address. Addresses with another state
// do not count: any page could send a browser there.
func (p *program) comeBack(ctx context.Context, l net.Listener, typed io.Reader, state string) (*sdkauth.AuthorizationResult, error) {
	results := make(chan url.Values, 2)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/callback" || r.Method != http.MethodGet || r.URL.Query().Get("state") != state {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Parley has what it needs. You can close this page; the terminal says whether the sign-in was successful.\n")
		offer(results, r.URL.Query())
	})}
	go func() { _ = server.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPage)
		defer cancel()
		_ = server.Shutdown(ctx) // the browser gets the page first
		_ = server.Close()
	}()
	go func() { // it ends with the process if nobody types
		lines := bufio.NewScanner(typed)
		for lines.Scan() {
			if u, err := url.Parse(strings.TrimSpace(lines.Text())); err == nil && u.Query().Get("state") == state {
				offer(results, u.Query())
			} else {
				fmt.Fprintln(p.stderr, "That is not the address at which this sign-in ends. It begins with http://127.0.0.1 and has a code and a state.")
			}
		}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case q := <-results:
		if q.Has("error") {
			return nil, fmt.Errorf("the authorization server refuses: %s", printable(strings.TrimSpace(q.Get("error")+" "+q.Get("error_description"))))
		}
		return &sdkauth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
}

// offer sends a result, unless enough are waiting.
func offer(results chan<- url.Values, q url.Values) {
	select {
	case results <- q:
	default:
	}
}

// mcpGrants keeps grants of MCP servers in the database, where all replicas find them.
type mcpGrants struct {
	items *store.Shelf
	locks ingest.Locks
}

func grantsOf(db *store.DB, locks ingest.Locks) mcpGrants { return mcpGrants{db.Shelf(), locks} }

// lockPause is the time between two attempts to take the lock of another process.
const lockPause = 100 * time.Millisecond

// Lock implements mcptool.Grants.
func (m mcpGrants) Lock(ctx context.Context) (unlock func(), err error) {
	for {
		unlock, err = m.locks.Renewing()
		if errors.Is(err, errors.ErrUnsupported) { // the file system has no locks
			return func() {}, nil
		}
		if _, taken := errors.AsType[*ingest.LockedError](err); !taken {
			return unlock, err
		}
		if err := interrupt.Sleep(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

func grantKey(server string) shelf.Key { return shelf.Key{Kind: shelf.Grants, ID: server} }

// Grant implements mcptool.Grants.
func (m mcpGrants) Grant(ctx context.Context, server string) (g mcptool.Grant, err error) {
	i, err := m.items.Item(ctx, grantKey(server))
	if errors.Is(err, shelf.ErrNotFound) {
		return g, mcptool.ErrNotSignedIn
	}
	if err != nil {
		return g, err
	}
	if err := json.Unmarshal(i.Body, &g); err != nil || g.Token == nil {
		return g, fmt.Errorf("the stored sign-in of %s cannot be read: %w", server, errors.Join(err, mcptool.ErrNotSignedIn))
	}
	return g, nil
}

// PutGrant implements mcptool.Grants.
func (m mcpGrants) PutGrant(ctx context.Context, server, replaced string, g mcptool.Grant) error {
	body, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("encode a grant: %w", err)
	}
	_, err = m.items.Save(ctx, grantKey(server), func(i *shelf.Item, found bool) error {
		var now mcptool.Grant
		if found && replaced != "" && json.Unmarshal(i.Body, &now) == nil && now.Token != nil && now.Token.AccessToken != replaced {
			return nil
		}
		i.CreatedAt, i.Body = time.Now().UTC(), body
		return nil
	})
	return err
}
