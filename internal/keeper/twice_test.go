// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// between is a daemon's handle on a shared store. Before one of its calls something else happens.
type between struct {
	memory.Shared
	mu   sync.Mutex
	left int // calls until then
	do   func()
}

// step counts a call. It waits for what happens before it.
func (s *between) step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 {
		s.do()
	}
}

func (s *between) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	s.step()
	return s.Shared.Create(g)
}
func (s *between) Load(name string) (ledger.Snapshot, error) {
	s.step()
	return s.Shared.Load(name)
}
func (s *between) List(prefix, after string, limit int) ([]ledger.Summary, error) {
	s.step()
	return s.Shared.List(prefix, after, limit)
}
func (s *between) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	s.step()
	return s.Shared.Writer(name, w)
}
func (s *between) RecordOf(name string, w ledger.Writer, sequence uint64) (ledger.Record, error) {
	s.step()
	return s.Shared.RecordOf(name, w, sequence)
}
func (s *between) Namesakes(name string, w ledger.Writer) ([]ledger.Record, error) {
	s.step()
	return s.Shared.Namesakes(name, w)
}
func (s *between) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	s.step()
	return s.Shared.Records(name, from, limit)
}
func (s *between) GenesisRecord(name string) ([]byte, ledger.Hash, error) {
	s.step()
	return s.Shared.GenesisRecord(name)
}
func (s *between) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	s.step()
	return s.Shared.Append(batch)
}
func (s *between) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	s.step()
	return s.Shared.InTurn(t)
}
func (s *between) Heads(names []string) ([]ledger.Head, error) {
	s.step()
	return s.Shared.Heads(names)
}

// errGone is why a set cannot be charged any more, though it could.
var errGone = errors.New("the right was taken away")

