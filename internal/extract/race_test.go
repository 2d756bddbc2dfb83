//go:build race

package extract

// raceEnabled says that the race detector is on, which multiplies the memory of a process.
const raceEnabled = true
