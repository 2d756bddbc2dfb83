// Package accesstest helps to test a lack of file permissions.
package accesstest
