package chat

import (
	"fmt"
	"runtime/debug"
)

// aside runs f on the stack of another goroutine and waits for it. A panic in f becomes a panic in the
// caller. Use it for work that needs a deep stack before an answer is streamed: a goroutine's stack rarely
// shrinks while it is in use, so the caller's would remain large until the stream ends.
func aside(f func()) {
	var panicked error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Errorf("%v\n%s", p, debug.Stack())
			}
		}()
		f()
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
}
