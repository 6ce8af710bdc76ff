// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Of two daemons that write to the same ledger, whoever comes second decides again, on what the first has written. The
// first knows what it wrote and is always ahead. So sets, and charges that came second, are decided in turn (see
// Shared.InTurn). Creations, which are not, find room because a daemon that has much to write makes some now and then.

const (
	// MaxAttempts bounds how often a batch is decided again after ErrConflict.
	MaxAttempts = 100
	// atOnce is how many attempts follow each other without a pause.
	atOnce = 4
	// longestPause bounds the random pause before an attempt, after which two daemons do not meet again.
	longestPause = 4 * time.Millisecond

	// RoomAfter is how many batches of a ledger a daemon writes before it makes room for others.
	RoomAfter = 8
	// leastRoom and mostRoom bound how long that takes, which otherwise is as long as a write.
	leastRoom, mostRoom = time.Millisecond, 20 * time.Millisecond
)

// tryAgain pauses before the attempt after a conflict, and returns an error after the last one.
func tryAgain(try int) error {
	if try == MaxAttempts {
		return fmt.Errorf("%w: other daemons were faster %d times in a row; allowed: the same request again, or "+
			"to send what concerns one ledger to one daemon", ledger.ErrUnavailable, try)
	}
	if try >= atOnce {
		time.Sleep(rand.N(longestPause))
	}
	return nil
}

// Until tries again, after a pause, for as long as another daemon was faster.
func Until(try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if !errors.Is(err, ledger.ErrConflict) {
			return err
		}
		if err := tryAgain(n); err != nil {
			return err
		}
	}
}

// UntilWritten has requests decided and written: anew after a conflict, as another daemon has written meanwhile,
// and in halves if they are too large together. try decides and writes some of them, and fail answers those that
// cannot be written.
func UntilWritten[R any](all []R, try func([]R) error, fail func([]R, error)) {
	err := Until(func() error { return try(all) })
	switch {
	case err == nil:
	case errors.Is(err, ledger.ErrTooLarge) && len(all) > 1:
		half := len(all) / 2
		UntilWritten(all[:half], try, fail)
		UntilWritten(all[half:], try, fail)
	default:
		fail(all, err)
	}
}

// Room is how long a daemon makes room whose last write took so long.
func Room(took time.Duration) time.Duration { return min(max(took, leastRoom), mostRoom) }
