// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	stores "github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// heardOf is a daemon's store, which passes on a part of what it is told of other daemons' changes, and looks at how
// the daemon reads which policy was recorded last.
type heardOf struct {
	*postgres.Store
	named bool // changes of ledgers that a notification names are passed on; nothing else is

	mu       sync.Mutex
	listens  bool // a notification has named something
	told     int  // notifications of a policy
	since    bool // only readings that begin from now on count
	good     bool // such a reading has succeeded
	followed chan struct{}
}

// Changes implements stores.Shared. Without its own passing on, the store tells each second that anything may have
// changed, which would hide a lost notification.
func (h *heardOf) Changes(f func(names ...string)) (stop func()) {
	return h.Store.Changes(func(names ...string) {
		if !h.named || len(names) == 0 {
			return
		}
		h.mu.Lock()
		h.listens = true
		if slices.Contains(names, ledger.AccessLedger) {
			h.told++
		}
		h.mu.Unlock()
		f(names...)
	})
}

// Heads implements stores.Shared. A reading of the newest policy begins with it.
func (h *heardOf) Heads(names []string) ([]ledger.Head, error) {
	if !slices.Equal(names, []string{ledger.AccessLedger}) {
		return h.Store.Heads(names)
	}
	h.mu.Lock()
	counts := h.since
	if h.since && h.good { // the gate has done what it does with the one before
		h.since, h.good = false, false
		close(h.followed)
	}
	h.mu.Unlock()
	heads, err := h.Store.Heads(names)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.good = counts && h.since && err == nil
	return heads, err
}

// Records implements ledger.Store.
func (h *heardOf) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	records, err := h.Store.Records(name, from, limit)
	if err != nil && name == ledger.AccessLedger {
		h.mu.Lock()
		h.good = false
		h.mu.Unlock()
	}
	return records, err
}

// oneReading returns a channel that is closed when one reading of the policy that began from now on has succeeded,
// and the daemon has come to the next one.
func (h *heardOf) oneReading() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since, h.good, h.followed = true, false, make(chan struct{})
	return h.followed
}

var _ stores.Shared = (*heardOf)(nil)

// openShared opens a daemon's handle on a database.
func openShared(t testing.TB, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(postgres.Config{URL: url, ReadLimit: time.Minute, CommitLimit: time.Minute,
		Abandoned: time.Minute}) // the machine can be busy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// allows reports whether somebody may look at the ledger a by the policy that the daemon knows. It is answered also
// by a daemon that has not read the policy for ten seconds, because the machine is busy.
func (g *guarded) allows(name string) bool {
	g.t.Helper()
	answer, err := g.Client.GetAccess(as(g.t, name), &pb.GetAccessRequest{Method: "GetLedger", Ledger: "a"})
	if err != nil {
		g.t.Fatal(err)
	}
	return answer.GetAllowed()
}

// refused checks that a call of somebody who has lost the right is not answered.
func (g *guarded) refused(name string) {
	g.t.Helper()
	_, err := g.Client.GetLedger(as(g.t, name), &pb.GetLedgerRequest{Name: "a"})
	if code := status.Code(err); code != codes.PermissionDenied && code != codes.Unavailable {
		g.t.Errorf("%s, whose right is gone: %v", name, err)
	}
}

// A right that is taken away through one daemon is gone on another one when the database has told it, without its
// asking again and again.
func TestPolicyIsFollowedWhenTheDatabaseTells(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	told := &heardOf{Store: openShared(t, url), named: true}
	other := daemonWith(t, told, "", time.Hour) // nothing but a notification tells it
	store := openShared(t, url)
	probes := 0
	eventually(t, "the other daemon to listen", func() bool {
		if _, _, err := store.Create(storetest.Genesis(fmt.Sprintf("probe/%d", probes))); err != nil {
			t.Fatal(err)
		}
		probes++
		told.mu.Lock()
		defer told.mu.Unlock()
		return told.listens
	})
	first := daemonWith(t, store, policyFor("ann", "job"), 0)
	eventually(t, "the first policy on the other daemon", func() bool { return !other.allows("eve") })
	if !other.allows("ann") || !other.allows("job") {
		t.Fatal("not the first policy")
	}
	for i := range 5 {
		first.change(fmt.Sprintf("# %d\n", i) + policyFor("ann"))
		eventually(t, "a right to be gone", func() bool { return !other.allows("job") })
		other.refused("job")
		first.change(fmt.Sprintf("# %d\n", i) + policyFor("ann", "job"))
		eventually(t, "the right to be back", func() bool { return other.allows("job") })
	}
	told.mu.Lock()
	defer told.mu.Unlock()
	if told.told == 0 {
		t.Error("the policy was followed, and no notification named it")
	}
}

// Where notifications are lost, the first reading after the recording takes the right away. package gate tests how
// long that can take.
func TestPolicyIsFollowedWithoutNotifications(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	store := &heardOf{Store: openShared(t, url)}
	other := daemonWith(t, store, "", 20*time.Millisecond)
	first := daemonWith(t, openShared(t, url), policyFor("ann", "job"), 0)
	recorded := func() { // at the first attempt, unless the machine is very busy
		eventually(t, "the policy to be recorded", func() bool { return first.problem() == "" })
	}
	for i := range 5 {
		recorded()
		<-store.oneReading()
		if !other.allows("ann") || !other.allows("job") || other.allows("eve") {
			t.Fatal("one reading after it was recorded the policy is not in force")
		}
		first.change(fmt.Sprintf("# %d\n", i) + policyFor("ann"))
		recorded()
		<-store.oneReading()
		if other.allows("job") || !other.allows("ann") {
			t.Fatal("one reading after it was recorded another policy is in force")
		}
		other.refused("job")
		first.change(fmt.Sprintf("# %d\n", i) + policyFor("ann", "job"))
	}
}
