package attribute_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/attribute"
)

func TestCounts_NamesWhatMostDocumentsHave(t *testing.T) {
	var c attribute.Counts
	for _, v := range []attribute.Values{
		{"tags": []any{"a", "b", "a"}, "year": 2026.0, "created": "2026-03-01T12:00:00Z", "date": "2026-03-01"},
		{"tags": "b", "year": "2026", "draft": true, "abstract": strings.Repeat("x", 101)},
		{"tags": []any{"c", "b"}, "draft": true, "date": "2026-03-01"},
		nil,
	} {
		c.Add(v)
	}
	want := []attribute.KeyCount{
		{Key: "date", Documents: 2, Values: []attribute.ValueCount{{Value: "2026-03-01", Documents: 2}}},
		{Key: "draft", Documents: 2, Values: []attribute.ValueCount{{Value: true, Documents: 2}}},
		{Key: "tags", Documents: 3, Values: []attribute.ValueCount{{Value: "b", Documents: 3}, {Value: "a", Documents: 1}}, More: true},
	}
	if diff := cmp.Diff(want, c.Most(3, 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all := c.Most(100, 100); len(all) != 4 || all[3].Key != "year" || len(all[3].Values) != 2 {
		t.Errorf("all attributes are %+v", all)
	}
}

// Hostile documents cost a limited amount of memory, and what was met before is still counted.
func TestCounts_HasLimits(t *testing.T) {
	var c attribute.Counts
	c.Add(attribute.Values{"first": "value"})
	for i := range 5000 {
		c.Add(attribute.Values{fmt.Sprintf("key%d", i): true, "many": float64(i)})
	}
	c.Add(attribute.Values{"first": "value", "odd": []any{[]any{"list"}}})
	all := c.Most(10_000, 10_000)
	if len(all) != 256 {
		t.Errorf("%d attributes are counted", len(all))
	}
	for _, k := range all {
		switch {
		case k.Key == "many" && (k.Documents != 5000 || len(k.Values) != 2000 || !k.More):
			t.Errorf("many values: %d documents, %d values, more %v", k.Documents, len(k.Values), k.More)
		case k.Key == "first" && (k.Documents != 2 || k.Values[0].Documents != 2):
			t.Errorf("the first attribute: %+v", k)
		}
	}
}
