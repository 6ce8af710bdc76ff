// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

// boundKeys are the fingerprints of the keys that a store was bound to, in hexadecimal.
func boundKeys(t *testing.T, dir string) (found []string) {
	t.Helper()
	store, err := persist.Open(persist.Config{Path: filepath.Join(dir, persist.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	keys, err := store.Keys()
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		if i > 0 && k.Since.Before(keys[i-1].Since) {
			t.Errorf("key %d since %v, before the one before", i, k.Since)
		}
		found = append(found, fmt.Sprintf("%x", k.Fingerprint))
	}
	return found
}

// A store is bound to its key: another one, or none, is refused until a command replaces
// it. Wherever that is cut off, it can be run again.
func TestBoundKey(t *testing.T) {
	dir := dataDir(t)
	path, other := filepath.Join(dir, keyFile), filepath.Join(t.TempDir(), "other.key")
	if _, err := signing.Key(other); err != nil {
		t.Fatal(err)
	}
	content := func(path string) string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	put := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(says string) {
		t.Helper()
		code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dir)
		if code == 0 || !strings.Contains(stderr, says) || !strings.Contains(stderr, "accountantd rotate-key") {
			t.Errorf("%d, %s; want %q", code, stderr, says)
		}
	}
	ctl := accountctl(t)
	const foundKey = ", to which the store is bound"
	doctor := func(says string, ok bool) { // without a daemon it says that none answers, too
		t.Helper()
		code, out := ctl("doctor", "--data", dir, "--server", "unix:"+filepath.Join(dir, socketFile))
		line := ""
		for _, l := range strings.Split(out, "\n") {
			if strings.Contains(l, " signing key ") {
				line = l
			}
		}
		if code != 4 || !strings.Contains(line, says) || strings.HasPrefix(line, "ok") != ok {
			t.Errorf("doctor: %d, %s; want %q", code, out, says)
		}
	}
	rotate := func() {
		t.Helper()
		code, out, stderr := exitCode(t, "rotate-key", "--data", dir)
		keys := boundKeys(t, dir)
		if code != 0 || !strings.Contains(out, fmt.Sprintf("%s instead of %s", keys[len(keys)-1], keys[len(keys)-2])) {
			t.Fatalf("%d, %s%s; keys %v", code, out, stderr, keys)
		}
		start(t, dir).stop(syscall.SIGTERM)
	}
	d := start(t, dir)
	if code, _, stderr := exitCode(t, "rotate-key", "--data", dir); code != 1 ||
		!strings.Contains(stderr, "another process has it open") {
		t.Errorf("beside a daemon: %d, %s", code, stderr)
	}
	d.stop(syscall.SIGTERM)
	first := content(path)
	start(t, dir).stop(syscall.SIGTERM)
	key, err := signing.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := signing.FingerprintOf(key)
	if keys := boundKeys(t, dir); err != nil || len(keys) != 1 || keys[0] != fmt.Sprintf("%x", f) {
		t.Fatalf("bound to %v, %v; want %x once", keys, err, f)
	}

	// Missing: refused, and no other is made.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused("is missing")
	if _, err := os.Stat(path); err == nil {
		t.Error("another key was made")
	}
	put(first)
	start(t, dir).stop(syscall.SIGTERM)

	// Another one: refused, until it is meant to take its place.
	doctor(foundKey, true)
	put(content(other))
	refused("heads of this store are signed with")
	doctor("accountantd rotate-key --data "+dir, false)
	rotate()
	doctor(foundKey, true)
	put(first)
	refused("heads of this store are signed with")
	doctor("does not come back", false)

	// One that was replaced does not come back, by whichever way, and nothing is changed by trying.
	bound := boundKeys(t, dir)
	if code, _, stderr := exitCode(t, "rotate-key", "--data", dir); code != 1 ||
		!strings.Contains(stderr, "before it was replaced") {
		t.Errorf("rotate-key to a key that was replaced: %d, %s", code, stderr)
	}
	put(content(other))
	if err := os.WriteFile(path+".new", []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	doctor(foundKey, true)
	if code, _, stderr := exitCode(t, "rotate-key", "--data", dir); code != 1 ||
		!strings.Contains(stderr, path+".new") {
		t.Errorf("rotate-key to a key that was replaced, left as new: %d, %s", code, stderr)
	}
	if err := os.Remove(path + ".new"); err != nil {
		t.Fatal(err)
	}
	if after := boundKeys(t, dir); !slices.Equal(after, bound) || content(path) != content(other) {
		t.Errorf("bound to %v; want %v as before", after, bound)
	}

	// The one that is there is replaced; it stays under another name.
	rotate()
	retired, err := filepath.Glob(path + ".retired-*")
	if err != nil || len(retired) != 1 || content(retired[0]) != content(other) || content(path) == content(other) {
		t.Errorf("retired: %v, %v", retired, err)
	}

	// Missing, and what no key is: a new one is made.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	rotate()
	put("no key")
	refused("no single PEM block")
	rotate()
	keys := boundKeys(t, dir)
	if len(keys) != 5 {
		t.Errorf("bound to %v; want five", keys)
	}
	code, out := ctl("verify", "--data", dir)
	_, verbose := ctl("verify", "--data", dir, "--output", "json")
	for _, k := range keys {
		if code != 0 || !strings.Contains(out, " with the key "+k) {
			t.Errorf("verify: %d, %s; want %s", code, out, k)
		}
	}
	if strings.Count(verbose, `"fingerprint"`) != 5 {
		t.Errorf("verify: %s", verbose)
	}
	if code, _, stderr := exitCode(t, "rotate-key", "--data", t.TempDir()); code != 1 ||
		!strings.Contains(stderr, "allowed: a directory with ledgers") {
		t.Errorf("no store: %d, %s", code, stderr)
	}
}

// What help says prints a fingerprint: of the public key in DER.
func TestFingerprint(t *testing.T) {
	// RFC 8410, section 10.3, a private key, and 10.1, its public key.
	private := "-----BEGIN PRIVATE KEY-----\n" +
		"MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n"
	public, _ := pem.Decode([]byte("-----BEGIN PUBLIC KEY-----\n" +
		"MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n"))
	path := filepath.Join(t.TempDir(), "k")
	if err := os.WriteFile(path, []byte(private), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := signing.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := signing.FingerprintOf(key); err != nil || f != sha256.Sum256(public.Bytes) {
		t.Errorf("%x, %v; want %x", f, err, sha256.Sum256(public.Bytes))
	}
}

// A daemon does not start on a backup. A restored store takes the old key or makes one,
// and is bound to it; a directory that was moved starts as it was.
func TestBackupIsNoStore(t *testing.T) {
	ctl := accountctl(t)
	dir, files := dataDir(t), t.TempDir()
	d := start(t, dir)
	socket := "unix:" + d.ready["socket"]
	create(t, dial(t, socket), "l")
	backup := filepath.Join(files, "backup")
	if code, out := ctl("backup", backup, "--server", socket); code != 0 {
		t.Fatalf("%d, %s", code, out)
	}
	d.stop(syscall.SIGTERM)
	if code, out := ctl("verify", "--backup", backup); code != 0 {
		t.Errorf("verify: %d, %s", code, out)
	}
	for name, in := range map[string]string{"a new directory": dataDir(t), "the old one": dir} {
		file := filepath.Join(in, persist.FileName)
		if in == dir {
			if err := os.Rename(file, file+"-away"); err != nil {
				t.Fatal(err)
			}
		}
		rollBack(t, backup, file)
		code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", in)
		if code != 1 || !strings.Contains(stderr, "it is a backup, made ") ||
			!strings.Contains(stderr, "accountantd restore "+file+" --data NEWDIR") {
			t.Errorf("in %s: %d, %s", name, code, stderr)
		}
		if in == dir {
			if err := os.Rename(file+"-away", file); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, old := range map[string]bool{"the old key": true, "no key": false} {
		restored := filepath.Join(dataDir(t), "r")
		if code, _, stderr := exitCode(t, "restore", backup, "--data", restored); code != 0 {
			t.Fatalf("%d, %s", code, stderr)
		}
		if old {
			rollBack(t, filepath.Join(dir, keyFile), filepath.Join(restored, keyFile))
		}
		start(t, restored).stop(syscall.SIGTERM)
		keys := boundKeys(t, restored)
		if len(keys) != 3 || (keys[2] == keys[0]) != old || strings.Trim(keys[1], "0") != "" {
			t.Errorf("%s: bound to %v", name, keys)
		}
		if err := os.Remove(filepath.Join(restored, keyFile)); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", restored); code != 1 ||
			!strings.Contains(stderr, "is missing") {
			t.Errorf("%s, then without: %d, %s", name, code, stderr)
		}
	}
	moved := filepath.Join(dataDir(t), "m")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if again := start(t, moved); again.ready["store"] != d.ready["store"] {
		t.Errorf("store %s; want %s", again.ready["store"], d.ready["store"])
	} else {
		again.stop(syscall.SIGTERM)
	}
}
