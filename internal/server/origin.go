package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
)

// origins names the addresses from which requests come, so that what one of them stores can be told from
// what others do. The names cannot be turned back into addresses, and are others after a restart,
// so that what is stored does not say who somebody is. This machine has none.
type origins struct{ key []byte }

func newOrigins() origins {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // which never fails
	return origins{key}
}

// of returns the origin of an address.
func (o origins) of(remote net.Addr) string {
	if tcp, ok := remote.(*net.TCPAddr); !ok || tcp.IP.IsLoopback() {
		return ""
	}
	h := hmac.New(sha256.New, o.key)
	h.Write([]byte(keyOf(remote)))
	const length = 12 // bytes
	return hex.EncodeToString(h.Sum(nil)[:length])
}
