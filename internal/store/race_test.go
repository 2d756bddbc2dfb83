//go:build race

package store

// raceEnabled says that the race detector is on, under which reading everything takes many times as long.
const raceEnabled = true
