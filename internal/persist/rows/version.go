// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// FormatKey is the row of the meta bucket with the version of the format.
var FormatKey = []byte("format")

// Format is the value of that row for the format of this package.
func Format() []byte { return binary.BigEndian.AppendUint32(nil, formatVersion) }

// CheckFormat checks that this program knows the file's format, and returns the store's identifier.
func (v *View) CheckFormat() (store string, err error) {
	if v.Tx.Bucket([]byte(MetaBucket.String())) == nil {
		return "", errors.New("a bbolt file, but not of this program: it has no bucket meta")
	}
	version, err := Must(v, MetaBucket, FormatKey, func(b []byte) (uint32, error) {
		if len(b) != 4 {
			return 0, fmt.Errorf("%d bytes; want 4", len(b))
		}
		return binary.BigEndian.Uint32(b), nil
	})
	if err != nil {
		return "", err
	}
	if version != formatVersion {
		return "", fmt.Errorf("format version %d, of another version of this program; this one supports %d: use the "+
			"one that wrote the file", version, formatVersion)
	}
	if err := v.checkMarks(); err != nil {
		return "", err
	}
	store, err = Must(v, MetaBucket, []byte("store"), func(b []byte) (string, error) {
		_, err := uuid.ParseBytes(b)
		return string(b), err
	})
	if err != nil {
		return "", err
	}
	for b := range Buckets {
		if _, err := v.Bucket(b); err != nil {
			return "", err
		}
	}
	return store, nil
}
