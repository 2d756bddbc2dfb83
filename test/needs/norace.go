//go:build !race

package needs

// Race says whether the race detector is on, which multiplies the time and memory of a test.
const Race = false
