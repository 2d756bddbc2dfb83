package main

import (
	"strings"
	"testing"

	"parley/internal/store"
)

func TestDoctor_SaysWhatSearchesVectors(t *testing.T) {
	t.Parallel()
	const memory = 100 << 20
	for _, c := range []struct {
		name    string
		state   store.VectorState
		largest int64
		memory  int64
		verdict verdict
		text    string
	}{
		{"no extension, not needed", store.VectorState{}, 1 << 20, memory, fine, "no pgvector"},
		{"no extension, needed", store.VectorState{}, 80 << 20, memory, warned, "install pgvector 0.8"},
		{"too old on the server", store.VectorState{Available: "0.5.1", MayCreate: true}, 80 << 20, memory, warned, "has pgvector 0.5.1"},
		{"too old in the database", store.VectorState{Installed: "0.5.1", Available: "0.8.0", MayCreate: true}, 80 << 20, memory, warned, "ALTER EXTENSION vector UPDATE (the server has 0.8.0)"},
		{"no right to create it", store.VectorState{Available: "0.8.0", Suffices: true}, 80 << 20, memory, warned, "CREATE EXTENSION vector"},
		{"there, not needed", store.VectorState{Available: "0.8.0", Suffices: true, MayCreate: true}, 1 << 20, memory, fine, "pgvector 0.8.0 would take over"},
		{"not built yet", store.VectorState{Installed: "0.8.0", Suffices: true, MayCreate: true, Building: 1}, 80 << 20, memory, warned, "1 being built"},
		{"used", store.VectorState{Installed: "0.8.0", Suffices: true, Ready: 2}, 80 << 20, memory, fine, "searches the vectors of 2 namespaces"},
		{"memory is not known", store.VectorState{}, 80 << 30, 0, fine, "whatever they take"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judgeVectorIndex(c.state, c.largest, c.memory)
			if len(got) != 1 || got[0].Verdict != c.verdict || !strings.Contains(got[0].Found+" "+got[0].Remedy, c.text) || c.verdict == warned && got[0].Remedy == "" {
				t.Errorf("got %+v, want a %s with %q", got, c.verdict, c.text)
			}
		})
	}
}
