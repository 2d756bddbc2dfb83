package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
)

// origins assigns pseudonyms to client addresses, so that data stored from one address can be distinguished
// from that of others. A pseudonym cannot be turned back into an address and changes at each restart, so
// stored data does not identify anyone. Loopback addresses have none.
type origins struct{ key []byte }

func newOrigins() origins {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // rand.Read never fails
	return origins{key}
}

// of returns the pseudonym of an address, or "" for a loopback address and for one that is not TCP.
func (o origins) of(remote net.Addr) string {
	if tcp, ok := remote.(*net.TCPAddr); !ok || tcp.IP.IsLoopback() {
		return ""
	}
	h := hmac.New(sha256.New, o.key)
	h.Write([]byte(keyOf(remote)))
	const length = 12 // bytes
	return hex.EncodeToString(h.Sum(nil)[:length])
}
