// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

// Wherever rotate-key was cut off in a directory, the doctor says that it was, and how it ends.
func TestDoctorFindsAnUnfinishedRotation(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string // the key in each file
		found []string          // "RESULT check: text", the text being of what was found or of the advice
	}{
		"nothing is under way": {map[string]string{"": "b", ".retired-1": "a"},
			[]string{"ok signing key: to which the store is bound"}},
		"the new key was made": {map[string]string{"": "b", ".new": "c"},
			[]string{"ok signing key: to which the store is bound", "warn rotate-key: has not finished"}},
		"the old key was moved": {map[string]string{".new": "c", ".retired-2": "b"},
			[]string{"fail signing key: no such file", "warn rotate-key: run accountantd rotate-key --data"}},
		"the new key is in its place": {map[string]string{"": "c", ".retired-1": "a", ".retired-2": "b"},
			[]string{"fail signing key: bind the store to this one by", "warn rotate-key: has not finished"}},
		"a key that was replaced is in its place": {map[string]string{"": "a"},
			[]string{"fail signing key: does not come back"}},
		"another key is in its place": {map[string]string{"": "c"},
			[]string{"fail signing key: bind the store to this one by"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, made := t.TempDir(), t.TempDir()
			key := func(letter string) (content []byte, f signing.Fingerprint) {
				file := filepath.Join(made, letter)
				if _, err := signing.Key(file); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(file)
				if err == nil {
					f, err = keyFingerprint(file)
				}
				if err != nil {
					t.Fatal(err)
				}
				return content, f
			}
			_, a := key("a")
			_, b := key("b")
			path := filepath.Join(dir, "signing.key")
			for suffix, letter := range c.files {
				content, _ := key(letter)
				if err := os.WriteFile(path+suffix, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found := keyFindings(dir, path, []rows.BoundKey{{Fingerprint: a}, {Fingerprint: b}})
			for i, f := range found {
				if i >= len(c.found) {
					t.Errorf("%+v besides", f)
					continue
				}
				begins, text, _ := strings.Cut(c.found[i], ": ")
				if f.Result+" "+f.Check != begins || !strings.Contains(f.Detail+"; "+f.Advice, text) ||
					(f.Advice == "") != (f.Result == foundOK) {
					t.Errorf("%+v; want %s", f, c.found[i])
				}
			}
			if len(found) < len(c.found) {
				t.Errorf("%+v; want %v", found, c.found)
			}
		})
	}
}
