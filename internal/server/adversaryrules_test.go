// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/adversarytest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// released is a mechanism with the pairs of what can be run under its name: one, or one
// for each of several parts.
type released struct {
	*pb.Mechanism
	faces [][]adversarytest.Outcome
}

func paired(m *pb.Mechanism, outcomes []adversarytest.Outcome) released {
	return released{m, [][]adversarytest.Outcome{outcomes}}
}

func ptr(x float64) *float64 { return &x }

func pure(epsilon float64) released {
	return paired(servertest.Pure(epsilon, 1).Mechanism, adversarytest.Response(epsilon))
}

func approximate(epsilon, delta float64) released {
	m := &pb.Mechanism_ApproximateDp{ApproximateDp: &pb.ApproximateDp{Epsilon: &epsilon, Delta: &delta}}
	return paired(&pb.Mechanism{Kind: m}, adversarytest.Failing(epsilon, delta))
}

func failing(delta float64) released {
	m := &pb.Mechanism_NameAndShame{NameAndShame: &pb.NameAndShame{Delta: &delta}}
	return paired(&pb.Mechanism{Kind: m}, adversarytest.Failing(0, delta))
}

func gaussianDP(mu float64) released {
	m := &pb.Mechanism_GaussianDp{GaussianDp: &pb.GaussianDp{Mu: &mu}}
	return paired(&pb.Mechanism{Kind: m}, adversarytest.Sign(mu))
}

// skewed is a table with an atom in either direction that are not alike.
func skewed() released {
	losses, masses, infinite := []float64{-1, 0.5, 1.5}, []float64{0.1875, 0.375, 0.375}, 0.0625
	m := &pb.Mechanism_PrivacyLossTable{PrivacyLossTable: &pb.PrivacyLossTable{Losses: losses, Masses: masses,
		InfiniteMass: &infinite}}
	return paired(&pb.Mechanism{Kind: m}, adversarytest.Table(losses, masses))
}

// parallelOf is a release on disjoint parts, into any of which the record may fall.
func parallelOf(fixed bool, parts ...released) released {
	m := &pb.Parallel{PartitionFixedInAdvance: fixed}
	r := released{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Parallel{Parallel: m}}}
	for _, p := range parts {
		m.Parts = append(m.Parts, p.Mechanism)
		r.faces = append(r.faces, p.faces...)
	}
	return r
}

// zeroConcentrated is set aside for a child; nothing is run under its name.
func zeroConcentrated(rho float64) released {
	m := &pb.Mechanism_ZeroConcentratedDp{ZeroConcentratedDp: &pb.ZeroConcentratedDp{Rho: &rho}}
	return released{&pb.Mechanism{Kind: m}, nil}
}

// events are one of each mechanism with its count.
func events(list ...any) (out []*pb.Event) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, &pb.Event{Mechanism: list[i].(released).Mechanism, Count: uint32(list[i+1].(int))})
	}
	return out
}

func planOf(list ...*pb.Event) func(string) *pb.LedgerSpec {
	return func(name string) *pb.LedgerSpec { return servertest.Plan(name, list...) }
}

func filterOf(budgets ...*pb.Budget) func(string) *pb.LedgerSpec {
	return func(name string) *pb.LedgerSpec { return servertest.Filter(name, budgets...) }
}

// budget is one with a guard; numbers that are 0 are not given.
func budget(g pb.Budget_Guard, epsilon, delta, rho, mu, order float64) *pb.Budget {
	b := &pb.Budget{Guard: g}
	for _, n := range []struct {
		field **float64
		value float64
	}{{&b.Epsilon, epsilon}, {&b.Delta, delta}, {&b.Rho, rho}, {&b.Mu, mu}, {&b.Order, order}} {
		if n.value != 0 {
			*n.field = ptr(n.value)
		}
	}
	return b
}

func basic(epsilon, delta float64) *pb.Budget {
	return budget(pb.Budget_BASIC, epsilon, delta, 0, 0, 0)
}

