package chat

import (
	"fmt"
	"runtime/debug"
)

// aside runs f on the stack of another goroutine and waits for it. A panic of f becomes a panic of the
// caller. Use it for work that needs a deep stack before an answer is streamed: the stack of a goroutine
// rarely shrinks while it is in use, so it would stay large for as long as the stream lasts.
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
