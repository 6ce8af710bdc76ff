// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func setAtDelta(delta float64, names ...string) *pb.QueryPrivacySetRequest {
	return &pb.QueryPrivacySetRequest{Set: &pb.LedgerSet{Ledgers: names},
		Given: &pb.QueryPrivacySetRequest_Delta{Delta: delta}}
}

func rangeAtDelta(delta float64, prefix, first, last string) *pb.QueryPrivacySetRequest {
	return &pb.QueryPrivacySetRequest{Given: &pb.QueryPrivacySetRequest_Delta{Delta: delta},
		Set: &pb.LedgerSet{Range: &pb.LedgerRange{Prefix: prefix, First: first, Last: last}}}
}

func zcdp(rho float64) *pb.Budget { return &pb.Budget{Guard: pb.Budget_ZCDP, Rho: &rho} }

func normals(noise float64, count uint64) mechanism.Composition {
	return mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne, Parts: []mechanism.Part{
		{Mechanism: mechanism.Gaussian{NoiseMultiplier: noise}, Count: count}}}
}

// sharing is the Gaussian whose μ is the sum of the roots of counts over a noise multiplier: a record in several
// ledgers moves what each has charged, and one release may be charged to all (docs/math/children.md §5.6.1).
func sharing(noise float64, counts ...float64) mechanism.Composition {
	mu := 0.0
	for _, n := range counts {
		mu += math.Sqrt(n) / noise
	}
	return normals(1/mu, 1)
}

// near compares two sound bounds that were computed in different ways.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

func askAt(t *testing.T, c mechanism.Composition, delta float64) accountant.Answer {
	t.Helper()
	a, err := accountant.Ask(c, accountant.AtDelta(delta))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What several ledgers cost is what their composition, made by hand, costs; and each one's answer is the one
// that it gives alone.
func TestQuerySet(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	const delta = 1e-6
	counts := []uint32{3, 4, 0}
	for i, name := range []string{"days/1", "days/2", "days/3"} {
		s.NewLedger(name)
		if counts[i] > 0 {
			s.Report(name, servertest.Writer(), 1, servertest.Gaussian(20, counts[i]))
		}
	}
	s.Create(servertest.Plan("plans/1", servertest.Gaussian(20, 10).Events[0]))
	s.Create(servertest.Plan("plans/2", servertest.Gaussian(20, 30).Events[0]))
	s.Report("plans/1", servertest.Writer(), 1, servertest.Gaussian(20, 2))
	s.Create(servertest.Filter("filters/1", zcdp(0.1)))
	s.Create(servertest.Filter("filters/2", zcdp(0.4)))
	s.Report("filters/2", servertest.Writer(), 1, servertest.Gaussian(20, 5))
	whole, err := accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.9}.Resolve(mechanism.Composition{})
	if err != nil {
		t.Fatal(err)
	}
	filters, err := accountant.AskFilter([]accountant.Limit{whole}, accountant.AtDelta(delta))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names           []string
		guarantee       string
		all, running    float64
		one, oneRunning float64
	}{
		{names: []string{"days/3", "days/1", "days/2"}, guarantee: "descriptive",
			all: askAt(t, normals(20, 7), delta).Epsilon, running: askAt(t, normals(20, 7), delta).Epsilon,
			one: askAt(t, normals(20, 4), delta).Epsilon, oneRunning: askAt(t, normals(20, 4), delta).Epsilon},
		{names: []string{"plans/1", "plans/2"}, guarantee: "plan",
			all: askAt(t, sharing(20, 10, 30), delta).Epsilon, running: askAt(t, normals(20, 2), delta).Epsilon,
			one: askAt(t, normals(20, 30), delta).Epsilon, oneRunning: askAt(t, normals(20, 2), delta).Epsilon},
		{names: []string{"filters/1", "filters/2"}, guarantee: "filter", all: filters.Epsilon,
			running: askAt(t, normals(20, 5), delta).Epsilon, one: math.NaN(),
			oneRunning: askAt(t, normals(20, 5), delta).Epsilon},
		{names: []string{"plans/1"}, guarantee: "plan", all: askAt(t, normals(20, 10), delta).Epsilon,
			running: askAt(t, normals(20, 2), delta).Epsilon, one: askAt(t, normals(20, 10), delta).Epsilon,
			oneRunning: askAt(t, normals(20, 2), delta).Epsilon},
	} {
		t.Run(strings.Join(c.names, " "), func(t *testing.T) {
			got, err := s.Client.QueryPrivacySet(ctx, setAtDelta(delta, c.names...))
			if err != nil {
				t.Fatal(err)
			}
			if got.InAll.GetGuarantee() != c.guarantee || got.InOne.GetGuarantee() != c.guarantee {
				t.Errorf("guarantees %q and %q; want %q", got.InAll.GetGuarantee(), got.InOne.GetGuarantee(),
					c.guarantee)
			}
			if !near(got.InAll.GetEpsilon(), c.all) || !near(got.InAll.GetRunning(), c.running) {
				t.Errorf("in all: ε = %v, %v so far; want %v, %v", got.InAll.GetEpsilon(), got.InAll.GetRunning(),
					c.all, c.running)
			}
			largest := 0.0
			if len(got.Ledgers) != len(c.names) {
				t.Fatalf("%d ledgers; want %d", len(got.Ledgers), len(c.names))
			}
			for i, l := range got.Ledgers {
				if i > 0 && got.Ledgers[i-1].GetLedger() >= l.GetLedger() {
					t.Errorf("%s follows %s", l.GetLedger(), got.Ledgers[i-1].GetLedger())
				}
				alone, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
					Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: l.GetLedger()},
					Given:   &pb.QueryPrivacyRequest_Delta{Delta: delta}})
				if err != nil {
					t.Fatal(err)
				}
				p := l.GetPrivacy()
				if !near(p.GetEpsilon(), alone.GetEpsilon()) || !near(p.GetRunning(), alone.GetRunning()) ||
					p.GetGuarantee() != alone.GetGuarantee() || p.GetPosition() != alone.GetPosition() {
					t.Errorf("%s: %v; alone: %v", l.GetLedger(), p, alone)
				}
				largest = max(largest, p.GetEpsilon())
			}
			if got.InOne.GetEpsilon() != largest || !math.IsNaN(c.one) && !near(largest, c.one) ||
				!near(got.InOne.GetRunning(), c.oneRunning) {
				t.Errorf("in one: ε = %v, %v so far; want %v, %v; the largest is %v", got.InOne.GetEpsilon(),
					got.InOne.GetRunning(), c.one, c.oneRunning, largest)
			}
			if lower := got.InAll.EpsilonLower; lower != nil && (c.guarantee == "filter" || *lower > c.all*(1+1e-9)) {
				t.Errorf("lower bound %v of %v", *lower, c.all)
			}
		})
	}

	// By ε, the answers are δ.
	byEpsilon := setAtDelta(delta, "days/1", "days/2")
	byEpsilon.Given = &pb.QueryPrivacySetRequest_Epsilon{Epsilon: 0.5}
	got, err := s.Client.QueryPrivacySet(ctx, byEpsilon)
	if err != nil {
		t.Fatal(err)
	}
	want, err := accountant.Ask(normals(20, 7), accountant.AtEpsilon(0.5))
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.InAll.GetDelta(), want.Delta) || got.InOne.GetDelta() != got.Ledgers[1].GetPrivacy().GetDelta() {
		t.Errorf("by ε: %v and %v; want %v and the larger of %v", got.InAll.GetDelta(), got.InOne.GetDelta(),
			want.Delta, got.Ledgers)
	}
}

