// SPDX-License-Identifier: Apache-2.0

package storetest

import "testing"

// testNotes: what is noted of a store is there after it was opened anew, the newest under each name.
func testNotes(t *testing.T, h Harness) {
	type noting interface {
		Note(name string, text []byte) error
		Noted(name string) ([]byte, error)
	}
	s := h.Open(t)
	defer func() { // for the newest one, also where the test ends early
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, ok := s.(noting); !ok && h.WithoutModel {
		t.Skip("this harness wraps the store; another one runs it as it is")
	}
	wants := func(name, want string) {
		t.Helper()
		got, err := s.(noting).Noted(name)
		if err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	wants("backup", "")
	for _, n := range [][2]string{{"backup", "a long first note"}, {"verification", "v"}, {"backup", "second"}} {
		if err := s.(noting).Note(n[0], []byte(n[1])); err != nil {
			t.Fatal(err)
		}
		wants(n[0], n[1])
	}
	s = h.Reopen(t, s)
	wants("backup", "second")
	wants("verification", "v")
	wants("others", "")
}
