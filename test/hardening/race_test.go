//go:build race

package hardening

// share is the memory that a client may hold, in bytes, with the race detector's own.
const share = 2 << 20