// A ledger of every policy, and one with a budget that can be declared in several ways: in all of them is never
// less than in one.
func TestQuerySetOfMixedPolicies(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	const delta = 1e-5
	rho, loss := 0.05, 1e-7
	s.NewLedger("m/descriptive")
	s.Report("m/descriptive", servertest.Writer(), 1, servertest.Gaussian(30, 1))
	s.Create(servertest.Plan("m/plan", servertest.Gaussian(20, 10).Events[0]))
	s.Create(servertest.Filter("m/zcdp", zcdp(0.1)))
	s.Create(servertest.Filter("m/approximate", &pb.Budget{Guard: pb.Budget_APPROXIMATE_ZCDP, Rho: &rho, Delta: &loss}))
	for i := range 12 {
		epsilon, at, order := 0.5, 1e-6, 60.0
		s.Create(servertest.Filter(fmt.Sprintf("m/rdp-%02d", i),
			&pb.Budget{Guard: pb.Budget_RDP, Epsilon: &epsilon, Delta: &at, Order: &order}))
	}
	got, err := s.Client.QueryPrivacySet(servertest.Context(t), rangeAtDelta(delta, "m/", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Ledgers) != 16 || got.InAll.GetGuarantee() != "descriptive" || got.InAll.EpsilonLower != nil {
		t.Errorf("%d ledgers, guarantee %q, lower %v", len(got.Ledgers), got.InAll.GetGuarantee(),
			got.InAll.EpsilonLower)
	}
	if e := got.InAll.GetEpsilon(); math.IsInf(e, 1) || e < got.InOne.GetEpsilon() || e < got.InAll.GetRunning() {
		t.Errorf("in all: ε = %v; in one %v, so far %v", e, got.InOne.GetEpsilon(), got.InAll.GetRunning())
	}
	// Twelve budgets of RDP at one order have no sum at that order, as one release may be charged to all; what they
	// imply is more than if they had, and finite.
	budget := accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 0.5, Delta: 1e-6, Order: 60}
	limit, err := budget.Resolve(mechanism.Composition{})
	if err != nil {
		t.Fatal(err)
	}
	limit.Value *= 12
	least := limit.Implies(delta)
	got, err = s.Client.QueryPrivacySet(servertest.Context(t), rangeAtDelta(delta, "m/rdp-", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if e := got.InAll.GetEpsilon(); math.IsInf(e, 1) || e < least || got.InAll.GetGuarantee() != "filter" {
		t.Errorf("in all: ε = %v; want more than %v, the conversion of the sum at this order", e, least)
	}
}

// What a child holds is a part of its parent's composition, and is counted once.
func TestQuerySetCountsChildrenOnce(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Filter("family", zcdp(0.5)))
	child := servertest.Filter("family/child", zcdp(0.1))
	child.Parent = "family"
	s.Create(child)
	s.Report("family/child", servertest.Writer(), 1, servertest.Gaussian(10, 3))
	parent, err := s.Client.QueryPrivacySet(servertest.Context(t), setAtDelta(1e-6, "family"))
	if err != nil {
		t.Fatal(err)
	}
	both, err := s.Client.QueryPrivacySet(servertest.Context(t), rangeAtDelta(1e-6, "family", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(both.Ledgers) != 2 || both.InAll.GetEpsilon() != parent.InAll.GetEpsilon() ||
		both.InAll.GetRunning() != parent.InAll.GetRunning() {
		t.Errorf("parent and child: %v; the parent: %v", both.InAll, parent.InAll)
	}
}

func TestQuerySetRange(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, name := range []string{"day", "day/2026-11-01", "day/2026-11-02", "day/2026-11-02/eu", "day/2026-11-03",
		"day-1", "days/2026-11-02"} {
		s.NewLedger(name)
	}
	for _, c := range []struct{ prefix, first, last, want string }{
		{"day/", "2026-11-01", "2026-11-02", "day/2026-11-01 day/2026-11-02"},
		{"day/", "2026-11-02", "", "day/2026-11-02 day/2026-11-02/eu day/2026-11-03"},
		{"day/", "", "2026-11-01", "day/2026-11-01"},
		{"day/2026-11-0", "3", "3", "day/2026-11-03"},
		{"day", "", "", "day day-1 day/2026-11-01 day/2026-11-02 day/2026-11-02/eu day/2026-11-03 days/2026-11-02"},
	} {
		got, err := s.Client.QueryPrivacySet(servertest.Context(t), rangeAtDelta(1e-6, c.prefix, c.first, c.last))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range got.GetLedgers() {
			names = append(names, l.GetLedger())
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%+v: %v", c, names)
		}
	}
}

func TestQuerySetRefusals(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	for _, name := range []string{"a", "b", "replace", "replace-2", "users"} {
		spec := servertest.Spec(name)
		if strings.HasPrefix(name, "replace") {
			spec.Adjacency = pb.Workload_REPLACE_ONE
		}
		if name == "users" {
			spec.PrivacyUnit = "user"
		}
		s.Create(spec)
	}
	for i := range 1001 {
		s.NewLedger(fmt.Sprintf("many/%04d", i))
	}
	for _, c := range []struct {
		request *pb.QueryPrivacySetRequest
		code    codes.Code
		wants   []string
	}{
		{setAtDelta(1e-6), codes.InvalidArgument, []string{"set: missing; allowed: exactly one of ledgers, range"}},
		{setAtDelta(1e-6, "a", "a"), codes.InvalidArgument, []string{`set.ledgers[1]: "a", for the second time`}},
		{setAtDelta(2, "a"), codes.InvalidArgument, []string{"delta: 2; allowed:"}},
		{&pb.QueryPrivacySetRequest{Set: &pb.LedgerSet{Ledgers: []string{"a"}}}, codes.InvalidArgument,
			[]string{"exactly one of delta, epsilon"}},
		{setAtDelta(1e-6, "a", "missing"), codes.NotFound, []string{"ledger missing: not found"}},
		{setAtDelta(1e-6, "a", "replace"), codes.FailedPrecondition, []string{
			"adjacency: ADD_OR_REMOVE_ONE in ledger a, but REPLACE_ONE in ledger replace; allowed: ledgers with"}},
		{setAtDelta(1e-6, "b", "users"), codes.FailedPrecondition, []string{
			`privacy_unit: "" in ledger b, but "user" in ledger users; allowed: ledgers with the same unit`}},
		{rangeAtDelta(1e-6, "none/", "", ""), codes.NotFound, []string{`not found: no ledger with the prefix "none/"`}},
		{rangeAtDelta(1e-6, "many/", "0002", "0001"), codes.InvalidArgument, []string{"set.range.last:"}},
		{rangeAtDelta(1e-6, "many/", "", ""), codes.OutOfRange, []string{"more than 1000 ledgers", "narrower"}},
	} {
		_, err := s.Client.QueryPrivacySet(ctx, c.request)
		wantError(t, err, c.code, c.wants...)
	}
	if got, err := s.Client.QueryPrivacySet(ctx, rangeAtDelta(1e-6, "many/", "0001", "")); err != nil ||
		len(got.Ledgers) != 1000 {
		t.Errorf("1,000 ledgers: %d, %v", len(got.GetLedgers()), err)
	}
	// A replaced record can be in two ledgers.
	got, err := s.Client.QueryPrivacySet(ctx, setAtDelta(1e-6, "replace", "replace-2"))
	if err != nil || got.InOne != nil || !strings.Contains(got.NotInOne, "replaced") || got.InAll == nil {
		t.Errorf("replace-one: %v, %v", got, err)
	}
}

// The caller needs the role on every ledger that is named; ledgers that the caller may not see are in no range,
// and errors do not tell whether they exist.
func TestQuerySetRights(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: viewer, to: 'unverified:ann', on: ['ledger:d/1', 'ledger:d/3', 'ledger:e']}\n")
	g.create(servertest.Spec("d/1"), servertest.Spec("d/2"), servertest.Spec("d/3"))
	ann := as(t, "ann")
	got, err := g.Client.QueryPrivacySet(ann, rangeAtDelta(1e-6, "d/", "", ""))
	if err != nil || len(got.GetLedgers()) != 2 || got.Ledgers[0].GetLedger() != "d/1" ||
		got.Ledgers[1].GetLedger() != "d/3" {
		t.Errorf("a range: %v, %v; want d/1 and d/3", got, err)
	}
	there, err := g.Client.QueryPrivacySet(ann, setAtDelta(1e-6, "d/1", "d/2"))
	wantError(t, err, codes.PermissionDenied, "QueryPrivacySet needs the role viewer on ledger d/2")
	_, missing := g.Client.QueryPrivacySet(ann, setAtDelta(1e-6, "d/1", "d/4"))
	if there != nil || strings.ReplaceAll(missing.Error(), "d/4", "d/2") != err.Error() {
		t.Errorf("%v\n%v", missing, err)
	}
	_, err = g.Client.QueryPrivacySet(ann, rangeAtDelta(1e-6, "d/2", "", ""))
	wantError(t, err, codes.NotFound, "no ledger with the prefix")
	_, err = g.Client.QueryPrivacySet(as(t, "bob"), rangeAtDelta(1e-6, "d/", "", ""))
	wantError(t, err, codes.PermissionDenied)
	if _, err := g.Owner.QueryPrivacySet(servertest.Context(t), rangeAtDelta(1e-6, "d/", "", "")); err != nil {
		t.Error(err)
	}
}

// What each ledger's own answer assumes, the answers about all of them assume, too.
func TestQuerySetAssumesWhatItsLedgersDo(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	ctx := servertest.Context(t)
	for _, name := range []string{"days/1", "days/2"} {
		s.NewLedger(name)
		s.Report(name, servertest.Writer(), 1, servertest.Gaussian(20, 2))
	}
	if _, err := s.owner.Refund(ctx, &pb.RefundRequest{
		Lane:   &pb.Lane{Ledger: "days/2", Writer: servertest.Writer(), Sequence: 1},
		Refund: &pb.Refund{Position: 1, NothingReleased: true, Reason: "it never ran"},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Client.QueryPrivacySet(ctx, setAtDelta(1e-6, "days/1", "days/2"))
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]*pb.QueryPrivacyResponse{"in all": got.GetInAll(), "in one": got.GetInOne()} {
		var text string
		for _, a := range answer.GetAssumptions() {
			text += a.GetText() + "\n"
		}
		if !strings.Contains(text, "ledger days/2, entry 2: ") || !strings.Contains(text, "it never ran") {
			t.Errorf("%s: %s; want the refund in days/2", name, text)
		}
	}
}
