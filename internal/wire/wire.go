// Package wire has what the chat protocols share: reading a body within limits, checking JSON before
// anything is built from it, streaming lines to a client that may be slow or gone, and mapping errors to
// statuses.
//
// A protocol adapter exports its routes (Protocol), and its handlers read and respond like this:
//
//	object, err := r.Object() // of the body, which the server has read
//	stream := wire.NDJSON(w, "application/json-lines")
//	for event, err := range runner.Run(ctx, request) {
//		if err := stream.Send(render(stream.Line(), event)); err != nil {
//			return err // the client is gone: leaving the range cancels the turn
//		}
//	}
//
// Nothing is sent before the first Send, so an error before it still gets its own status.
package wire

import "time"

// DefaultBodyLimit is the default maximum size of a JSON body, in bytes.
const DefaultBodyLimit = 1 << 20

// maxDepth limits the nesting of a body, and so the recursion of the checker. maxMembers limits the
// members of one object, and so the checker's memory for keys.
const (
	maxDepth   = 64
	maxMembers = 10_000
)

// A body must begin to arrive within bodyGrace, and then arrive at bodyRate bytes a second or more on average,
// so that a client cannot hold a connection by sending a byte now and then.
const (
	bodyGrace = 10 * time.Second
	bodyRate  = 16 << 10
)

// After a refusal, the rest of a body is read and discarded, for at most drainTime and up to drainLimit bytes:
// otherwise a client that is still sending would see a reset connection instead of the status.
const (
	drainTime  = time.Second
	drainLimit = 64 << 20
)

// firstRead limits the initial buffer for a body, so that a declared length costs nothing until the
// client has sent it.
const firstRead = 16 << 10

// A client that accepts no data for writeTimeout is disconnected. The deadline is renewed at most once every
// renewEvery, because setting it locks the connection.
const (
	writeTimeout = 30 * time.Second
	renewEvery   = time.Second
)
