// SPDX-License-Identifier: Apache-2.0

// Package fairuse bounds how much of the daemon one caller takes: calls a second, with the charges in
// streams among them, and time for which its questions are computed. Whoever proves who they are has an
// account of their own. All others share one, as they could give themselves as many names as they like.
//
// It is a package of its own because it knows neither ledgers nor messages.
package fairuse

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// maxAccounts bounds how many principals are remembered, with some 300 bytes for each. Who is forgotten
// begins anew with all that the limits allow at once.
const maxAccounts = 10_000

// Limits are what one principal may take. Zero: no limit.
type Limits struct {
	// Calls is how many calls, and charges in streams, there may be a second in the long run. As many
	// may come at once.
	Calls float64
	// Computing is the time for which questions may be computed within a minute, over all processors.
	Computing time.Duration
}

// Table has the accounts of all principals. A nil *Table limits nobody.
type Table struct {
	limits  Limits
	refused func(limit string)
	others  *Account // of callers who prove nothing

	mu       sync.Mutex
	accounts *simplelru.LRU[string, *Account]
}

// New returns a table, nil if there are no limits. refused is called with "calls" or "computing" for each
// call that is refused, and with "stream" for each time that a stream has to wait.
func New(l Limits, refused func(limit string)) *Table {
	if l.Calls == 0 && l.Computing == 0 {
		return nil
	}
	t := &Table{limits: l, refused: refused}
	t.others = t.newAccount()
	accounts, err := simplelru.NewLRU[string, *Account](maxAccounts, nil)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	t.accounts = accounts
	return t
}

// Of returns a caller's account, nil without limits.
func (t *Table) Of(principal string, proven bool) *Account {
	switch {
	case t == nil:
		return nil
	case !proven:
		return t.others
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.accounts.Get(principal)
	if !ok {
		a = t.newAccount()
		t.accounts.Add(principal, a)
	}
	return a
}

// Account is what a principal has left. A nil *Account has no limits. It is safe for concurrent use.
type Account struct {
	table     *Table
	calls     *rate.Limiter // nil: no limit
	computing *rate.Limiter // of milliseconds; nil: no limit
}

func (t *Table) newAccount() *Account {
	a := &Account{table: t}
	if t.limits.Calls > 0 {
		a.calls = rate.NewLimiter(rate.Limit(t.limits.Calls), max(1, int(math.Ceil(t.limits.Calls))))
	}
	if ms := t.limits.Computing.Milliseconds(); ms > 0 {
		a.computing = rate.NewLimiter(rate.Limit(float64(ms)/60), int(ms))
	}
	return a
}

// Call counts a call, or refuses it with a time to come back.
func (a *Account) Call() error {
	if a == nil || a.calls == nil {
		return nil
	}
	now := time.Now()
	r := a.calls.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	a.table.refused("calls")
	return limited{wait, fmt.Sprintf("you make more than %v calls and charges a second", a.table.limits.Calls)}
}

// Charges counts n charges of a stream. Where there are too many, it waits until there are not, or ctx
// ends: the client's own flow control slows it down, and nothing is refused.
func (a *Account) Charges(ctx context.Context, n int) {
	wait := a.Count(n)
	if wait == 0 {
		return
	}
	a.table.refused("stream")
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Count counts n charges, and returns how long whoever makes them should wait before the next one.
func (a *Account) Count(n int) (wait time.Duration) {
	if a == nil || a.calls == nil {
		return 0
	}
	for now := time.Now(); n > 0; {
		part := min(n, a.calls.Burst())
		wait = a.calls.ReserveN(now, part).DelayFrom(now)
		n -= part
	}
	return wait
}

// Afford refuses a question if those before it took too long.
func (a *Account) Afford() error {
	if a == nil || a.computing == nil {
		return nil
	}
	left := a.computing.TokensAt(time.Now())
	if left > 0 {
		return nil
	}
	a.table.refused("computing")
	wait := time.Duration((1 - left) / float64(a.computing.Limit()) * float64(time.Second))
	return limited{wait, fmt.Sprintf("your questions took more than %v of computing a minute",
		a.table.limits.Computing)}
}

// Spend counts time for which a question was computed. A question is not cut short for it: what it takes
// too much, later ones wait for.
func (a *Account) Spend(d time.Duration) {
	if a == nil || a.computing == nil {
		return
	}
	now := time.Now()
	for ms := int(math.Ceil(float64(d) / float64(time.Millisecond))); ms > 0; {
		part := min(ms, a.computing.Burst())
		a.computing.ReserveN(now, part)
		ms -= part
	}
}

// limited refuses a call of somebody who takes too much.
type limited struct {
	after time.Duration
	what  string
}

func (e limited) Error() string {
	return fmt.Sprintf("fair use: %s: come back in %v; nothing was written", e.what, max(e.after, time.Millisecond).
		Round(time.Millisecond))
}

// GRPCStatus carries the time to come back as a detail, which clients keep.
func (e limited) GRPCStatus() *status.Status {
	s := status.New(codes.ResourceExhausted, e.Error())
	detail := &errdetails.RetryInfo{RetryDelay: durationpb.New(max(e.after, time.Millisecond))}
	if detailed, err := s.WithDetails(detail); err == nil {
		return detailed
	}
	return s
}
