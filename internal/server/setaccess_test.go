// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const reportersOfDays = `grants:
  - {roles: reporter, to: 'unverified:job', on: ['prefix:in/', 'ledger:days/01', 'ledger:days/03']}
  - {roles: reporter, to: 'unverified:other', on: 'prefix:in/'}
  - {roles: [reporter, manager, officer], to: 'unverified:all', on: everything}
  - {roles: auditor, to: 'unverified:auditor', on: 'prefix:in/'}
  - {roles: auditor, to: 'unverified:chief', on: everything}
`

// setGuard has ledgers in and out of what the policy grants, each with a budget of ε = 1.
func setGuard(t *testing.T) *guarded {
	t.Helper()
	g := guard(t, reportersOfDays)
	for _, name := range []string{"in/1", "in/2", "in/3", "out/1", "days/01", "days/02", "days/03"} {
		g.create(servertest.Filter(name, servertest.Basic(1)))
	}
	return g
}

// untouched checks that nothing was charged to, or set aside in, any ledger.
func (g *guarded) untouched(what string) {
	g.t.Helper()
	page, err := g.Owner.ListLedgers(servertest.Context(g.t), &pb.ListLedgersRequest{})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, l := range page.GetLedgers() {
		if l.GetPosition() > 0 && !strings.HasPrefix(l.GetName(), "system:") {
			g.t.Errorf("%s: %s has %d entries", what, l.GetName(), l.GetPosition())
		}
	}
}

// A set with a ledger that the caller may not charge is refused as a whole, in words that are the same whether
// that ledger exists or not; of a range they do not name it.
func TestSetWithADeniedMember(t *testing.T) {
	t.Parallel()
	g := setGuard(t)
	in := func(names ...string) *pb.LedgerSet { return &pb.LedgerSet{Ledgers: names} }
	for what, c := range map[string]struct {
		there, missing *pb.LedgerSet // the same but for a name that is not there
		hides          string        // what the refusal does not say
	}{
		"named":         {in("in/1", "out/1"), in("in/1", "out/2"), ""},
		"named first":   {in("out/1", "in/1"), in("out/2", "in/1"), ""},
		"out of scope":  {rangeOf("out/", "", ""), rangeOf("other/", "", ""), "out/1"},
		"wider":         {rangeOf("i", "", ""), rangeOf("j", "", ""), "in/"},
		"to the hidden": {rangeOf("days/", "01", "02"), rangeOf("days/", "01", "05"), ""},
		"between":       {rangeOf("days/", "01", "03"), nil, "days/02"},
	} {
		said := map[bool]string{}
		for there, set := range map[bool]*pb.LedgerSet{true: c.there, false: c.missing} {
			if set == nil {
				continue
			}
			for _, checkOnly := range []bool{true, false} {
				r := reportSet(strings.ReplaceAll(what, " ", "-"), 1, set)
				r.Lane.CheckOnly = checkOnly
				_, err := g.Client.Report(as(t, "job"), r)
				_, err2 := g.Client.Reserve(as(t, "job"),
					&pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Ledgers: set, Sequence: 1,
						Writer: "request/r"},
						Reserve: &pb.Reserve{Events: tenths(1), LifetimeSeconds: 60}})
				if !denied(err) || !denied(err2) {
					t.Errorf("%s, there: %v: %v, %v; want that the policy refuses it", what, there, err, err2)
				}
				if c.hides != "" && strings.Contains(err.Error(), c.hides) {
					t.Errorf("%s: %v; want a refusal that does not name %s", what, err, c.hides)
				}
				said[there] = strings.NewReplacer("out/1", "X", "out/2", "X", `"i"`, "X", `"j"`, "X", `"out/"`, "X",
					`"other/"`, "X").Replace(status.Convert(err).Message())
			}
		}
		if c.missing != nil && said[true] != said[false] {
			t.Errorf("%s: the refusal tells whether a ledger exists:\n%s\n%s", what, said[true], said[false])
		}
	}
	g.untouched("refused sets")
	if r, err := g.Client.Report(as(t, "job"), reportSet("x", 1, rangeOf("in/", "1", "3"))); err != nil ||
		len(r.GetReceipt().GetMembers()) != 3 {
		t.Errorf("what the policy allows: %v, %v", r, err)
	}
}

// A receipt that is not one tells nothing about a journal, in which all teams' sets are: neither how many there are
// nor their hashes.
func TestReceiptsTellNothingOfJournals(t *testing.T) {
	t.Parallel()
	g := setGuard(t)
	mine, err := g.Client.Report(as(t, "job"), reportSet("x", 1, rangeOf("in/", "1", "3")))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for i, change := range []func(*pb.Receipt){
		func(r *pb.Receipt) { r.HeadHash[0] ^= 1 },
		func(r *pb.Receipt) { r.Position++ },
		func(r *pb.Receipt) { r.Ledger = ledger.JournalName((ledger.JournalOf(r.GetWriter()) + 1) % 16) },
	} {
		guessed := proto.CloneOf(mine.GetReceipt())
		change(guessed)
		next := reportSet(fmt.Sprint("y", i), 1, rangeOf("in/", "1", "3"))
		next.Lane.LastReceipt = guessed
		_, err := g.Client.Report(as(t, "job"), next)
		if status.Code(err) != codes.DataLoss {
			t.Fatalf("%v; want DATA_LOSS", err)
		}
		_, found, _ := strings.Cut(status.Convert(err).Message(), "found")
		said[found] = true
	}
	if len(said) != 1 {
		t.Errorf("the errors tell what the journal has: %v", said)
	}
}

// What a set has reserved is committed and released by whoever has reserved it, and for others it
// looks as if there were nothing.
func TestReservedSetOfOthers(t *testing.T) {
	t.Parallel()
	g := setGuard(t)
	reserve := func(who string) *pb.Receipt {
		t.Helper()
		r, err := g.Client.Reserve(as(t, who), &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
			Ledgers: rangeOf("in/", "1", "3"), Sequence: 1, Writer: "request/of-" + who},
			Reserve: &pb.Reserve{Events: tenths(2), LifetimeSeconds: 600}})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetReceipt()
	}
	commit := func(ctx context.Context, key string, of *pb.Receipt) error {
		_, err := g.Client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Sequence: 1,
			Writer: "request/" + key},
			Commit: &pb.Commit{Reservation: of.GetPosition(), Events: tenths(1)}})
		return err
	}
	release := func(ctx context.Context, key string, of *pb.Receipt) error {
		_, err := g.Client.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: of.GetLedger(), Sequence: 1,
			Writer: "request/" + key},
			Release: &pb.Release{Reservation: of.GetPosition(), Reason: "r"}})
		return err
	}
	mine, others := reserve("job"), reserve("other")
	nothing := proto.CloneOf(mine)
	nothing.Position += 100
	for i, of := range []*pb.Receipt{mine, others} {
		other := []string{"other", "job"}[i]
		for what, do := range map[string]func(context.Context, string, *pb.Receipt) error{
			"commit": commit, "release": release} {
			err, missing := do(as(t, other), what+other, of), do(as(t, other), what+other, nothing)
			text := strings.Replace(status.Convert(err).Message(), fmt.Sprintf("reservation: %d in %s", of.Position,
				of.Ledger), "X", 1)
			none := strings.Replace(status.Convert(missing).Message(), fmt.Sprintf("reservation: %d in %s",
				nothing.Position, nothing.Ledger), "X", 1)
			if status.Code(err) != codes.FailedPrecondition || text != none {
				t.Errorf("%s of what %s did not reserve: %v; of nothing: %v", what, other, err, missing)
			}
		}
	}
	if err := commit(as(t, "other"), "c", others); err != nil {
		t.Error(err)
	}
	// Who loses the right to one of the ledgers neither commits nor sees the receipt again.
	if err := commit(as(t, "job"), "before", mine); err != nil {
		t.Fatal(err)
	}
	g.change("grants:\n  - {roles: reporter, to: 'unverified:job', on: ['ledger:in/1', 'ledger:in/2']}\n")
	for _, key := range []string{"before", "after"} {
		if err := commit(as(t, "job"), key, mine); !denied(err) || strings.Contains(err.Error(), "in/3") {
			t.Errorf("%s the right was lost: %v", key, err)
		}
	}
	if err := commit(servertest.Context(t), "owner", mine); status.Code(err) == codes.OK {
		t.Error("somebody else commits it")
	}
	for name, want := range map[string]float64{"in/1": 0.2, "in/2": 0.2, "in/3": 0.2} {
		l, err := g.Owner.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: name})
		if v := l.GetLedger().GetBudgets()[0].GetValue(); err != nil || v.GetSpent() != want {
			t.Errorf("%s: %v, %v; want %v spent", name, v, err, want)
		}
	}
}

// A journal names the ledgers of everybody's sets, so it is read by those who may read everything.
func TestWhoReadsJournals(t *testing.T) {
	t.Parallel()
	g := setGuard(t)
	made, err := g.Client.Report(as(t, "all"), reportSet("x", 1, &pb.LedgerSet{Ledgers: []string{"in/1", "out/1"}}))
	if err != nil {
		t.Fatal(err)
	}
	journal := made.GetReceipt().GetLedger()
	missing := "system:sets/0"
	if missing == journal {
		missing = "system:sets/1"
	}
	for who, may := range map[string]bool{"job": false, "auditor": false, "chief": true} {
		said := map[string]string{}
		for _, name := range []string{journal, missing} {
			_, err := g.Client.ListEntries(as(t, who), &pb.ListEntriesRequest{Ledger: name})
			if denied(err) == may {
				t.Errorf("%s reads the entries of %s: %v", who, name, err)
			}
			_, err = g.Client.GetLedger(as(t, who), &pb.GetLedgerRequest{Name: name})
			if denied(err) == may {
				t.Errorf("%s reads %s: %v", who, name, err)
			}
			said[name] = strings.ReplaceAll(status.Convert(err).Message(), name, "X")
		}
		if !may && said[journal] != said[missing] {
			t.Errorf("%s is told which journals there are: %v", who, said)
		}
	}
	// A member's auditor sees that the charge came with others, and not with which.
	page, err := g.Client.ListEntries(as(t, "auditor"), &pb.ListEntriesRequest{Ledger: "in/1"})
	if err != nil || len(page.GetEntries()) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	if set := page.GetEntries()[0].GetSet(); set.GetJournal() != journal || set.GetMembers() != 2 ||
		strings.Contains(page.String(), "out/1") {
		t.Errorf("%v", page)
	}
	for _, who := range []string{"all", "chief"} { // nobody writes there
		if _, err := g.Client.Report(as(t, who), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: journal, Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: tenths(1)},
		}); err == nil {
			t.Errorf("%s charges a journal", who)
		}
		if _, err := g.Client.CloseLedger(as(t, who), &pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: journal},
			Close: &pb.Close{}}); err == nil {
			t.Errorf("%s closes a journal", who)
		}
	}
}
