//go:build !linux

package texttest

import "time"

var began = time.Now()

func threadTime() time.Duration { return time.Since(began) }

// ProcessTime returns the time since the process began.
func ProcessTime() time.Duration { return time.Since(began) }
