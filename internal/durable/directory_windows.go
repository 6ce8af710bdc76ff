// SPDX-License-Identifier: Apache-2.0

package durable

// SyncDirectory does nothing. NTFS keeps names in a log of its own, and a directory cannot be
// opened for syncing.
func SyncDirectory(string) error { return nil }
