package wire

import "strings"

// Alias is another beginning of paths, for clients that know an API under it. A request to a path that has no route goes
// to the path with To in place of From, with the same rights.
type Alias struct{ From, To string }

// Path returns the path that a path stands for, or "" if the alias does not apply.
func (a Alias) Path(path string) string {
	rest, ok := strings.CutPrefix(path, a.From)
	if !ok {
		return ""
	}
	return a.To + rest
}
