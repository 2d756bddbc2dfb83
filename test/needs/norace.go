//go:build !race

package needs

// Race says that the race detector is at work, which multiplies the time and the memory of a test.
const Race = false
