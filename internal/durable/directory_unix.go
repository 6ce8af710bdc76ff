// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package durable

import "os"

// SyncDirectory makes the names in a directory durable.
func SyncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // it was only read
	return d.Sync()
}