func rules() []rule {
	whole, half, fail, table := pure(1), pure(0.5), failing(0.1), skewed()
	plan := planOf(events(whole, 1, half, 2, fail, 1, table, 1)...)
	inPlan := []move{run("", whole), run("", half), run("", fail), run("", table)}
	pures := []move{run("", whole), run("", pure(0.7)), run("", pure(0.4))}
	// Two filters that together have nearly all of the budget (1.75, 0.05).
	pair := []move{run("/a", pure(1.5)), run("/a", pure(0.75)), run("/b", pure(0.15)), run("/b", failing(0.05))}
	parts, fixed := parallelOf(false, whole, fail), parallelOf(true, whole, fail)
	first, other := filterOf(basic(1.5, 0)), filterOf(basic(0.15, 0.05))
	return []rule{{
		name: "plan", tight: 0.99, spec: plan, moves: inPlan, skewed: true,
	}, {
		name: "plan with a child that has a part of it", tight: 0.98,
		spec: planOf(events(whole, 1, half, 2, fail, 1)...),
		moves: []move{
			run("", whole), run("", half), run("", fail), run("/c", whole), run("/c", half),
			open("/c", true, planOf(events(whole, 1, half, 1)...)), shut("/c"),
		},
	}, {
		name: "plan with filters in it", tight: 0.8,
		spec: planOf(events(whole, 1, approximate(0.75, 0.05), 1, zeroConcentrated(0.125), 1)...),
		moves: []move{
			run("", whole), run("/a", pure(0.25)), run("/a", failing(0.05)), run("/z", pure(0.35)), run("/z", half),
			open("/a", true, filterOf(basic(0.75, 0.05))),
			open("/z", true, filterOf(budget(pb.Budget_ZCDP, 0, 0, 0.125, 0, 0))),
		},
	}, {
		// One partition: he reaches all of it but for rounding.
		name: "plan with parts", tight: 1 - 1e-9, spec: planOf(events(whole, 1, half, 1, parts, 1)...),
		moves: []move{run("", whole), run("", half), run("", parts)},
	}, {
		name: "plan with parts, twice", tight: 0.95, spec: planOf(events(half, 1, parts, 2)...),
		moves: []move{run("", half), run("", parts)},
	}, {
		name: "basic with parts", tight: 0.6, spec: filterOf(basic(2, 0.2)),
		moves: []move{run("", half), run("", parts)},
	}, {
		name: "basic", tight: 0.95, spec: filterOf(basic(1.9, 0.1)),
		moves: []move{run("", pure(1.9)), run("", whole), run("", pure(0.9)), run("", fail),
			run("", approximate(0.5, 0.05))},
	}, {
		name: "zcdp", tight: 0.3, spec: filterOf(budget(pb.Budget_ZCDP, 3, 0.05, 0, 0, 0)), moves: pures,
	}, {
		name: "approximate zcdp", tight: 0.3, spec: filterOf(budget(pb.Budget_APPROXIMATE_ZCDP, 3, 0.05, 0, 0, 0)),
		moves: append([]move{run("", failing(0.02))}, pures...),
	}, {
		name: "rdp", tight: 0.3, spec: filterOf(budget(pb.Budget_RDP, 3, 0.05, 0, 0, 3)), moves: pures,
	}, {
		name: "gdp", tight: 0.6, spec: filterOf(budget(pb.Budget_GDP, 0, 0, 0, 1.5, 0)),
		moves: []move{run("", gaussianDP(1)), run("", gaussianDP(0.75)), run("", gaussianDP(0.5))},
	}, {
		name: "basic with filters as children", tight: 0.85, spec: filterOf(basic(1.75, 0.05)),
		setup: []move{open("/a", true, first), open("/b", true, other)},
		moves: append(slices.Clone(pair), run("", pure(0.1))),
	}, {
		name: "basic with children of other guards", tight: 0.3, spec: filterOf(basic(2, 0.1)),
		moves: []move{
			run("", half), run("/r", pure(0.4)), run("/z", pure(0.4)), run("/z", failing(0.025)),
			open("/r", true, filterOf(budget(pb.Budget_RDP, 0.75, 0.05, 0, 0, 16))),
			open("/z", true, filterOf(budget(pb.Budget_APPROXIMATE_ZCDP, 0.75, 0.05, 0, 0, 0))),
		},
	}, {
		name: "zcdp with children", tight: 0.4, spec: filterOf(budget(pb.Budget_ZCDP, 0, 0, 0.75, 0, 0)),
		setup: []move{open("/z", true, filterOf(budget(pb.Budget_ZCDP, 0, 0, 0.31, 0, 0)))},
		moves: []move{
			run("", pure(0.8)), run("/z", pure(0.8)), run("/z", pure(0.4)),
			run("/g", gaussianDP(0.5)), run("/c", pure(0.4)),
			open("/g", true, filterOf(budget(pb.Budget_GDP, 0, 0, 0, 0.5, 0))),
			open("/c", true, planOf(servertest.Pure(0.4, 2))), shut("/c"),
		},
	}, {
		name: "plan with parts that are chosen by the outputs", tight: 0.9,
		spec: planOf(events(whole, 1, parts, 2)...), moves: []move{run("", whole), run("", parts)},
	}, {
		name: "basic with parts that are chosen by the outputs", tight: 0.6, spec: filterOf(basic(2, 0.1)),
		moves: []move{run("", whole), run("", parts)},
	}, {
		name: "wrong: one step more than the plan", wrong: true, stated: plan,
		spec: planOf(events(whole, 2, half, 2, fail, 1, table, 1)...), moves: inPlan,
	}, {
		name: "wrong: a partition by outputs that is taken to be fixed", wrong: true,
		stated: planOf(events(whole, 1, half, 1, fixed, 1)...),
		spec:   planOf(events(whole, 1, half, 1, parts, 1)...),
		moves:  []move{run("", whole), run("", half), run("", parts)},
	}, {
		name: "wrong: what children spend is forgotten", wrong: true, spec: filterOf(basic(1.75, 0.05)),
		setup: []move{open("/a", false, first), open("/b", false, other)},
		moves: append(slices.Clone(pair), run("", pure(1.75))),
	}, {
		name: "wrong: parts are said to be fixed and chosen by the outputs", wrong: true,
		spec: planOf(events(whole, 1, fixed, 2)...), moves: []move{run("", whole), run("", fixed)},
	}, {
		// Every path by itself keeps δ at ε = 1 below 0.34. Who chooses the path by what came
		// out reaches 0.41.
		name: "wrong: an odometer as a filter", wrong: true, spec: servertest.Spec, claim: map[float64]float64{1: 0.34},
		moves: []move{odometer(1, 0.34, "", whole), odometer(1, 0.34, "", fail)},
	}}
}

