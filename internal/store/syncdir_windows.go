package store

import "os"

// syncDir does nothing: Windows cannot sync a folder, and NTFS journals names by itself.
func syncDir(*os.Root, string) error { return nil }
