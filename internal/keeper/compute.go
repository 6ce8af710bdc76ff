// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// briefly is how long a computation may take before it has to take turns with others. Most requests
// need far less.
const briefly = 5 * time.Millisecond

// compute runs f, which computes something that a write needs before it can be decided. This takes
// the caller's time and not the ledger's: other requests to the ledger are decided meanwhile. When stop reports true,
// f must return an error; it may then be called a second time, from its beginning. The argument what
// names the computation in errors. A computation that is not brief is run by Config.Compute, if that is given.
func (k *Keeper) compute(ctx context.Context, what string, f func(stop func() bool) error) error {
	start, over := time.Now(), false
	err := f(func() bool {
		over = over || time.Since(start) > briefly
		return over
	})
	if !over {
		return err
	}
	over = false
	if inTurns := k.config.Compute; inTurns != nil {
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

// resolve computes what the budgets of a spec allow (see ledger.Resolve).
func (k *Keeper) resolve(ctx context.Context, s interface {
	Resolve(stop func() bool) (ledger.Resolution, error)
}) (r ledger.Resolution, err error) {
	var found ledger.Resolution
	err = k.compute(ctx, "what the budgets and the described run or plan come to was not found; allowed: a longer "+
		"call, or fewer or simpler mechanisms", func(stop func() bool) (err error) {
		found, err = s.Resolve(stop)
		return err
	})
	if err == nil {
		r = found
	}
	return r, err
}

// find computes the costs that p lists and returns p. If p is nil, there is nothing to compute.
func (k *Keeper) find(ctx context.Context, p *budget.Prices) (*budget.Prices, error) {
	if p == nil {
		return nil, nil
	}
	err := k.compute(ctx, "the costs of all mechanisms that are new in this ledger were not found; allowed: the same "+
		"request again, which goes on from here, in a longer call, or fewer mechanisms in each "+
		"request", func(stop func() bool) error {
		if !p.Find(stop) {
			return ErrLate
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// pauses returns two functions for the reading of a ledger: stop, which the reading calls now and then
// and which pauses a reading that takes long, and done, which is called at its end. stop reports whether
// closed does. The pauses are those of long, if it is given.
func pauses(long func() (pause, done func()), closed func() bool) (stop func() bool, done func()) {
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
