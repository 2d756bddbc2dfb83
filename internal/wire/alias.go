package wire

import "strings"

// Alias is an alternative path prefix, for clients that expect an API under From. A request to a path without a route goes
// to the route of the path with From replaced by To, and needs the right that this route requires.
type Alias struct{ From, To string }

// Path returns path with From replaced by To, or "" if path does not begin with From.
func (a Alias) Path(path string) string {
	rest, ok := strings.CutPrefix(path, a.From)
	if !ok {
		return ""
	}
	return a.To + rest
}
