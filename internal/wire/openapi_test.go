package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type dish struct {
	Name   string   `json:"name"`
	Grams  int      `json:"grams"`
	With   []dip    `json:"with"`
	Best   *dip     `json:"best"`
	Note   *string  `json:"note,omitempty"`
	Price  USD      `json:"price"`
	Labels []string `json:"labels,omitempty"`
}

type dip struct {
	Kind string `json:"kind"`
}

func dishes(part string) ([]byte, error) {
	return OpenAPI(Protocol{
		OpenAPI: []byte(part),
		Types:   map[string]any{"Dish": dish{}, "Dip": dip{}},
		Routes:  []Route{{Pattern: "GET /dishes/{name}", Right: Anybody}},
	})
}

func TestOpenAPI_DerivesSchemasFromTypesAndAddsWhatThePartSays(t *testing.T) {
	raw, err := dishes(`{"tag": "Menu", "errors": "Error", "parameters": {"name": {"example": "soup"}}, "paths": {"/dishes/{name}": {"get": {
		"summary": "A dish", "responses": {"200": {"description": "It.", "json": "Dish"}}}}},
		"schemas": {"Dish": {"properties": {"name": {"description": "In English."}, "with": {"description": "To choose from."}}},
			"Dip": {"properties": {"kind": {"enum": ["hot", "cold"]}}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas   map[string]any
			PathItems map[string]map[string]any
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Dish": `{"type": "object", "additionalProperties": false, "required": ["name", "grams", "with", "best", "price"], "properties": {
			"name": {"type": "string", "description": "In English."}, "grams": {"type": "integer", "minimum": 0},
			"with": {"type": "array", "items": {"$ref": "#/components/schemas/Dip"}, "description": "To choose from."},
			"best": {"anyOf": [{"type": "null"}, {"$ref": "#/components/schemas/Dip"}]},
			"note": {"type": "string"}, "price": {"type": "number", "minimum": 0},
			"labels": {"type": "array", "items": {"type": "string"}}}}`,
		"Dip": `{"type": "object", "additionalProperties": false, "required": ["kind"], "properties": {"kind": {"type": "string", "enum": ["hot", "cold"]}}}`,
	}
	for name, text := range want {
		var schema any
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(schema, doc.Components.Schemas[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got, _ := json.Marshal(doc.Components.PathItems[".dishes.name"]["get"])
	if want := `{"parameters":[{"example":"soup","in":"path","name":"name","required":true,"schema":{"type":"string"}}],` +
		`"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Dish"}}},"description":"It."}},` +
		`"summary":"A dish","tags":["Menu"]}`; string(got) != want {
		t.Errorf("the operation is\n%s, want\n%s", got, want)
	}
}

func TestOpenAPI_NamesAPartOfAPathThatIsNotDescribed(t *testing.T) {
	_, err := dishes(`{"tag": "Menu", "errors": "Error", "paths": {"/dishes/{name}": {"get": {}}}}`)
	if err == nil || !strings.Contains(err.Error(), "the parameter name of GET /dishes/{name} is not described") {
		t.Errorf("the error is %v", err)
	}
}
