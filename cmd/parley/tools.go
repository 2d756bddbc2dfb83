package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/chat"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/fetch"
	"parley/internal/format"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/tool"
	"parley/internal/tool/mcptool"
)

// builtinTools are the names that tools.enabled accepts.
var builtinTools = []string{"calculator", "date_time", "fetch_url", "get_weather", "search_documents", "web_search"}

// noTools is the value of tools.enabled that disables all of them.
const noTools = "none"

// toolLists list the tools allowed in a namespace.
type toolLists structured

// UnmarshalText reads a YAML mapping of names to lists of tools.
func (l *toolLists) UnmarshalText(text []byte) error {
	return readStructured[map[string][]string](text, l, "names of namespaces")
}

// mcpServer is the configuration of an MCP server.
type mcpServer struct {
	Command    []string          `yaml:"command" json:"command,omitempty"`
	Env        map[string]string `yaml:"env" json:"env,omitempty"`                 // environment of the process
	EnvFrom    []string          `yaml:"env_from" json:"env_from,omitempty"`       // variables of Parley that are passed on
	URL        string            `yaml:"url" json:"url,omitempty"`                 // instead of command
	HeadersEnv map[string]string `yaml:"headers_env" json:"headers_env,omitempty"` // header → variable with its value
	OAuth      *mcpOAuth         `yaml:"oauth" json:"oauth,omitempty"`
	Tools      []string          `yaml:"tools" json:"tools,omitempty"`
	Trust      []string          `yaml:"trust" json:"trust,omitempty"` // tools that run without confirmation
	Timeout    string            `yaml:"timeout" json:"timeout,omitempty"`
}

// mcpOAuth is how Parley signs in at an MCP server; see mcptool.OAuth and mcptool.Browser.
type mcpOAuth struct {
	Browser   bool   `yaml:"browser" json:"browser,omitempty"` // an administrator signs in: parley mcp sign-in
	Issuer    string `yaml:"issuer" json:"issuer,omitempty"`
	ClientID  string `yaml:"client_id" json:"client_id,omitempty"`
	SecretEnv string `yaml:"client_secret_env" json:"client_secret_env,omitempty"` // the environment variable with the secret
	KeyEnv    string `yaml:"private_key_env" json:"private_key_env,omitempty"`     // or with a key (PEM) that signs assertions
	Scopes    texts  `yaml:"scopes" json:"scopes,omitempty"`
}

