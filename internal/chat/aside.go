package chat

import (
	"fmt"
	"runtime/debug"
)

// aside runs f on a stack of its own, and returns or panics when f does. It is for what takes a lot of
// stack before an answer is streamed: the stack of a goroutine hardly ever shrinks while it is in use,
// and so would stay large for as long as the stream lasts.
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
