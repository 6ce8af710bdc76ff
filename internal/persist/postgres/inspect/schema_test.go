// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"testing"
)

// Each version has a script, and Newest is that of the last one.
func TestNewest(t *testing.T) {
	if n := NewestVersion(); n != 1 {
		t.Errorf("the newest version is %d; want 1: a new script changes this number", n)
	}
}

// Where there is no table of versions there are no tables.
func TestStored(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		there   bool
		err     error
		version int64
	}{{false, nil, 0}, {true, nil, 7}, {true, broken, 0}} {
		got, err := StoredVersion(func(_ string, to any) error {
			switch to := to.(type) {
			case *bool:
				*to = c.there
			case *int64:
				*to = c.version
				return c.err
			}
			return nil
		})
		if got != c.version || !errors.Is(err, c.err) {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}
