//go:build !race

package hardening

// share is the memory that a client may hold, in bytes.
const share = 256 << 10
