package markup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestSVG_ReadsItsTexts(t *testing.T) {
	drawing := `<?xml version="1.0"?><!-- drawn --><svg xmlns="http://www.w3.org/2000/svg"><title>Flow of orders</title><desc>From shop to shelf</desc>
<style>text { fill: red }</style><metadata><x>hidden</x></metadata>
<g><title>box</title><rect/><text x="1">Or<tspan font-weight="bold">der</tspan><tspan x="1" dy="1em">by phone</tspan></text></g>
<foreignObject><div xmlns="http://www.w3.org/1999/xhtml"><p>Stock:</p><p>5,000 m²</p></div></foreignObject></svg>`
	want := "P Flow of orders⏎From shop to shelf⏎box⏎Order by phone⏎Stock: 5,000 m²\n"
	for _, name := range []string{"a.svg", "a.xml"} {
		doc := extracttest.Read(t, name, []byte(drawing))
		if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" || doc.Title != "Flow of orders" || doc.Format != "SVG" {
			t.Errorf("%s: title %q, format %q: %s", name, doc.Title, doc.Format, diff)
		}
	}
	extracttest.WantReason(t, "a.svg", []byte("<svg><path/></svg>"), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.svg", []byte("no drawing <"), extract.Limits{}, extract.Damaged)
}
