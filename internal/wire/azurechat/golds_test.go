package azurechat

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/wire/wiretest"
	"parley/test/needs"
)

// later holds the keys of the recorded golds that are not in the documents: later versions of
// the sample added them, or its recordings hold what its upstream sent. Each is the end of a
// kind and a path; one that ends in a dot stands for all below it.
var later = []string{
	".logprobs", "choices delta .usage", // the upstream's, null on every chunk
	".thoughts[].props.model", ".thoughts[].props.filter", ".thoughts[].props.top",
	".thoughts[].props.use_semantic_ranker", ".thoughts[].props.use_query_rewriting",
	".thoughts[].props.use_text_search", ".thoughts[].props.use_vector_search",
	".thoughts[].props.search_text_embeddings", ".thoughts[].props.search_image_embeddings",
	".thoughts[].props.token_usage.",
	".description[].role", // prompts became lists of objects
	".description[].activity", ".description[].images", ".description[].type", ".description[].reranker_score",
	".data_points.images", ".data_points.external_results_metadata", // empty lists
	"first .context.answer", "first .context.followup_questions", // null
	".context.context.", // a fault of that version: the context inside itself
}

// TestKeys_AreThoseOfTheGolds compares the key sets, by kind of object, with what the original
// servers were recorded to send: every key that all their objects of a kind have is there.
func TestKeys_AreThoseOfTheGolds(t *testing.T) {
	root := "../../../../shared/data/wire-golds"
	if _, err := os.Stat(root); err != nil {
		needs.Missing(t, "the golds of the folder shared")
	}
	ours := keysOfFixtures(t)
	for dir, choices := range map[string]bool{"legacy-choices-2024-06": true, "aichatprotocol-2026-04": false} {
		for kind, want := range keysOfGolds(t, filepath.Join(root, dir), choices) {
			for _, path := range slices.Sorted(maps.Keys(want)) {
				if !ours[kind][path] && !isLater(kind+" "+path) {
					t.Errorf("%s: no %s has the key %s", dir, kind, path)
				}
			}
		}
	}
}

func isLater(name string) bool {
	return slices.ContainsFunc(later, func(end string) bool {
		if strings.HasSuffix(end, ".") {
			return strings.Contains(name+".", end)
		}
		return strings.HasSuffix(name, end)
	})
}

// keysOfFixtures returns all keys that this package's fixtures show, by kind of object.
func keysOfFixtures(t *testing.T) map[string]map[string]bool {
	t.Helper()
	kinds := map[string]map[string]bool{}
	for _, f := range wiretest.Fixtures(t) {
		_, body, _ := strings.Cut(f.Text("response"), "\n\n")
		for line := range strings.Lines(body) {
			kind, keys := objectKeys(t, []byte(line))
			if kinds[kind] == nil {
				kinds[kind] = map[string]bool{}
			}
			maps.Copy(kinds[kind], keys)
		}
	}
	return kinds
}

// keysOfGolds returns the keys that all recorded objects of a kind have.
func keysOfGolds(t *testing.T, dir string, choices bool) map[string]map[string]bool {
	t.Helper()
	kinds := map[string]map[string]bool{}
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "*", "result.json*"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(data)))
		for decoder.More() {
			var raw json.RawMessage
			if err := decoder.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			kind, keys := objectKeys(t, raw)
			if strings.HasPrefix(kind, "choices") != choices && kind != "error" {
				continue // left behind by an older version
			}
			if kinds[kind] == nil {
				kinds[kind] = keys
			}
			maps.DeleteFunc(kinds[kind], func(k string, _ bool) bool { return !keys[k] })
		}
	}
	if len(kinds) < 4 {
		t.Fatalf("%s has only the kinds %v", dir, slices.Collect(maps.Keys(kinds)))
	}
	return kinds
}

// objectKeys returns which kind of object a line is and the paths of its keys.
func objectKeys(t *testing.T, raw []byte) (kind string, keys map[string]bool) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	keys = map[string]bool{}
	addKeys(keys, object, "")
	in, prefix := "", ""
	if keys[".choices"] {
		in, prefix = ".choices[]", "choices "
	}
	switch {
	case keys[".error"]:
		return "error", keys
	case keys[in+".message"]:
		return prefix + "reply", keys
	case keys[in+".context.data_points"]:
		return prefix + "first", keys
	case keys[in+".context"]:
		return prefix + "last", keys
	}
	return prefix + "delta", keys
}

func addKeys(keys map[string]bool, v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			keys[path+"."+k] = true
			addKeys(keys, inner, path+"."+k)
		}
	case []any:
		for _, inner := range v {
			addKeys(keys, inner, path+"[]")
		}
	}
}
