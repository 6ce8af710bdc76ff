// Package rivals has the pauses of daemons that write to the same ledger.
//
// Whoever comes second decides again, on what the first has written. The first knows what it wrote and is always
// ahead, so a daemon that has much to write makes room now and then.
package rivals

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

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

// TryAgain pauses before the attempt after a conflict, and returns an error after the last one.
func TryAgain(try int) error {
	if try == MaxAttempts {
		return fmt.Errorf("%w: other daemons were faster %d times in a row; allowed: the same request again, or "+
			"to send what concerns one ledger to one daemon", ledger.ErrUnavailable, try)
	}
	if try >= atOnce {
		time.Sleep(rand.N(longestPause))
	}
	return nil
}

// Room is how long a daemon makes room whose last write took so long.
func Room(took time.Duration) time.Duration { return min(max(took, leastRoom), mostRoom) }
