package ragchat

import (
	"testing"

	"parley/internal/wire/wiretest"
)

// The document describes every parameter of requests, and no others.
func TestOpenAPI_DescribesTheParameters(t *testing.T) {
	var names []string
	for _, table := range []map[string]setter{paramTable, overrideTable} {
		for name := range table {
			names = append(names, name)
		}
	}
	for _, o := range named {
		names = append(names, o.Name)
	}
	wiretest.Read(t, handlerOf(nil, &books{}, nil).Protocol()).TestMembers(t, "RAGParams", names)
}
