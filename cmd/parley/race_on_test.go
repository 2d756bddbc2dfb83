//go:build race

package main

// raceDetector reports whether the race detector is at work.
const raceDetector = true
