// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// as is r, sent by another principal.
func as(principal string, r ledger.Request) ledger.Request {
	r.Writer.Principal = principal
	return r
}

// The same charge under the same name by two principals is charged once: over another
// listener one caller is somebody else. What differs is charged, and a lane that has
// begun goes on whatever others do.
func TestTaken(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: s})
	mine, theirs := charge("request/nightly", 1, 5), as("uid:7", charge("request/nightly", 1, 5))
	first := do(t, k, mine)
	_, err := k.Do(t.Context(), "a", theirs)
	wantErr(t, err, ledger.ErrTaken)
	for _, want := range []string{"request ID: nightly", "entry 1 by unverified:anonymous", "you are uid:7"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	check := theirs
	check.CheckOnly = true
	refuses(t, k, check, ledger.ErrTaken)
	if again := do(t, k, mine); again != (Result{first.Receipt, true}) {
		t.Errorf("its owner gets %+v", again)
	}
	if do(t, k, as("uid:7", charge("request/nightly", 1, 6))).Replayed {
		t.Error("other content was answered with the receipt of somebody else")
	}
	refuses(t, k, theirs, ledger.ErrReused) // now it is their own
	if do(t, k, as("unverified:bob", mine)).Replayed {
		t.Error("another caller on the same listener was answered with a receipt of somebody else")
	}

	// Somebody who has read the name of a lane cannot hold it up.
	do(t, k, charge("w", 1, 1))
	refuses(t, k, as("uid:7", charge("w", 1, 1)), ledger.ErrTaken)
	do(t, k, as("uid:7", charge("w", 1, 2)))
	do(t, k, as("uid:7", charge("w", 2, 3)))
	do(t, k, charge("w", 2, 3))
	checkLedger(t, k, s, "a")
}

// Of those that come at once, one is charged.
func TestTakenAtOnce(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: s})
	release := hold(s, "a", func(int) fault { return fault{} })
	var all sync.WaitGroup
	errs := make(chan error, 20)
	for _, principal := range []string{"uid:1", "cn:1", "unverified:1", "a:1", "b:1"} {
		for _, name := range []string{"request/1", "request/2", "w", "v"} {
			all.Go(func() {
				_, err := k.Do(t.Context(), "a", as(principal, charge(name, 1, 5)))
				errs <- err
			})
		}
	}
	release()
	all.Wait()
	close(errs)
	written := 0
	for err := range errs {
		if err == nil {
			written++
		} else if !errors.Is(err, ledger.ErrTaken) {
			t.Error(err)
		}
	}
	if written != 4 || len(s.ledgers["a"].records) != 4 {
		t.Errorf("%d charges were taken, %d written; want one of each of 4 names", written, len(s.ledgers["a"].records))
	}
	checkLedger(t, k, s, "a")
}
