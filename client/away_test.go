// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// refusing is a store that takes no writes once away is set, or does not know whether it took one.
type refusing struct {
	ledger.Store
	away error
}

func (r *refusing) Append(p []ledger.Proposal) ([][]ledger.Hash, error) {
	if r.away != nil {
		return nil, r.away
	}
	return r.Store.Append(p)
}

// Where the store surely took nothing, nobody hears that the outcome is unknown, and the next charge is not held up.
func TestAStoreThatIsAwayWroteNothing(t *testing.T) {
	for _, c := range []struct {
		away    error
		unknown bool
	}{{ledger.ErrUnavailable, false}, {ledger.ErrConflict, false}, {ledger.ErrUnknown, true}} {
		store := &refusing{Store: memory.New(memory.Config{})}
		s := servertest.StartWith(t, servertest.Config{Store: store})
		daemon := connect(t, s, client.Config{MaxAttempts: 2, Timeout: time.Minute})
		s.Create(servertest.Filter("a", servertest.Basic(1000)))
		store.away = c.away
		var failed *client.Error
		_, err := daemon.Report(t.Context(), "a", tenths(1), nil)
		if !errors.As(err, &failed) || failed.Unknown != c.unknown {
			t.Errorf("%v: %v; want unknown: %v", c.away, err, c.unknown)
		}
		store.away = nil
		if _, err := daemon.Report(t.Context(), "a", tenths(1), nil); err != nil {
			t.Errorf("%v: the next charge: %v", c.away, err)
		}
	}
}
