// Package accesstest has what tests of missing rights share.
package accesstest
