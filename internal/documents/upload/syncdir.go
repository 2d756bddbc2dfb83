//go:build !windows

package upload

import "os"

// syncDir makes renames in a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() // nothing was written through it
	return d.Sync()
}
