// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is no file with a policy holds nothing up, takes no memory, and leaves the policy before in force.
func TestOddPolicyFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(file string) error
		says string
	}{
		"a pipe":   {func(file string) error { return syscall.Mkfifo(file, 0o600) }, "a regular file"},
		"a device": {func(file string) error { return os.Symlink("/dev/zero", file) }, "a regular file"},
		"a folder": {func(file string) error { return os.Mkdir(file, 0o700) }, "a regular file"},
		"a link to nothing": {func(file string) error { return os.Symlink(file+"-none", file) },
			"there is no such file"},
		"a link to a policy that everybody may write": {func(file string) error {
			if err := os.WriteFile(file+"-open", []byte(policyOfA), 0o600); err != nil {
				return err
			}
			if err := os.Chmod(file+"-open", 0o666); err != nil { // against the umask
				return err
			}
			return os.Symlink(file+"-open", file)
		}, "everybody on this machine can change it"},
		"1 GiB": {func(file string) error {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(file, 1<<30)
		}, "at most 262144 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, file := reloading(t)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := c.make(file); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ended := make(chan struct{})
			go func() { defer close(ended); g.Reload(true) }()
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				t.Fatal("reading it takes without end")
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
				t.Errorf("reading it takes %d bytes", n)
			}
			if !strings.Contains(g.Problem(), c.says) || !g.lets("uid:1000", "team/a/x") {
				t.Errorf("problem %q; want %q, and the policy before", g.Problem(), c.says)
			}
		})
	}
}
