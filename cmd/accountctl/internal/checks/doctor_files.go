// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

// What is free on the data's disk: the store grows by 16 MiB at a time, and below
// that takes no charges.
const (
	diskFail = 32 << 20
	diskWarn = 1 << 30
)

func diskFinding(data string) (finding, bool) {
	free, err := freeBytes(data)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{}, false
	case err != nil:
		return finding{"disk", foundFail, fmt.Sprintf("%s: %v", data, err), "give the data directory with --data"}, true
	}
	f := finding{"disk", foundOK, byteText(free) + " free for " + data, ""}
	switch {
	case free < diskFail:
		f.Result, f.Advice = foundFail, "make room: new charges are refused, questions are answered"
	case free < diskWarn:
		f.Result, f.Advice = foundWarn, "make room: when it is full new charges are refused"
	}
	return f, true
}

// permissionFindings looks at the data directory and what lies in it: others must be
// able neither to change the ledgers nor to read the signing key, nor to use the own
// socket, over which refunds and raises go.
func permissionFindings(data string) []finding {
	if runtime.GOOS == "windows" {
		return nil
	}
	var found []finding
	for _, f := range []struct {
		name string
		is   fs.FileMode // its type
		bad  fs.FileMode // permissions that make it fail
		must bool
	}{
		{".", fs.ModeDir, 0o022, true},
		{persist.FileName, 0, 0o022, true},
		{"signing.key", 0, 0o077, false},
		{"accountant.sock", fs.ModeSocket, 0o077, false},
	} {
		path := filepath.Join(data, f.name)
		check := "permissions " + filepath.Base(path)
		info, err := os.Lstat(path)
		if f.name == "." {
			check = "permissions"
			info, err = os.Stat(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && !f.must:
			found = append(found,
				finding{check, foundWarn, path + " is not there", "start accountantd with this data directory"})
			continue
		case err != nil:
			found = append(found,
				finding{check, foundFail, err.Error(),
					"run this as the daemon's user, or give its data directory with --data"})
			continue
		}
		mode := info.Mode()
		result := finding{check, foundOK, fmt.Sprintf("%s is %v", path, mode), ""}
		switch {
		case mode.Type() != f.is:
			result.Result, result.Advice = foundFail, "move it away: something else than accountantd made it"
		case mode.Perm()&f.bad != 0:
			result.Result, result.Advice = foundFail,
				fmt.Sprintf("chmod go-rwx %s: others can read or change what only the daemon may", path)
		case mode.Perm()&0o077 != 0:
			result.Result, result.Advice = foundWarn, fmt.Sprintf("chmod go-rwx %s: others can read it", path)
		}
		found = append(found, result)
	}
	return found
}

// storeFindings says whether a daemon would start on a data directory. One that runs there
// has found so.
func storeFindings(data string) []finding {
	file, key := filepath.Join(data, persist.FileName), filepath.Join(data, "signing.key")
	keys, err := persist.Examine(persist.Config{Path: file, Traces: []string{"signing.key", "accountant.sock"}})
	switch {
	case errors.Is(err, persist.ErrInUse):
		return []finding{{"store", foundOK, file + " is in use by a daemon, which has examined it", ""}}
	case err != nil:
		return []finding{{"store", foundFail, cli.Clean(err.Error()),
			"accountantd would not start with this data directory"}}
	}
	found := []finding{{"store", foundOK, file + " lacks nothing that was acknowledged", ""}}
	if _, err := os.Stat(file); err != nil {
		found[0] = finding{"store", foundWarn, file + " is not there", "a new one is made at the next start"}
	}
	if info, err := os.Stat(file); err == nil && info.Size() > 0 {
		found = append(found, coldFindings(file)...)
	}
	if len(keys) == 0 {
		return found
	}
	want := keys[len(keys)-1].Fingerprint
	if want == (signing.Fingerprint{}) {
		return append(found, finding{"signing key", foundOK,
			"the restored store is bound to the key of its first start", ""})
	}
	return append(found, keyFindings(data, key, keys)...)
}

// coldFindings says whether all old entries are where a daemon would look for them, on its machine.
func coldFindings(file string) []finding {
	const check = "old entries"
	r, segments, err := persist.Outside(file)
	switch {
	case err != nil:
		return []finding{{check, foundFail, cli.Clean(err.Error()), "run accountctl verify --data"}}
	case r.Dir == "":
		return nil
	}
	what := fmt.Sprintf("%d segments with old entries in %s", len(segments), r.Dir)
	if err := r.Key.Has(r.Sealed); err != nil {
		detail, advice, _ := strings.Cut(err.Error(), "; ")
		return []finding{{check, foundFail, cli.Clean(detail), cmp.Or(advice, "put the key back")}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	missing, err := r.Missing(ctx, segments)
	switch {
	case err != nil:
		return []finding{{check, foundFail, cli.Clean(fmt.Sprintf("%s cannot be reached: %v", what, err)),
			"make that place answer, or give accountantd --cold where they are now"}}
	case len(missing) > 0:
		return []finding{{check, foundFail,
			fmt.Sprintf("%d of %s are missing, such as %s", len(missing), what, missing[0]),
			"put them back, from a copy of that place; whoever asks for these entries gets UNAVAILABLE"}}
	}
	return []finding{{check, foundOK, what + " are there", ""}}
}

// keyFindings compares the signing key's file with the key that a store is bound to, and says whether a rotate-key was
// begun and not finished. Wherever it is cut off, it is finished by running it again.
func keyFindings(data, path string, keys []rows.BoundKey) []finding {
	want := keys[len(keys)-1].Fingerprint
	rotate := "accountantd rotate-key --data " + data
	got, err := keyFingerprint(path)
	if err == nil && got == want {
		found := []finding{{"signing key", foundOK,
			fmt.Sprintf("%s is the key %x, to which the store is bound", path, got), ""}}
		if _, err := os.Stat(path + ".new"); err == nil {
			found = append(found, finding{"rotate-key", foundWarn, path + ".new is there: a rotate-key was begun and " +
				"has not finished; daemons start with the key from before",
				fmt.Sprintf("run %s again, or remove %s.new to keep the key from before", rotate, path)})
		}
		return found
	}
	detail := fmt.Sprintf("%s is the key %x, the store is bound to %x", path, got, want)
	if err != nil {
		detail = err.Error()
	}
	fail := finding{"signing key", foundFail, detail, "put that one back, or bind the store to this one by " + rotate}
	retired := retiredKey(path, want)
	switch {
	case err == nil && rows.Replaced(keys, got):
		fail.Advice = "put that one back, or move " + path + ", which was replaced and does not come back, away and " +
			"make a new key by " + rotate
	case err != nil:
		fail.Advice = "put it back, or replace it by " + rotate
	}
	if retired == "" {
		return []finding{fail}
	}
	return []finding{fail, {"rotate-key", foundWarn, fmt.Sprintf("%s is the key to which the store is bound: a "+
		"rotate-key was begun and has not finished, and a daemon does not start until then", retired),
		"run " + rotate + " again"}}
}

// retiredKey is the file that a rotate-key has made of the signing key with a fingerprint; empty if there is none.
func retiredKey(path string, fingerprint signing.Fingerprint) string {
	retired, _ := filepath.Glob(path + ".retired-*") // the pattern is right, or the path has a bracket: then none
	for _, file := range retired {
		if got, err := keyFingerprint(file); err == nil && got == fingerprint {
			return file
		}
	}
	return ""
}

// keyFingerprint is that of the key in a file.
func keyFingerprint(path string) (signing.Fingerprint, error) {
	key, err := signing.ReadKey(path)
	if err != nil {
		return signing.Fingerprint{}, err
	}
	return signing.FingerprintOf(key)
}
