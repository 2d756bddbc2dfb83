//go:build unix

package pgsql

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// A connection that is silent is told from one that has ended, also while pgx reads from it in the background.
func TestHeard_DoesNotWaitForAReadInTheBackground(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, background := range []bool{false, true} {
		client, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		if background {
			go func() {
				defer close(ended)
				_, _ = client.Read(make([]byte, 1))
			}()
			time.Sleep(10 * time.Millisecond) // so that it reads; if it does not yet, the test finds less
		} else {
			close(ended)
		}
		if heard(client) {
			t.Errorf("background %v: a silent connection is said to have ended", background)
		}
		server.Close()
		<-ended
		if !heard(client) {
			t.Errorf("background %v: a connection that has ended is said to be silent", background)
		}
	}
}
