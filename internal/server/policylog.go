// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// policyLog keeps the access policies that come into force in a ledger of their own. There an audit finds them, and so
// do the other daemons of the same store, which all follow the newest one.
type policyLog struct {
	Keeper *keeper.Keeper
	Store  ledger.Store
	// Shared is the Store if other daemons write to it as well; otherwise it is nil.
	Shared fleet.Shared
	// Deadline bounds a call. Created is called when the policies' ledger was made.
	Deadline time.Duration
	Created  func()
	// Again is told before a policy is recorded that was in force once, at a position, and was replaced since.
	Again func(position uint64)
}

// policyAttempts bounds how often a policy is compared again because another daemon has recorded one meanwhile.
const policyAttempts = 10

// record writes the text of an access policy behind the others, unless it is the newest. That there is no policy
// any more is an empty text; where there never was one, nothing is written. It returns the position of the text.
//
// Where several daemons share the policies, a text is recorded once: one that was recorded before and then
// replaced may be an old copy, of a daemon that was away for a while. For the same reason a daemon without a
// policy records nothing there, and follows the others.
func (l *policyLog) record(text []byte) (position uint64, err error) {
	if l.Shared != nil && len(text) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.Deadline)
	defer cancel()
	for i := 1; ; i++ {
		position, err = l.recordOnce(ctx, text)
		if l.Shared == nil || i == policyAttempts ||
			!errors.Is(err, ledger.ErrReused) && !errors.Is(err, ledger.ErrExists) {
			return position, err
		}
	}
}

// recordOnce is Record. The error is ledger.ErrReused if another daemon has recorded a policy in between.
func (l *policyLog) recordOnce(ctx context.Context, text []byte) (position uint64, err error) {
	sum, err := l.Keeper.Summary(ctx, ledger.AccessLedger)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && len(text) == 0:
		return 0, nil
	case errors.Is(err, ledger.ErrNotFound):
		spec := ledger.Spec{Name: ledger.AccessLedger, Adjacency: mechanism.AddOrRemoveOne}
		if sum, _, err = l.Keeper.Create(ctx, ledger.Genesis{Spec: spec, Principal: ledger.Daemon}); err != nil {
			return 0, err
		}
		l.Created()
	case err != nil:
		return 0, err
	}
	if position, err := l.known(text, sum.Head.Position); err != nil || position > 0 {
		return position, err
	}
	// The lane's name has the position. So of two daemons that read the same newest policy, one alone writes.
	v := ledger.AccessPolicy{Text: text}
	lane := fmt.Sprintf("request/policy-%d", sum.Head.Position+1)
	written, err := l.Keeper.Do(ctx, ledger.AccessLedger, ledger.Request{Sequence: 1, Digest: record.Digest(v),
		Action: v, Writer: ledger.Writer{Principal: ledger.Daemon, Name: lane}})
	return written.Receipt.Position, err
}

// known returns the position of a text that needs no recording, or 0: because it is the one at the newest position or,
// where several daemons share the policies, because it is an older one. After an empty text each is recorded, as
// otherwise none would be in force.
func (l *policyLog) known(text []byte, newest uint64) (position uint64, err error) {
	if newest == 0 {
		return 0, nil
	}
	last, ok, err := l.at(newest)
	if err != nil {
		return 0, err
	}
	if ok && bytes.Equal(last, text) {
		return newest, nil
	}
	if len(text) == 0 || ok && len(last) == 0 {
		return 0, nil
	}
	for position := newest - 1; position > 0; position-- {
		was, ok, err := l.at(position)
		switch {
		case err != nil:
			return 0, err
		case !ok || !bytes.Equal(was, text):
			continue
		case l.Shared != nil:
			return position, nil
		}
		l.Again(position)
		return 0, nil
	}
	return 0, nil
}

// at returns the text of the entry at a position, and false if it is no policy.
func (l *policyLog) at(position uint64) (text []byte, ok bool, err error) {
	records, err := l.Store.Records(ledger.AccessLedger, position, 1)
	if err != nil {
		return nil, false, err
	}
	if len(records) == 0 {
		return nil, false, fmt.Errorf("%w: ledger %s has no entry %d", ledger.ErrUnavailable, ledger.AccessLedger,
			position)
	}
	v, ok := records[0].Entry.Action.(ledger.AccessPolicy)
	return v.Text, ok, nil
}

// newest returns the text of the policy that was recorded last, by whichever daemon, and its position. The text is
// empty if none was, or if it was recorded that there is none. There must be a Shared.
func (l *policyLog) newest() (text []byte, position uint64, err error) {
	heads, err := l.Shared.Heads([]string{ledger.AccessLedger})
	if err != nil {
		return nil, 0, err
	}
	for position := heads[0].Position; position > 0; position-- { // the last one may be of a restore
		if text, ok, err := l.at(position); err != nil || ok {
			return text, position, err
		}
	}
	return nil, 0, nil
}

// listenForPolicies returns the store with a channel that says when another daemon may have recorded a policy. It says
// so from the time at which somebody, the keeper, asks the returned store for Changes; so the store tells of its
// changes once.
func listenForPolicies(shared fleet.Shared) (store fleet.Shared, changed <-chan struct{}) {
	c := make(chan struct{}, 1)
	return policyListener{shared, c}, c
}

type policyListener struct {
	fleet.Shared
	changed chan<- struct{}
}

// Changes implements fleet.Shared.
func (l policyListener) Changes(f func(names ...string)) (stop func()) {
	return l.Shared.Changes(func(names ...string) {
		if len(names) == 0 || slices.Contains(names, ledger.AccessLedger) {
			select {
			case l.changed <- struct{}{}:
			default: // whoever reads the first one finds both changes
			}
		}
		f(names...)
	})
}
