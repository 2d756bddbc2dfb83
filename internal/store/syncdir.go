//go:build !windows

package store

import (
	"errors"
	"os"
)

// syncDir makes the names in a folder durable: a synced file whose name is lost is lost.
func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
