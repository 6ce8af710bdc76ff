package keeper

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Several daemons may write to one ledger. Whoever comes second decides again, on what the first has written.
// The first knows what it wrote and is always ahead, so a daemon that has much to write makes room now and then.

const (
	// maxAttempts bounds how often a batch is decided again after ErrConflict.
	maxAttempts = 100
	// atOnce is how many attempts follow each other without a pause.
	atOnce = 4
	// longestPause bounds the random pause before an attempt, after which two daemons do not meet again.
	longestPause = 4 * time.Millisecond

	// roomAfter is how many batches of a ledger a daemon writes before it makes room for others.
	roomAfter = 8
	// leastRoom and mostRoom bound how long that takes, which otherwise is as long as a write.
	leastRoom, mostRoom = time.Millisecond, 20 * time.Millisecond
)

// tryAgain pauses before the attempt after a conflict, and returns an error after the last one.
func tryAgain(try int) error {
	if try == maxAttempts {
		return fmt.Errorf("%w: other daemons were faster %d times in a row; allowed: the same request again, or "+
			"to send what concerns one ledger to one daemon", ledger.ErrUnavailable, try)
	}
	if try >= atOnce {
		time.Sleep(rand.N(longestPause))
	}
	return nil
}

// leaveRoom makes room for other daemons where this one writes one batch after the other.
func (q *queue) leaveRoom() {
	if q.k.heads == nil {
		return
	}
	q.mu.Lock()
	more := len(q.batches) > 0
	q.mu.Unlock()
	if q.inRow++; !more {
		q.inRow = 0
	}
	if q.inRow >= roomAfter {
		q.inRow = 0
		time.Sleep(min(max(q.took, leastRoom), mostRoom))
	}
}