// A request is sent again to another daemon while the first try is in flight there. Whatever has been written by
// then, and whatever has become of the ledger since, nobody is told that a request was refused which is written:
// at each call that the second daemon makes to the store the first one writes the request, and then does what
// would have it refused from now on.
func TestSentToTwoDaemons(t *testing.T) {
	t.Parallel()
	type try func(k *Keeper) (answer any, err error)
	one := func(name string, v ledger.Action) try {
		return func(k *Keeper) (any, error) {
			r, err := k.Do(t.Context(), name, ledger.Request{Writer: writerOf("request/x"), Sequence: 1,
				Digest: wholeDigest(v), Action: v})
			return r.Receipt, err
		}
	}
	other := func(name string, actions ...ledger.Action) func(*Keeper) error {
		return func(k *Keeper) (err error) {
			for _, v := range actions {
				w := writerOf("request/" + token(fmt.Sprint(name, v)))
				r := ledger.Request{Writer: w, Sequence: 1, Digest: wholeDigest(v), Action: v}
				_, e := k.Do(t.Context(), name, r)
				err = errors.Join(err, e)
			}
			return err
		}
	}
	made := func(g ledger.Genesis) try {
		return func(k *Keeper) (any, error) {
			sum, _, err := k.Create(t.Context(), g)
			return sum.Genesis.Time, err
		}
	}
	making := func(all ...ledger.Genesis) func(*Keeper) error {
		return func(k *Keeper) (err error) {
			for _, g := range all {
				_, e := made(g)(k)
				err = errors.Join(err, e)
			}
			return err
		}
	}
	named := func(name, parent string) ledger.Genesis {
		g := budgeted()
		g.Spec.Name, g.Spec.Parent = name, parent
		return g
	}
	registered := func(independence string) try {
		return func(k *Keeper) (any, error) {
			g := ledger.Genesis{Principal: "uid:1", Spec: datasetSpec("survey", "1", 20)}
			g.Spec.Dataset.Independence = independence
			sum, _, _, err := k.Register(t.Context(), Registration{Genesis: g})
			return sum.Genesis.Time, err
		}
	}
	below := func(k *Keeper) error {
		_, err := registered("other people")(k)
		return errors.Join(err, making(ledger.Genesis{Principal: "uid:1",
			Spec: rootSpec("a", "survey", "1", ledger.Filtered, 3)})(k))
	}
	ofSet := func(r SetRequest) try {
		return func(k *Keeper) (any, error) {
			result, err := k.DoSet(t.Context(), r)
			return fmt.Sprint(result.Receipt, result.Members), err
		}
	}
	ab := making(named("a", ""), named("b", ""))
	reserve := doneIn("r", ledger.Reserve{Events: tenths(5), Lifetime: time.Hour}, nil, "a", "b")
	reserved := func(k *Keeper) error {
		_, err := ofSet(reserve)(k)
		return err
	}
	first := func(all ...func(*Keeper) error) func(*Keeper) error {
		return func(k *Keeper) (err error) {
			for _, f := range all {
				err = errors.Join(err, f(k))
			}
			return err
		}
	}
	closing := ledger.Close{Reason: "done"}
	raise := func(n int) ledger.Action { return ledger.Raise{Reason: "r", Budgets: pure(n)} }
	amend := func(n int) ledger.Action { return ledger.AmendDataset{Reason: "r", Budgets: pure(n)} }
	gone := false
	mayBeDenied := func(k *Keeper) (any, error) { // as the server looks for the ledgers and for the caller's rights
		r := doneIn("d", ledger.Charge{Events: tenths(5)}, nil, "a", "b")
		members := r.Members
		r.Members = func(ctx context.Context) (ledger.Together, []SetMember, error) {
			_, err := k.InRange(ctx, ledger.NameRange{First: "a", Last: "b"}, nil)
			if err == nil && gone {
				err = errGone
			}
			if err != nil {
				return ledger.Together{}, nil, err
			}
			return members(ctx)
		}
		return ofSet(r)(k)
	}
	ledgerA, dataset := making(named("a", "")), ledger.DatasetName("survey")
	six, four := ledger.Charge{Events: tenths(6)}, ledger.Charge{Events: tenths(4)}
	hold := ledger.Reserve{Events: tenths(6), Lifetime: time.Hour}
	root := ledger.Genesis{Principal: "uid:1", Spec: rootSpec("b", "survey", "1", ledger.Filtered, 17)}
	for what, c := range map[string]struct {
		before func(*Keeper) error
		try    try
		after  func(*Keeper) error // nil: nothing
	}{
		"a charge":                    {ledgerA, one("a", six), other("a", closing)},
		"a charge, then all is spent": {ledgerA, one("a", six), other("a", four)},
		"a charge, nothing after":     {ledgerA, one("a", six), nil},
		"a reservation":               {ledgerA, one("a", hold), other("a", closing)},
		"a reservation, given back": {ledgerA, one("a", hold),
			other("a", ledger.Release{Reservation: 1}, ledger.Charge{Events: tenths(10)})},
		"a commit": {first(ledgerA, other("a", hold)),
			one("a", ledger.Commit{Reservation: 1, Events: tenths(6)}), nil},
		"a release": {first(ledgerA, other("a", hold)),
			one("a", ledger.Release{Reservation: 1}), other("a", closing)},
		"a refund": {first(ledgerA, other("a", six)),
			one("a", refundOf(1)), other("a", closing)},
		"a refund, no more":  {first(ledgerA, other("a", six)), one("a", refundOf(1)), nil},
		"a raise":            {ledgerA, one("a", raise(20)), nil},
		"a raise, then more": {ledgerA, one("a", raise(20)), other("a", raise(30))},
		"a closing":          {ledgerA, one("a", closing), nil},
		"a child":            {ledgerA, made(named("a/c", "a")), nil},
		"a child, all closed": {ledgerA, made(named("a/c", "a")),
			first(other("a/c", closing), other("a", closing))},
		"a dataset":                          {making(), registered(""), nil},
		"a ledger below a dataset":           {below, made(root), first(other("b", closing), other(dataset, closing))},
		"a raise below a dataset":            {below, one("a", raise(6)), nil},
		"a raise below a dataset, then more": {below, one("a", raise(6)), other("a", raise(20))},
		"more for a dataset":                 {below, one(dataset, amend(30)), other(dataset, amend(40))},
		"a set":                              {ab, ofSet(ofSetRequest(6)), other("b", closing)},
		"a set, then all of a is spent":      {ab, ofSet(ofSetRequest(6)), other("a", four)},
		"a set, then the right is gone": {ab, mayBeDenied, func(*Keeper) error {
			gone = true
			return nil
		}},
		"a set's reservation": {ab, ofSet(reserve), first(other("a", closing), other("b", closing))},
		"a set's commit": {first(ab, reserved), ofSet(doneIn("c", ledger.Commit{Reservation: 1, Events: tenths(5)},
			[]uint64{1, 1}, "a", "b")), other("b", closing)},
		"a set's release": {first(ab, reserved), ofSet(doneIn("c", ledger.Release{Reservation: 1}, []uint64{1, 1}, "a",
			"b")), nil},
	} {
		for _, warm := range []bool{false, true} {
			t.Run(fmt.Sprint(what, ", in memory: ", warm), func(t *testing.T) {
				gone = false
				at := 1
				for sentToTwo(t, at, warm, c.before, c.try, c.after) {
					at, gone = at+1, false
				}
				t.Logf("%d calls of the store", at-1)
			})
		}
	}
}

