// Package lazyregexp holds regular expressions in package variables without compiling them when the program starts.
//
// Parley has some four hundred of them. Compiling all of them takes 13 to 18 ms and 15 MB, which the server and each child
// process that reads files would pay for.
//
//nolint:revive // package regexp documents the methods
package lazyregexp

import (
	"regexp"
	"sync"
	"testing"
)

// Regexp is a regular expression that is compiled at its first use. Its methods are those of [regexp.Regexp].
type Regexp struct {
	expr     string
	compiled func() *regexp.Regexp
}

// New returns an expression that is compiled when it is first used, and panics then if it is not valid. Tests compile
// it at once, so that no invalid one leaves them.
func New(expr string) *Regexp {
	r := &Regexp{expr, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if testing.Testing() {
		r.compiled()
	}
	return r
}

func (r *Regexp) String() string { return r.expr }

func (r *Regexp) Match(b []byte) bool {
	return r.compiled().Match(b)
}

func (r *Regexp) MatchString(s string) bool {
	return r.compiled().MatchString(s)
}

func (r *Regexp) Find(b []byte) []byte {
	return r.compiled().Find(b)
}

func (r *Regexp) FindString(s string) string {
	return r.compiled().FindString(s)
}

func (r *Regexp) FindStringIndex(s string) []int {
	return r.compiled().FindStringIndex(s)
}

func (r *Regexp) FindSubmatch(b []byte) [][]byte {
	return r.compiled().FindSubmatch(b)
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	return r.compiled().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindAllIndex(b []byte, n int) [][]int {
	return r.compiled().FindAllIndex(b, n)
}

func (r *Regexp) FindAllString(s string, n int) []string {
	return r.compiled().FindAllString(s, n)
}

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

func (r *Regexp) FindAllSubmatchIndex(b []byte, n int) [][]int {
	return r.compiled().FindAllSubmatchIndex(b, n)
}

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAll(b, repl []byte) []byte {
	return r.compiled().ReplaceAll(b, repl)
}

func (r *Regexp) ReplaceAllString(s, repl string) string {
	return r.compiled().ReplaceAllString(s, repl)
}

func (r *Regexp) ReplaceAllStringFunc(s string, repl func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, repl)
}

func (r *Regexp) Split(s string, n int) []string {
	return r.compiled().Split(s, n)
}