// run is a release charged to the ledger root/child, or to the root if child is "".
func run(child string, r released) move {
	name := fmt.Sprintf("charge %q %v", child, r.Mechanism)
	return move{adversarytest.Move{Name: name, Faces: r.faces}, func(f *family) error {
		_, err := f.server.Client.Report(servertest.Context(f.t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: f.root + child, Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: []*pb.Event{{Mechanism: r.Mechanism, Count: 1}}},
		})
		return err
	}}
}

// odometer makes a charge to a ledger without a budget, if the answer about what was
// charged with it stays within the budget: which is no guard.
func odometer(epsilon, delta float64, child string, r released) move {
	m := run(child, r)
	take := m.take
	m.take = func(f *family) error {
		list := []*pb.Event{{Mechanism: r.Mechanism, Count: 1}}
		entries, err := f.server.Client.ListEntries(servertest.Context(f.t), &pb.ListEntriesRequest{Ledger: f.root})
		if err != nil {
			return err
		}
		for _, e := range entries.GetEntries() {
			list = append(list, e.GetCharge().GetEvents()...)
		}
		answer, err := f.server.Client.QueryPrivacy(servertest.Context(f.t), &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Workload{Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
				Events: list}},
			Given: &pb.QueryPrivacyRequest_Epsilon{Epsilon: epsilon}})
		if err != nil {
			return err
		}
		if answer.GetDelta() > delta {
			return status.Error(codes.ResourceExhausted, "over the budget")
		}
		return take(f)
	}
	return m
}
