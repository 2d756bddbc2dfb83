package chatui

import (
	"testing"
	"time"
)

func TestPaceOf_EveryMessageEndsBeforeClientsGiveUp(t *testing.T) {
	const clientsGiveUp = 30 * time.Second
	for agents := range 12 {
		p := paceOf(agents)
		ends := p.giveUp + time.Duration(agents)*2*p.settle // last words and end of each message
		if ends >= clientsGiveUp {
			t.Errorf("with %d agents the last message ends after %s", agents, ends)
		}
		if p.answer < 15*time.Second {
			t.Errorf("with %d agents a turn is cut after %s", agents, p.answer)
		}
	}
}
