// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// daemonOf starts a daemon of a fleet, whose access policy is in a file of its own; without one if policy is "".
func daemonOf(t *testing.T, store ledger.Store, policy string) *guarded {
	t.Helper()
	return daemonWith(t, store, policy, 0)
}

// daemonWith is daemonOf with a server.Config.PolicyInterval.
func daemonWith(t *testing.T, store ledger.Store, policy string, interval time.Duration) *guarded {
	t.Helper()
	dir := t.TempDir()
	g := &guarded{t: t, reload: make(chan struct{}), log: &testaid.Log{}}
	if policy != "" {
		g.file = filepath.Join(dir, "policy.yaml")
		g.write(policy)
	}
	g.Server = servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{
		AccessPolicy: g.file, Reload: g.reload, PolicyInterval: interval, Socket: filepath.Join(dir, "own"),
		Logger: slog.New(slog.NewTextHandler(g.log, nil))}})
	g.Owner = g.Server.Owner(t)
	return g
}

// lets reports whether the daemon answers somebody about the ledger a.
func (g *guarded) lets(name string) bool {
	g.t.Helper()
	_, err := g.Client.GetLedger(as(g.t, name), &pb.GetLedgerRequest{Name: "a"})
	if code := status.Code(err); err != nil && code != codes.PermissionDenied {
		g.t.Fatal(err)
	}
	return err == nil
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited two minutes for %s", what)
		}
	}
}

// policyFor grants a look at the ledger a.
func policyFor(names ...string) string {
	text := "grants:\n"
	for _, name := range names {
		text += "  - {roles: viewer, to: 'unverified:" + name + "', on: 'ledger:a'}\n"
	}
	return text
}

func (g *guarded) problem() string {
	g.t.Helper()
	answer, err := g.Owner.GetAccess(servertest.Context(g.t), &pb.GetAccessRequest{})
	if err != nil {
		g.t.Fatal(err)
	}
	return answer.GetProblem()
}

// A right that is taken away on one daemon is taken away on all. An old copy of the policy does not bring it back,
// neither of a daemon that starts nor of one whose file is changed.
func TestFleetFollowsTheNewestPolicy(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{}).Shared()
	open := daemonOf(t, store, "") // creates the ledger while there is no policy
	open.create(servertest.Spec("a"))
	first := daemonOf(t, store, policyFor("ann", "job"))
	eventually(t, "the first policy on a daemon without one", func() bool {
		return !open.lets("eve") && open.lets("job")
	})
	second := daemonOf(t, store, policyFor("ann"))
	for _, g := range []*guarded{open, first, second} {
		eventually(t, "a right to be gone", func() bool { return !g.lets("job") })
		if !g.lets("ann") {
			t.Error("a right is gone that both policies give")
		}
	}
	eventually(t, "the difference to be told", func() bool {
		return strings.Contains(first.problem(), "is not in force")
	})
	log := first.log.String()
	if second.problem() != "" || open.problem() != "" || !strings.Contains(log, "another access policy") {
		t.Errorf("problems %q, %q; log of the daemon with another file:\n%s", second.problem(), open.problem(), log)
	}
	first.Restart()
	second.change(policyFor("ann", "job")) // an old text, as of a rolling update that comes late
	for _, g := range []*guarded{open, first, second} {
		if g.lets("job") {
			t.Error("an old copy of a policy has brought a right back")
		}
	}
	second.change("# again\n" + policyFor("ann", "job"))
	for _, g := range []*guarded{open, first, second} {
		eventually(t, "a changed policy", func() bool { return g.lets("job") })
	}
	open.Restart() // without a policy of its own
	if open.lets("eve") || !open.lets("job") {
		t.Error("a daemon that is started without a policy does not follow the others")
	}
}

// Of daemons that record different policies at the same time, all follow the one that is recorded last, and the
// record has each policy once.
func TestPoliciesRecordedAtOnce(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{}).Shared()
	daemonOf(t, store, "").create(servertest.Spec("a"))
	names := []string{"ann", "bob", "cyn", "dan"}
	all := make([]*guarded, len(names))
	for i := range names {
		all[i] = daemonOf(t, store, policyFor("nobody"))
	}
	var writing sync.WaitGroup
	for i, g := range all {
		writing.Go(func() { g.change(policyFor(names[i])) })
	}
	writing.Wait()
	records, err := store.Records(ledger.AccessLedger, 1, 100)
	if err != nil || len(records) != 1+len(names) {
		t.Fatalf("%d policies are recorded, %v; want the first and one of each daemon", len(records), err)
	}
	newest := records[len(names)].Entry.Action.(ledger.AccessPolicy).Text
	for _, g := range all {
		eventually(t, "the newest policy everywhere", func() bool {
			for _, name := range names {
				if g.lets(name) != bytes.Contains(newest, []byte("unverified:"+name)) {
					return false
				}
			}
			return true
		})
	}
}

// The owner of one daemon's socket does not own the ledgers of a fleet: once a policy is recorded with them, the
// socket gives no rights, on no daemon, and a person needs the role there, too.
func TestOwnSocketOfAFleetGivesNoRights(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{}).Shared()
	other := daemonOf(t, store, "")
	other.create(servertest.Spec("a"))
	closing := func(g *guarded) error {
		_, err := g.Owner.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
		})
		return err
	}
	backup := func(g *guarded) error {
		ctx, cancel := context.WithCancel(servertest.Context(t))
		defer cancel()
		stream, err := g.Owner.Backup(ctx, &pb.BackupRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	if err := backup(other); status.Code(err) == codes.PermissionDenied {
		t.Errorf("without a policy: %v", err)
	}
	named := daemonOf(t, store, policyFor("ann"))
	eventually(t, "the policy on the other daemon", func() bool { return !other.lets("eve") })
	for _, g := range []*guarded{named, other} {
		wantError(t, closing(g), codes.PermissionDenied, "needs the role manager")
		wantError(t, backup(g), codes.PermissionDenied, "needs the role administrator")
	}
	uid := strconv.Itoa(os.Getuid())
	named.change("grants:\n  - {roles: manager, to: 'uid:" + uid + "', on: everything}\n")
	eventually(t, "the role on the other daemon", func() bool { return closing(other) == nil })
}

// A daemon that does not learn which policy is in force lets nobody do anything; it goes on by itself.
func TestDaemonThatCannotReadThePolicy(t *testing.T) {
	t.Parallel()
	store := &deafened{Shared: memory.New(memory.Config{}).Shared()}
	other := daemonOf(t, store.Shared, "")
	other.create(servertest.Spec("a"))
	store.set(true)
	g := daemonOf(t, store, policyFor("ann"))
	_, err := g.Client.ListLedgers(as(t, "ann"), &pb.ListLedgersRequest{})
	wantError(t, err, codes.Unavailable, "the database could not be read for a while")
	store.set(false)
	eventually(t, "the daemon to go on", func() bool {
		_, err := g.Client.ListLedgers(as(t, "ann"), &pb.ListLedgersRequest{})
		return err == nil
	})
}

// deafened is a store that may not tell how far ledgers have come.
type deafened struct {
	memory.Shared
	mu   sync.Mutex
	deaf bool
}

func (d *deafened) set(deaf bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deaf = deaf
}

func (d *deafened) Heads(names []string) ([]ledger.Head, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf {
		return nil, ledger.ErrUnavailable
	}
	return d.Shared.Heads(names)
}
