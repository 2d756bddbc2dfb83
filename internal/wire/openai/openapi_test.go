package openai

import (
	"testing"

	"parley/internal/wire/wiretest"
)

// Every member that a request may have is described, and nothing else.
func TestOpenAPI_DescribesTheMembersOfARequest(t *testing.T) {
	names := []string{"messages", "max_tokens", "max_completion_tokens"}
	for name := range members {
		names = append(names, name)
	}
	wiretest.Read(t, handlerOf(nil, nil).Protocol()).TestMembers(t, "CompletionRequest", names)
}
