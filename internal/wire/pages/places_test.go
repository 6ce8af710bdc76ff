// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"strings"
	"testing"
)

// A place is found by the keeper that hid it, in its list, and by nobody else.
func TestOnlyItsKeeperFindsAPlace(t *testing.T) {
	t.Parallel()
	k := NewPlaces(nil)
	for _, name := range []string{"a", "hidden/1", strings.Repeat("n", 255)} {
		place := k.Hide("ledgers of p/", name)
		if got, ok := k.Find("ledgers of p/", place); !ok || got != name {
			t.Errorf("found %q, %v; want %q", got, ok, name)
		}
		changed := []byte(place)
		changed[len(changed)/2] ^= 1
		for what, found := range map[string]func() (string, bool){
			"another list":      func() (string, bool) { return k.Find("ledgers of q/", place) },
			"another keeper":    func() (string, bool) { return NewPlaces(nil).Find("ledgers of p/", place) },
			"a changed place":   func() (string, bool) { return k.Find("ledgers of p/", string(changed)) },
			"a cut place":       func() (string, bool) { return k.Find("ledgers of p/", place[:20]) },
			"no place":          func() (string, bool) { return k.Find("ledgers of p/", "") },
			"the name in plain": func() (string, bool) { return k.Find("ledgers of p/", name) },
		} {
			if got, ok := found(); ok {
				t.Errorf("%s: found %q", what, got)
			}
		}
	}
}

// The next page may come from another daemon, which has the same secret; without it nothing is found.
func TestPlacesOfOtherDaemons(t *testing.T) {
	t.Parallel()
	place := NewPlaces([]byte("secret")).Hide("l", "a")
	if name, ok := NewPlaces([]byte("secret")).Find("l", place); !ok || name != "a" {
		t.Errorf("found %q, %v", name, ok)
	}
	if name, ok := NewPlaces([]byte("another")).Find("l", place); ok {
		t.Errorf("found %q with another secret", name)
	}
}

// Places tell nothing: neither the name nor its length, nor whether two are the same.
func TestPlacesTellNothing(t *testing.T) {
	t.Parallel()
	k := NewPlaces(nil)
	short, long := k.Hide("l", "a"), k.Hide("l", strings.Repeat("secret/", 30))
	if len(short) != len(long) {
		t.Errorf("%d and %d bytes; want as many", len(short), len(long))
	}
	if strings.Contains(long, "secret") {
		t.Errorf("%q contains the name", long)
	}
	if short == k.Hide("l", "a") {
		t.Error("the same name twice is the same place")
	}
}
