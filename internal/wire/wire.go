// Package wire holds what the chat protocols share, written once: reading a bounded body,
// judging JSON before anything is built from it, writing a stream of lines to a client that may
// be slow or gone, and turning an error into a status.
//
// A protocol adapter exports its routes (Protocol), and its handlers read and answer like this:
//
//	object, err := r.Object() // of the body, which the server has read
//	stream := wire.NDJSON(w, "application/json-lines")
//	for event, err := range runner.Run(ctx, request) {
//		if err := stream.Send(render(stream.Line(), event)); err != nil {
//			return err // the client is gone: leaving the range cancels the turn
//		}
//	}
//
// Until the first Send nothing is committed, so an error before it still gets its own status.
package wire

import "time"

// DefaultBodyLimit is the size that a JSON body may have, in bytes.
const DefaultBodyLimit = 1 << 20

// maxDepth is how deep a body may nest; it bounds the recursion of the checker. maxMembers is how
// many members one object may have; it bounds what the checker remembers of keys.
const (
	maxDepth   = 64
	maxMembers = 10_000
)

// A body must begin to arrive within bodyGrace and then come at no less than bodyRate bytes a
// second, so that a client cannot hold a connection by sending a byte now and then.
const (
	bodyGrace = 10 * time.Second
	bodyRate  = 16 << 10
)

// What is left of a body that was too large is read for at most drainTime and drainLimit bytes:
// a client that is still sending would otherwise see a reset connection instead of the 413.
// Nothing of it is kept.
const (
	drainTime  = time.Second
	drainLimit = 64 << 20
)

// firstRead is how much room a body gets before any of it has come: the length that a client
// declares costs nothing until it has sent it.
const firstRead = 16 << 10

// A client that takes nothing for writeTimeout is dropped. The deadline is renewed at most once
// in renewEvery, because setting it costs a lock on the connection.
const (
	writeTimeout = 30 * time.Second
	renewEvery   = time.Second
)
