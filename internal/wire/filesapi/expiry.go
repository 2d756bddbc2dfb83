package filesapi

import (
	"fmt"
	"math"
	"time"

	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// The limits of expires_after in OpenAI's API: in seconds for files, in days for vector stores.
const (
	minSeconds   = 3600
	maxSeconds   = 30 * 24 * 3600
	maxDays      = 365
	fileAnchor   = "created_at"
	storeAnchor  = "last_active_at"
	expiresAfter = "expires_after"
)

var (
	errFileExpiry = openai.Refuse(chat.Invalid, expiresAfter, openai.Invalid,
		fmt.Sprintf(`"expires_after" must have the anchor %q and seconds from %d to %d.`, fileAnchor, minSeconds, maxSeconds))
	errStoreExpiry = openai.Refuse(chat.Invalid, expiresAfter, openai.Invalid,
		fmt.Sprintf(`"expires_after" must have the anchor %q and days from 1 to %d.`, storeAnchor, maxDays))
)

// expiry is the value of expires_after, not yet checked.
type expiry struct {
	given  bool
	anchor string
	n      int // seconds or days
}

// expiryOf reads expires_after from JSON. unit is the name of the member with the number, and invalid the error if that
// is not a whole number.
func expiryOf(v wire.Value, unit string, invalid error) (e expiry, err error) {
	if !v.IsGiven() {
		return e, nil
	}
	object, _ := v.Object()
	anchor, _ := object.Get("anchor")
	number, _ := object.Get(unit)
	n, ok := number.Number()
	if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return e, invalid
	}
	e.given, e.n = true, int(n)
	e.anchor, _ = anchor.Text()
	return e, nil
}

// lifetime returns the lifetime of a file; 0 means that it does not expire.
func (e expiry) lifetime() (time.Duration, error) {
	switch {
	case !e.given:
		return 0, nil
	case e.anchor != fileAnchor || e.n < minSeconds || e.n > maxSeconds:
		return 0, errFileExpiry
	}
	return time.Duration(e.n) * time.Second, nil
}

// days returns the number of days without use after which a store expires; 0 means never.
func (e expiry) days() (int, error) {
	if e.given && (e.anchor != storeAnchor || e.n < 1 || e.n > maxDays) {
		return 0, errStoreExpiry
	}
	return e.n, nil
}

// storeExpiry is expires_after of a store in responses.
type storeExpiry struct {
	Anchor string `json:"anchor"`
	Days   int    `json:"days"`
}

func storeExpiryOf(s library.Store) *storeExpiry {
	if s.Days == 0 {
		return nil
	}
	return &storeExpiry{storeAnchor, s.Days}
}

// unixOf returns a time in Unix seconds; nil for the zero time.
func unixOf(at time.Time) *int64 {
	if at.IsZero() {
		return nil
	}
	seconds := at.Unix()
	return &seconds
}
