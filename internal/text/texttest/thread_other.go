//go:build !linux

package texttest

import "time"

var began = time.Now()

func threadTime() time.Duration { return time.Since(began) }
