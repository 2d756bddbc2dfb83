//go:build race

package hardening

// share is the memory that a client may hold, in bytes; the race detector holds its own.
const share = 2 << 20
