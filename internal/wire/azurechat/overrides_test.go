package azurechat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Later front ends than those of the documents ask for pictures and vectors by other names.
func TestOverlay_TakesTheNamesOfLaterFrontEnds(t *testing.T) {
	usual := chat.Options{Top: 3, Mode: retrieval.Hybrid}
	for _, c := range []struct {
		settings string
		blind    bool // no model that sees
		want     chat.Options
	}{
		{`{"send_text_sources":true,"send_image_sources":true}`, false, chat.Options{Top: 3, Mode: retrieval.Hybrid, Images: chat.TextAndImages}},
		{`{"send_text_sources":false,"send_image_sources":true}`, false, chat.Options{Top: 3, Mode: retrieval.Hybrid, Images: chat.ImagesOnly}},
		{`{"send_text_sources":true,"send_image_sources":false}`, false, usual},
		{`{"send_text_sources":false,"send_image_sources":false}`, false, usual},
		{`{"send_text_sources":false,"send_image_sources":true}`, true, usual},
		{`{"use_gpt4v":true,"gpt4v_input":"images"}`, false, chat.Options{Top: 3, Mode: retrieval.Hybrid, Images: chat.ImagesOnly}},
		{`{"search_text_embeddings":false,"search_image_embeddings":true}`, false, chat.Options{Top: 3, Mode: retrieval.Text}},
		{`{"search_text_embeddings":true,"retrieval_mode":"vectors"}`, false, chat.Options{Top: 3, Mode: retrieval.Vectors}},
		{`{"reasoning_effort":"high"}`, false, chat.Options{Top: 3, Mode: retrieval.Hybrid, Effort: "high"}},
		{`{"reasoning_effort":""}`, false, usual},
		{`{"send_image_sources":"yes","send_text_sources":1,"search_text_embeddings":"no","reasoning_effort":"extreme"}`, false, usual},
	} {
		settings, _ := wire.Value(c.settings).Object()
		got, err := overlay(usual, settings, "context.overrides", !c.blind, false)
		if err != nil {
			t.Errorf("%s: %v", c.settings, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.settings, diff)
		}
	}
}
