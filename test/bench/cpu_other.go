//go:build !unix

package main

import "time"

// spent returns 0: the system does not report processor time.
func spent() time.Duration { return 0 }

func settle() {}
