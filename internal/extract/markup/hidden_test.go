package markup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

func TestHTML_LeavesOutWhatBrowsersDoNotShow(t *testing.T) {
	page := `<html><body><p>Shown one.</p><p style="display:none">Hidden one.</p><p style="color: red; Visibility : HIDDEN">Hidden two.</p>` +
		`<p style="visibility:collapse;">Hidden three.</p><p hidden>Hidden four.</p><p style="backface-visibility: hidden">Shown two.</p>` +
		`<p style="visibility: visible; display: block">Shown three.</p></body></html>`
	want := "P Shown one.\nP Shown two.\nP Shown three.\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.html", []byte(page)))); diff != "" {
		t.Error(diff)
	}
}
