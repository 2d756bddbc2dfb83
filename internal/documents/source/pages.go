package source

import (
	"errors"
	"iter"
	"strings"
)

// maxBarren is the maximum number of consecutive empty pages in a listing.
const maxBarren = 100

var errEndless = errors.New("the server's listing does not end")

// pages lists the objects of pages. Each page is asked for with what the one before it gave as the next; "" is the first one
// and none.
func pages(page func(token string) (all []Object, next string, err error)) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		token, barren := "", 0
		for {
			all, next, err := page(token)
			for _, o := range all {
				if !yield(o, nil) {
					return
				}
			}
			if barren++; len(all) > 0 {
				barren = 0
			}
			switch {
			case err != nil:
			case next == "":
				return
			case next == token || barren > maxBarren:
				err = errEndless
			}
			if err != nil {
				yield(Object{}, err)
				return
			}
			token = next
		}
	}
}

// objectBelow returns the object of a key of a bucket, whose path is relative to a prefix; false for a key that only stands
// for a folder.
func objectBelow(prefix, key string) (o Object, ok bool, err error) {
	rest, inside := strings.CutPrefix(key, prefix)
	if !inside {
		return o, true, errors.New("the server lists objects that were not asked for")
	}
	return Object{Path: rest, key: key}, rest != "" && !strings.HasSuffix(rest, "/"), nil
}