func ofSetRequest(n uint32) SetRequest { return ofSet("x", n, "a", "b") }

// sentToTwo has the second daemon try a request, and before one of its calls to the store the first daemon. It
// reports whether there was that call; otherwise the first daemon comes afterwards.
func sentToTwo(t *testing.T, at int, warm bool, before func(*Keeper) error, try func(*Keeper) (any, error),
	after func(*Keeper) error) (came bool) {
	t.Helper()
	store := memory.New(memory.Config{}).Shared()
	one := newKeeper(t, Config{Store: store, Digest: wholeDigest})
	handle := &between{Shared: store.Beside(memory.Config{})}
	two := newKeeper(t, Config{Store: handle, Digest: wholeDigest})
	if err := untilAvailable(func() error { return before(one) }); err != nil {
		t.Fatal(err)
	}
	if warm {
		for _, name := range []string{"a", "b", ledger.DatasetName("survey")} {
			err := untilAvailable(func() error {
				_, err := two.View(t.Context(), name)
				return err
			})
			if err != nil && !errors.Is(err, ledger.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	tries := func(k *Keeper) (answer any, err error) {
		err = untilAvailable(func() (err error) {
			answer, err = try(k)
			return err
		})
		return answer, err
	}
	var firstAnswer any
	var firstErr error
	first := func() {
		if firstAnswer, firstErr = tries(one); firstErr == nil && after != nil {
			firstErr = untilAvailable(func() error { return after(one) })
		}
	}
	handle.mu.Lock()
	handle.left, handle.do = at, first
	handle.mu.Unlock()
	answer, err := tries(two)
	handle.mu.Lock()
	came = handle.left <= 0
	handle.mu.Unlock()
	if !came {
		first()
	}
	switch {
	case firstErr != nil:
		t.Fatalf("at call %d: the first daemon: %v", at, firstErr)
	case err != nil:
		t.Errorf("at call %d: the second daemon: %v; the first one had written it", at, err)
	case !reflect.DeepEqual(answer, firstAnswer):
		t.Errorf("at call %d: two answers: %v and %v", at, firstAnswer, answer)
	}
	return came
}

// untilAvailable does something again while the store does not tell in time where ledgers stand, as on a machine
// that has much other work.
func untilAvailable(do func() error) (err error) {
	for range 1000 {
		if err = do(); !errors.Is(err, ledger.ErrUnavailable) {
			break
		}
	}
	return err
}
