package persist

// syncDirectory does nothing. NTFS keeps names in a log of its own, and a directory cannot be
// opened for syncing.
func syncDirectory(string) error { return nil }
