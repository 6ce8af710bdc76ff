// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// seal returns a value after its checksum.
func seal(b rows.Bucket, key, value []byte) []byte {
	return rows.Seal(b, key, append(make([]byte, rows.ChecksumSize, rows.ChecksumSize+len(value)), value...))
}

func sealMeta(name string, value []byte) []byte { return seal(rows.MetaBucket, []byte(name), value) }

func unsealMeta(name string, stored []byte) ([]byte, error) {
	return rows.Unseal(rows.MetaBucket, []byte(name), stored)
}