// client returns the client, with the secret that lookup finds.
func (o mcpOAuth) client(lookup func(string) (string, bool)) (*mcptool.OAuth, error) {
	client := &mcptool.OAuth{Issuer: o.Issuer, ClientID: o.ClientID, Scopes: o.Scopes}
	if (o.SecretEnv == "") == (o.KeyEnv == "") {
		return nil, errors.New("name a variable in either client_secret_env or private_key_env")
	}
	name := cmp.Or(o.SecretEnv, o.KeyEnv)
	text, _ := lookup(name)
	if text == "" {
		return nil, fmt.Errorf("the variable %s is not set", name)
	}
	if o.SecretEnv != "" {
		client.Secret = text
	} else {
		key, err := mcptool.ParseKey([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("the variable %s: %w", name, err)
		}
		client.Key = key
	}
	return client, client.Check()
}

// browser returns the sign-in by a browser, with the secret that lookup finds.
func (o mcpOAuth) browser(lookup func(string) (string, bool), grants mcptool.Grants) (*mcptool.Browser, error) {
	b := &mcptool.Browser{Issuer: o.Issuer, ClientID: o.ClientID, Scopes: o.Scopes, Grants: grants}
	switch {
	case o.KeyEnv != "":
		return nil, errors.New("private_key_env has no place beside browser")
	case o.SecretEnv != "":
		if b.Secret, _ = lookup(o.SecretEnv); b.Secret == "" {
			return nil, fmt.Errorf("the variable %s is not set", o.SecretEnv)
		}
	}
	return b, b.Check()
}

// mcpServers are the MCP servers by name.
type mcpServers structured

// UnmarshalText reads a YAML mapping of names to servers.
func (l *mcpServers) UnmarshalText(text []byte) error {
	return readStructured[map[string]mcpServer](text, l, "names of MCP servers")
}

func (l mcpServers) check() error {
	list := content[map[string]mcpServer](l)
	for _, name := range sortedNames(list) {
		s := list[name]
		if !endpointName.MatchString(name) {
			return fmt.Errorf("%q is not a valid name for an MCP server: use lowercase letters, digits and dashes", name)
		}
		if (len(s.Command) == 0) == (s.URL == "") {
			return fmt.Errorf("%s needs either command or url", name)
		}
		if s.URL != "" {
			if err := checkURL(s.URL); err != nil {
				return fmt.Errorf("url of %s: %w", name, err)
			}
		}
		if err := s.checkSignIn(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if s.Timeout != "" {
			if d, err := time.ParseDuration(s.Timeout); err != nil || d <= 0 {
				return fmt.Errorf("timeout of %s: %q is not a duration such as 20s", name, s.Timeout)
			}
		}
	}
	return nil
}

// checkSignIn reports a sign-in that has no meaning. What the environment holds is looked up when the server is opened.
func (s mcpServer) checkSignIn() error {
	if s.OAuth == nil {
		return nil
	}
	for header := range s.HeadersEnv {
		if strings.EqualFold(header, "Authorization") {
			return errors.New("oauth and the header Authorization exclude each other")
		}
	}
	return unless(s.URL != "", "oauth is for servers with a url")
}

func checkTools(enabled []string) error {
	for _, name := range enabled {
		if name != noTools && !slices.Contains(builtinTools, name) {
			return fmt.Errorf("%q is not one of %s; or name %s alone", name, strings.Join(builtinTools, ", "), noTools)
		}
	}
	return unless(!slices.Contains(enabled, noTools) || len(enabled) == 1, "%q must stand alone", noTools)
}

func checkWebSearch(c *Config) error {
	if c.WebSearchEngine == "" {
		return unless(!slices.Contains(c.Tools, webSearchTool), "is empty, but the tool web_search is enabled; name brave, tavily or the address of a SearXNG server")
	}
	_, err := tool.WebSearch(c.webSearch())
	return err
}

func (c *Config) webSearch() tool.WebSearchOptions {
	o := tool.WebSearchOptions{Engine: c.WebSearchEngine, Key: c.WebSearchAPIKey}
	if strings.Contains(o.Engine, "/") { // an address
		o.Engine, o.URL = "searxng", o.Engine
	}
	return o
}

// webSearchTool is the name of the tool that searches the web.
const webSearchTool = "web_search"

// onRequest returns the tools that models may call only if a request asks for them.
func (c *Config) onRequest() []string {
	if c.WebSearchEngine == "" || slices.Contains(c.Tools, webSearchTool) {
		return nil
	}
	return []string{webSearchTool}
}

// toolbox is the tools of an instance and their connections. It is empty until openTools runs.
type toolbox struct {
	registry atomic.Pointer[tool.Registry] // another one when the tools of an MCP server join
	mcp      *mcptool.Set
	fetch    *fetch.Client
}

// openTools connects to the MCP servers and gives an instance all enabled tools. Commands that do
// not answer questions skip it.
func (p *program) openTools(ctx context.Context, in *instance) error {
	cfg, b := in.cfg, in.tools
	get := fetch.New(fetch.Options{UserAgent: "parley/" + release})
	var tools []tool.Tool
	for _, name := range slices.Concat(cfg.Tools, cfg.onRequest()) {
		switch name {
		case "calculator":
			tools = append(tools, tool.Calculator())
		case "date_time":
			tools = append(tools, tool.Clock(nil))
		case "fetch_url":
			tools = append(tools, tool.ReadPage(get.Get, pageReader(in.pages)))
		case "get_weather":
			tools = append(tools, tool.Weather(tool.WeatherOptions{}))
		case "search_documents":
			tools = append(tools, tool.SearchDocuments(in.searcher.Search))
		case webSearchTool:
			t, err := tool.WebSearch(cfg.webSearch())
			if err != nil {
				return usagef("web_search.engine: %w", err)
			}
			tools = append(tools, t)
		}
	}
	servers, err := p.mcpServers(cfg, grantsOf(in.db, in.locks()))
	if err != nil {
		return err
	}
	set, err := mcptool.Open(ctx, servers, p.log)
	if err != nil {
		return err
	}
	gather := func() error {
		options := tool.Options{Namespaces: content[map[string][]string](cfg.ToolsNamespaces), Logger: p.log}
		for name := range set.Missing() {
			options.Later = append(options.Later, mcptool.Prefix(name))
		}
		r, err := tool.NewRegistry(slices.Concat(tools, set.Tools()), options)
		if err == nil {
			b.registry.Store(r)
		}
		return err
	}
	if err := gather(); err != nil {
		set.Close()
		return usagef("tools: %w", err)
	}
	b.mcp, b.fetch = set, get
	set.Retry(func() {
		if err := gather(); err != nil {
			p.log.Error("the tools of an MCP server cannot be used", "error", err)
		}
	})
	return nil
}

func (p *program) mcpServers(cfg Config, grants mcptool.Grants) (all []mcptool.Server, err error) {
	list := content[map[string]mcpServer](cfg.MCP)
	for _, name := range sortedNames(list) {
		server, err := p.mcpServer(name, list[name], grants)
		if err != nil {
			return nil, err
		}
		all = append(all, server)
	}
	return all, nil
}

func (p *program) mcpServer(name string, s mcpServer, grants mcptool.Grants) (mcptool.Server, error) {
	server := mcptool.Server{Name: name, Command: s.Command, URL: s.URL, Tools: s.Tools, Trust: s.Trust,
		Env: map[string]string{}, Headers: map[string]string{}}
	for key, value := range s.Env {
		server.Env[key] = value
	}
	for _, key := range s.EnvFrom {
		if value, ok := p.lookupEnv(key); ok {
			server.Env[key] = value
		}
	}
	for header, key := range s.HeadersEnv {
		server.Headers[header], _ = p.lookupEnv(key)
	}
	var err error
	switch {
	case s.OAuth == nil:
	case s.OAuth.Browser:
		server.Browser, err = s.OAuth.browser(p.lookupEnv, grants)
	default:
		server.OAuth, err = s.OAuth.client(p.lookupEnv)
	}
	if err != nil {
		return server, usagef("mcp: oauth of %s: %w", name, err)
	}
	server.Timeout, _ = time.ParseDuration(s.Timeout)
	return server, nil
}

var _ chat.Toolbox = (*toolbox)(nil)

// Close closes the connections of the tools.
func (b *toolbox) Close() {
	if b.mcp != nil {
		b.mcp.Close()
		b.fetch.Close()
	}
}

// Offer returns the tools that a model may call.
func (b *toolbox) Offer(namespace string) []llm.Tool {
	if r := b.registry.Load(); r != nil {
		return r.Offer(namespace)
	}
	return nil
}

// writes reports whether a tool changes something, so that the user must confirm each call.
func (b *toolbox) writes(name string) bool {
	r := b.registry.Load()
	return r != nil && r.Writes(name)
}

// searchesWeb reports whether the web can be searched in a namespace.
func (b *toolbox) searchesWeb(namespace string) bool {
	return slices.ContainsFunc(b.Offer(namespace), func(t llm.Tool) bool { return t.Name == webSearchTool })
}

// Call runs a tool from Offer.
func (b *toolbox) Call(ctx context.Context, f retrieval.Filter, call llm.ToolCall) (string, []retrieval.Passage, error) {
	res, err := b.registry.Load().Call(ctx, f, call)
	return res.Text, res.Passages, err
}

// pageReader reads a web page in a child process, like a file.
func pageReader(pool *sandbox.Pool) tool.PageReader {
	return func(ctx context.Context, page *fetch.Page) (title, text string, err error) {
		ext := format.PageExtension(page.MediaType)
		if page.MediaType == "application/json" {
			ext = "json" // a crawl skips it
		}
		if ext == "" {
			return "", "", fmt.Errorf("no text is read from %q", page.MediaType)
		}
		f, err := os.CreateTemp("", "parley-page-*."+ext)
		if err != nil {
			return "", "", err
		}
		defer os.Remove(f.Name())
		_, err = f.Write(page.Body)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", "", err
		}
		res, err := pool.Extract(ctx, extract.Request{Name: "page." + ext, Path: f.Name()})
		if err != nil {
			return "", "", err
		}
		var b strings.Builder
		for _, pg := range res.Document.Pages {
			b.WriteString(pg.Text)
			b.WriteByte('\n')
		}
		return res.Document.Meta.Title, b.String(), nil
	}
}
