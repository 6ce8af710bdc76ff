// Package brief does at once what is brief, and what takes longer in turns with others.
package brief

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLate means that something which a request needs before it can be decided was not computed in
// time. Nothing was written.
var ErrLate = errors.New("no time left")

// briefly is how long a computation may take before it has to take turns with others. Most requests
// need far less.
const briefly = 5 * time.Millisecond

// Compute runs f, which computes something that a write needs before it can be decided. This takes
// the caller's time and not the ledger's: other requests to the ledger are decided meanwhile. When stop reports true,
// f must return an error; it may then be called a second time, from its beginning. The argument what
// names the computation in errors. A computation that is not brief is run by inTurns, if that is given.
func Compute(ctx context.Context, inTurns func(ctx context.Context, compute func(stop func() bool) error) error,
	what string, f func(stop func() bool) error) error {
	start, over := time.Now(), false
	err := f(func() bool {
		over = over || time.Since(start) > briefly
		return over
	})
	if !over {
		return err
	}
	over = false
	if inTurns != nil {
		err = inTurns(ctx, func(stop func() bool) error {
			stopped := false
			err := f(func() bool { stopped = stopped || stop(); return stopped })
			if err != nil && stopped {
				err = fmt.Errorf("%w: %s", ErrLate, what)
			}
			return err
		})
	} else {
		err = f(func() bool { over = over || ctx.Err() != nil; return over })
		if err != nil && over {
			err = ctx.Err()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %s", ErrLate, what)
	}
	return err
}

// Pauses returns two functions for the reading of a ledger: stop, which the reading calls now and then
// and which pauses a reading that takes long, and done, which is called at its end. stop reports whether
// closed does. The pauses are those of long, if it is given.
func Pauses(long func() (pause, done func()), closed func() bool) (stop func() bool, done func()) {
	began := time.Now()
	var pause, end func()
	stop = func() bool {
		if pause == nil && long != nil && time.Since(began) > briefly {
			pause, end = long()
		}
		if pause != nil {
			pause()
		}
		return closed()
	}
	return stop, func() {
		if end != nil {
			end()
		}
	}
}
