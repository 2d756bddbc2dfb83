package responses

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire/wiretest"
)

// A request is answered from its files, and those of the requests that it continues; from vector stores too if it has the
// tool for that.
func TestCreate_SearchesTheFilesOfTheRequestAndItsStores(t *testing.T) {
	given := &retrieval.Given{}
	var read [][]string
	runner := &wiretest.Scripted{Steps: wiretest.Script(t, `include opening.events
include answer.events
`)}
	h := handlerOf(runner, func(c *Config) {
		c.Give = func(_ context.Context, _ string, files []chat.File) (*retrieval.Given, error) {
			var ids []string
			for _, f := range files {
				ids = append(ids, f.ID+string(f.Data)+" "+f.Param)
			}
			read = append(read, ids)
			return given, nil
		}
	})
	const file = `{"type":"input_file","filename":"a.txt","file_data":"YQ=="}`
	ask := func(members string) string {
		w := send(h, http.MethodPost, endpoint, `{"model":"parley",`+members+`}`)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", members, w.Code, w.Body)
		}
		return idIn(t, w)
	}
	first := ask(`"input":[{"role":"user","content":[{"type":"input_text","text":"x"},` + file + `]}]`)
	ask(`"previous_response_id":"` + first + `","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"},{"type":"input_text","text":"y"}]}],` +
		`"tools":[{"type":"file_search"}]`)
	ask(`"previous_response_id":"` + first + `","input":"z","tools":[{"type":"file_search","vector_store_ids":["hr","vs_tower"]}]`)
	ask(`"input":"z","tools":[{"type":"file_search","vector_store_ids":["hr"]}]`)
	want := [][]string{{"a input[0].content[1]"}, {"a ", "f input[0].content[0]"}, {"a "}}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	var places []string
	for _, req := range runner.Asked {
		var names []string
		for _, p := range req.Places {
			if p.Given == given {
				names = append(names, "given")
			}
			names = append(names, p.Namespace)
		}
		places = append(places, req.Namespace+":"+strings.Join(names, ","))
	}
	if diff := cmp.Diff([]string{"default:given,", "default:given,,default", "hr:given,,hr,vs_tower", "hr:"}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}
