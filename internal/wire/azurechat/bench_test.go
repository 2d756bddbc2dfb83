package azurechat

import (
	"testing"

	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// BenchmarkDelta measures what one token costs from its event to the flushed line.
func BenchmarkDelta(b *testing.B) {
	for name, of := range map[string]exchange{
		"0529": {}, "0128": {form: Form{Version: V0128}}, "late": {form: Form{Version: VLate}}, "both": {late: true},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			h := handlerOf(nil, nil)
			x := &of
			x.state = state{snake: null}
			s := &session{x: x, stream: wire.NDJSON(wiretest.NewDiscard(), "x"), format: h.format(x)}
			if err := wire.SendTurn(wiretest.Tokens(b.N).Run(b.Context(), &x.req), s.send); err != nil {
				b.Fatal(err)
			}
		})
	}
}
