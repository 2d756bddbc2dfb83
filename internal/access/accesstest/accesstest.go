// Package accesstest helps to test behaviour without file permissions.
package accesstest
