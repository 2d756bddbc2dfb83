package upstream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"parley/internal/llm"
)

// A caller who leaves does not wait for a slow list of a server, and the server is asked once for all
// callers.
func TestSizes_WaitNoLongerThanTheirCallers(t *testing.T) {
	var asked atomic.Int32
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	s := &Sizes{List: func(context.Context) ([]llm.ModelInfo, error) {
		asked.Add(1)
		begun <- struct{}{}
		<-goOn
		return []llm.ModelInfo{{Name: "m", Context: 7}}, nil
	}}
	left, leave := context.WithCancel(t.Context())
	first := make(chan int)
	go func() { first <- s.Of(left, "m") }()
	<-begun
	staying := make(chan int)
	go func() { staying <- s.Of(t.Context(), "m") }()
	leave()
	if got := <-first; got != 0 {
		t.Errorf("the one who left got %d", got)
	}
	close(goOn)
	if got := <-staying; got != 7 {
		t.Errorf("the one who stayed got %d", got)
	}
	if got := s.Of(t.Context(), "m"); got != 7 || asked.Load() != 1 {
		t.Errorf("later %d, after %d lists", got, asked.Load())
	}
}

func TestSizes_KeepWhatIsKnownWhenThereIsNoList(t *testing.T) {
	s := &Sizes{List: func(context.Context) ([]llm.ModelInfo, error) { return nil, errors.New("no list") }}
	if got := s.Of(t.Context(), "m"); got != 0 {
		t.Error(got)
	}
}
