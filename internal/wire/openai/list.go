package openai

import (
	"fmt"
	"strconv"

	"parley/internal/chat"
	"parley/internal/wire"
)

// maxListed is OpenAI's limit on the items in a page, for most lists.
const maxListed = 100

// List has the parameters of a request for a page of a list.
type List struct {
	Limit         int
	Oldest        bool   // oldest first instead of newest first
	After, Before string // ids of items of the list; "" for none
}

// ListOf reads limit, order, after and before. standard is the default limit. A request may ask for up to 100 items, or
// standard if that is more.
func ListOf(r *wire.Request, standard int) (l List, err error) {
	q := r.URL.Query()
	l = List{Limit: standard, After: q.Get("after"), Before: q.Get("before")}
	switch q.Get("order") {
	case "", "desc":
	case "asc":
		l.Oldest = true
	default:
		return l, Refuse(chat.Invalid, "order", Invalid, `"order" must be "asc" or "desc".`)
	}
	if given := q.Get("limit"); given != "" {
		most := max(standard, maxListed)
		if l.Limit, err = strconv.Atoi(given); err != nil || l.Limit < 1 || l.Limit > most {
			return l, Refuse(chat.Invalid, "limit", Invalid, fmt.Sprintf(`"limit" must be a whole number from 1 to %d.`, most))
		}
	}
	return l, nil
}
