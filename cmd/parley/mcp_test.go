package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK's own client drives the real binary over both transports.
func TestMCP_ServesTheOfficialClient(t *testing.T) {
	t.Parallel()
	docs, data := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "leave.md"), []byte("# Leave\n\nEvery employee has 30 days of annual leave.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "ingest", "--data", data, docs)
	served := startServe(t, nil, "--data", data)
	if err := awaitReady(served.addr); err != nil {
		t.Fatal(err)
	}
	for name, transport := range map[string]mcpsdk.Transport{
		"stdio": &mcpsdk.CommandTransport{Command: exec.Command(binary(t), "mcp", "--data", data)},
		"http":  &mcpsdk.StreamableClientTransport{Endpoint: "http://" + served.addr + "/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mcpsdk.NewClient(&mcpsdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for tool, args := range map[string]map[string]any{
				"search": {"query": "annual leave"}, "ask": {"question": "How many days of annual leave does an employee have?"},
			} {
				res, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: tool, Arguments: args})
				if err != nil || res.IsError {
					t.Fatalf("%s: %v %+v", tool, err, res)
				}
				if text := res.Content[0].(*mcpsdk.TextContent).Text; !strings.Contains(text, "30 days") || !strings.Contains(text, "[leave.md]") {
					t.Errorf("%s: %q", tool, text)
				}
			}
			found, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "search", Arguments: map[string]any{"query": "annual leave"}})
			if err != nil {
				t.Fatal(err)
			}
			var told struct{ Results []struct{ ID string } }
			if err := json.Unmarshal([]byte(found.Content[0].(*mcpsdk.TextContent).Text), &told); err != nil || len(told.Results) == 0 {
				t.Fatalf("%v: %+v", err, found.Content)
			}
			page, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "fetch", Arguments: map[string]any{"id": told.Results[0].ID}})
			if err != nil || page.IsError || !strings.Contains(page.Content[0].(*mcpsdk.TextContent).Text, `"text":"Leave`) {
				t.Errorf("%v %+v", err, page)
			}
			res, err := s.ReadResource(t.Context(), &mcpsdk.ReadResourceParams{URI: "parley://default/leave.md"})
			if err != nil || !strings.Contains(res.Contents[0].Text, "30 days") {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}
