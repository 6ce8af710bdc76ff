// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// An adversary of answers about several ledgers, by enumeration. A person has at most one row in each of three ledgers,
// and mechanisms with finitely many outputs are run on them. Of all neighbouring datasets the hockey-stick divergence
// of everything that was released is summed up, atom by atom, and no answer may be smaller.

const (
	tinyLedgers = 3
	tinyLargest = 4 // outputs are clamped to −4 … 4
)

// rows are the values of the person's rows, by ledger; 0 is no row.
type rows [tinyLedgers]int

// tinyRelease is one output of the rows of some ledgers.
type tinyRelease struct {
	of           []int // the ledgers whose rows are in it
	contribution pb.SetPart_Contribution
	kind         int
	scale, q     float64
	others       int // what the rows of others come to
	held         bool
}

const (
	tinyNoise       = iota // two-sided geometric noise
	tinyPure               // the same, declared as pure_dp
	tinySampled            // Laplace noise on a Poisson sample, rounded to whole numbers
	tinyPureSampled        // geometric noise on a Poisson sample, declared as pure_dp there
	tinyShame              // publishes each row with probability q
	tinyKinds
)

func (r tinyRelease) mechanism() *pb.Mechanism {
	noise := &pb.Mechanism{Kind: &pb.Mechanism_DiscreteLaplace{DiscreteLaplace: &pb.DiscreteLaplace{Scale: &r.scale,
		Sensitivity: proto.Float64(1)}}}
	switch r.kind {
	case tinyPure:
		return servertest.Pure(1/r.scale, 1).GetMechanism()
	case tinyPureSampled:
		return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
			SamplingProbability: &r.q, Mechanism: servertest.Pure(1/r.scale, 1).GetMechanism()}}}
	case tinySampled:
		noise = &pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{Scale: &r.scale,
			Sensitivity: proto.Float64(1)}}}
		return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
			SamplingProbability: &r.q, Mechanism: noise}}}
	case tinyShame:
		return &pb.Mechanism{Kind: &pb.Mechanism_NameAndShame{NameAndShame: &pb.NameAndShame{Delta: &r.q}}}
	}
	return noise
}

// outputs is the distribution of the output.
func (r tinyRelease) outputs(x rows) []float64 {
	there := 0
	for _, l := range r.of {
		if x[l] != 0 {
			there++
		}
	}
	if r.kind == tinyShame { // what is published names the dataset
		if r.contribution == pb.SetPart_OVER_ALL {
			there = min(there, 1)
		}
		none := math.Pow(1-r.q, float64(there))
		out := make([]float64, 1+1<<(2*tinyLedgers))
		at := 0
		for _, l := range r.of {
			at |= (x[l] + 1) << (2 * l)
		}
		out[0], out[1+at] = none, 1-none
		return out
	}
	sums := map[int]float64{} // what the person adds, and how likely that is
	all := 0
	for _, l := range r.of {
		all += x[l]
	}
	if r.contribution == pb.SetPart_OVER_ALL {
		all = max(-1, min(1, all))
	}
	sums[all] = 1
	if r.kind == tinySampled || r.kind == tinyPureSampled {
		if r.contribution == pb.SetPart_ROWS_DRAWN_IN_EACH {
			sums = map[int]float64{0: 1}
			for _, l := range r.of {
				next := map[int]float64{}
				for s, p := range sums {
					next[s] += p * (1 - r.q)
					next[s+x[l]] += p * r.q
				}
				sums = next
			}
		} else {
			next := map[int]float64{}
			for s, p := range sums {
				next[0] += p * (1 - r.q)
				next[s] += p * r.q
			}
			sums = next
		}
	}
	out := make([]float64, 2*tinyLargest+1)
	a := math.Exp(-1 / r.scale)
	below := func(k int) float64 { // the probability of noise ≤ k
		if at := (float64(k) + 0.5) / r.scale; r.kind == tinySampled {
			return 0.5 + math.Copysign(-math.Expm1(-math.Abs(at)), at)/2
		}
		if k < 0 {
			return math.Pow(a, float64(-k)) / (1 + a)
		}
		return 1 - math.Pow(a, float64(k+1))/(1+a)
	}
	for s, p := range sums {
		before := 0.0
		for i := range out {
			upTo := 1.0
			if i < len(out)-1 {
				upTo = below(i - tinyLargest - s - r.others)
			}
			out[i] += p * (upTo - before)
			before = upTo
		}
	}
	return out
}

// divergence is the hockey-stick divergence of all releases at ε.
func divergence(list []tinyRelease, x, y rows, epsilon float64) float64 {
	p, q := []float64{1}, []float64{1}
	times := func(all, by []float64) (out []float64) {
		for _, a := range all {
			for _, b := range by {
				out = append(out, a*b)
			}
		}
		return out
	}
	for _, r := range list {
		a, b := r.outputs(x), r.outputs(y)
		for i := len(a) - 1; i >= 0; i-- {
			if a[i] == 0 && b[i] == 0 {
				a, b = slices.Delete(a, i, i+1), slices.Delete(b, i, i+1)
			}
		}
		p, q = times(p, a), times(q, b)
	}
	sum := 0.0
	for i := range p {
		sum += max(0, p[i]-math.Exp(epsilon)*q[i])
	}
	return sum
}

// neighbours calls f with all pairs of which the person has rows in some ledgers, and at most so many are changed. Of
// one change there is one row, since a number about one ledger is for whoever is in no other.
func neighbours(adjacency pb.Workload_Adjacency, of []int, most int, f func(x, y rows)) {
	values := []int{0, 1}
	if adjacency == pb.Workload_REPLACE_ONE {
		values = []int{-1, 1}
	}
	for at := range 1 << tinyLedgers {
		var x rows
		for l := range x {
			if slices.Contains(of, l) {
				x[l] = values[at>>l&1]
			}
		}
		for to := range 1 << tinyLedgers {
			y, changed := x, 0
			for _, l := range of {
				y[l] = values[to>>l&1]
				if adjacency != pb.Workload_REPLACE_ONE {
					y[l] = 0
				}
				if y[l] != x[l] {
					changed++
				}
			}
			if changed <= most && changed > 0 {
				if most == 1 {
					for l := range x {
						if x[l] == y[l] {
							x[l], y[l] = 0, 0
						}
					}
				}
				f(x, y)
				f(y, x)
			}
		}
	}
}

// worst is the largest divergence of all neighbours.
func worst(list []tinyRelease, adjacency pb.Workload_Adjacency, of []int, most int, epsilon float64) (delta float64) {
	if math.IsInf(epsilon, 1) {
		return 0
	}
	neighbours(adjacency, of, most, func(x, y rows) { delta = max(delta, divergence(list, x, y, epsilon)) })
	return delta
}

// drawTiny draws a release of some ledgers. Of what is declared as pure_dp it is only known under ADD_OR_REMOVE_ONE
// that a row moves a sum by no more than 1, and what samples of it do.
func drawTiny(r *rand.Rand, adjacency pb.Workload_Adjacency) tinyRelease {
	out := tinyRelease{kind: r.IntN(tinyKinds), scale: []float64{0.7, 2, 5}[r.IntN(3)],
		q: []float64{0.05, 0.4}[r.IntN(2)], others: r.IntN(3) - 1}
	if adjacency != pb.Workload_ADD_OR_REMOVE_ONE && (out.kind == tinyPure || out.kind == tinyPureSampled) {
		out.kind--
	}
	out.of = r.Perm(tinyLedgers)[:1+r.IntN(tinyLedgers)]
	slices.Sort(out.of)
	out.contribution = []pb.SetPart_Contribution{pb.SetPart_IN_EACH, pb.SetPart_OVER_ALL}[r.IntN(2)]
	if (out.kind == tinySampled || out.kind == tinyPureSampled) && out.contribution == pb.SetPart_IN_EACH {
		out.contribution = []pb.SetPart_Contribution{pb.SetPart_ROWS_DRAWN_IN_EACH,
			pb.SetPart_PEOPLE_DRAWN_IN_EACH}[r.IntN(2)]
	}
	return out
}

// make charges a release to ledgers, or sets it aside, and reports whether that was accepted.
func (r *tinyRelease) make(t *testing.T, s *servertest.Server, random *rand.Rand, names []string) bool {
	t.Helper()
	ctx, events := servertest.Context(t), []*pb.Event{{Mechanism: r.mechanism(), Count: 1}}
	set, writer := &pb.LedgerSet{Ledgers: names}, servertest.Writer()
	var err error
	switch random.IntN(3) {
	case 0:
		reserve := &pb.ReserveRequest{Lane: &pb.Lane{Ledgers: set, Writer: writer, Sequence: 1,
			Contribution: r.contribution},
			Reserve: &pb.Reserve{Events: events, LifetimeSeconds: 3600}}
		var made *pb.WriteResponse
		if made, err = s.Client.Reserve(ctx, reserve); err == nil && random.IntN(2) == 0 {
			r.held = true
		} else if err == nil {
			_, err = s.Client.Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: made.GetReceipt().GetLedger(),
				Writer: servertest.Writer(), Sequence: 1},
				Commit: &pb.Commit{Events: events, Reservation: made.GetReceipt().GetPosition()}})
			if err != nil {
				t.Fatal(err)
			}
		}
	default:
		_, err = s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledgers: set, Writer: writer, Sequence: 1,
			Contribution: r.contribution},
			Charge: &pb.Charge{Events: events}})
	}
	switch status.Code(err) {
	case codes.OK:
		return true
	case codes.ResourceExhausted, codes.FailedPrecondition: // a budget, or one budget for two ledgers
		return false
	}
	t.Fatal(err)
	return false
}

// checkTiny compares one answer with the truth at its ε.
func checkTiny(t *testing.T, what string, list []tinyRelease, adjacency pb.Workload_Adjacency, of []int, most int,
	epsilon, delta float64) {
	t.Helper()
	if truth := worst(list, adjacency, of, most, epsilon); truth > delta*(1+1e-9)+1e-12 {
		t.Errorf("%s: ε ≤ %v at δ = %v; but δ is %v of %+v, %v", what, epsilon, delta, truth, list, adjacency)
	}
}

func settled(list []tinyRelease) []tinyRelease {
	return slices.DeleteFunc(slices.Clone(list), func(r tinyRelease) bool { return r.held })
}

func TestSetsByEnumeration(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	adjacencies := []pb.Workload_Adjacency{pb.Workload_ADD_OR_REMOVE_ONE, pb.Workload_REPLACE_ONE,
		pb.Workload_ZERO_OUT}
	for seed := range uint64(12 / testaid.Every(4)) {
		r := rand.New(rand.NewPCG(seed, 29))
		adjacency := adjacencies[seed%3]
		names := make([]string, tinyLedgers)
		filter := r.IntN(2) == 0
		child := filter && r.IntN(2) == 0
		for l := range names {
			names[l] = fmt.Sprintf("s%d/%d", seed, l)
			spec := servertest.Spec(names[l])
			if filter {
				spec = servertest.Filter(names[l], &pb.Budget{Guard: pb.Budget_BASIC, Epsilon: proto.Float64(3),
					Delta: proto.Float64(0.5)})
				spec.PrivacyUnit = []string{"", "user"}[seed%2]
			}
			spec.Adjacency = adjacency
			s.Create(spec)
		}
		if child { // of the first
			spec := servertest.Filter(names[0]+"/child", &pb.Budget{Guard: pb.Budget_BASIC, Epsilon: proto.Float64(2),
				Delta: proto.Float64(0.45)})
			spec.Adjacency, spec.Parent, spec.PrivacyUnit = adjacency, names[0], []string{"", "user"}[seed%2]
			s.Create(spec)
		}
		var list []tinyRelease
		for range 1 + r.IntN(2) {
			release := drawTiny(r, adjacency)
			var to []string
			for _, l := range release.of {
				if to = append(to, names[l]); l == 0 && child && r.IntN(2) == 0 {
					to[len(to)-1] += "/child"
				}
			}
			if release.make(t, s, r, to) {
				list = append(list, release)
			}
		}
		asked := r.Perm(tinyLedgers)[:2+r.IntN(tinyLedgers-1)]
		var of []string
		for _, l := range asked {
			of = append(of, names[l])
		}
		for _, delta := range []float64{1e-6, 0.1} {
			got, err := s.Client.QueryPrivacySet(servertest.Context(t), setAtDelta(delta, of...))
			if err != nil {
				t.Fatal(err)
			}
			says := func(what string) string { return fmt.Sprintf("seed %d: %s", seed, what) }
			all := got.GetInAll()
			checkTiny(t, says("in all"), list, adjacency, asked, len(asked), all.GetEpsilon(), delta)
			if !child { // what is released below a ledger is set aside there, and is not yet charged
				checkTiny(t, says("in all so far"), settled(list), adjacency, asked, len(asked), all.GetRunning(),
					delta)
			}
			if one := got.GetInOne(); one != nil {
				checkTiny(t, says("in one"), list, adjacency, asked, 1, one.GetEpsilon(), delta)
			}
			for _, ledger := range got.GetLedgers() {
				l := slices.Index(names, ledger.GetLedger())
				checkTiny(t, says(ledger.GetLedger()), list, adjacency, []int{l}, 1, ledger.GetPrivacy().GetEpsilon(),
					delta)
			}
		}
	}
}

// Of what is on a sample of people the ledgers' own curves prove nothing about somebody in several ledgers: of Laplace
// noise, of which no group is known, they said ε ≤ 0.692114 at δ = 1e-6 where δ is 0.044. Ledgers with a budget do not
// take it.
func TestPeopleDrawnByEnumeration(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	r := tinyRelease{of: []int{0, 1, 2}, contribution: pb.SetPart_PEOPLE_DRAWN_IN_EACH, kind: tinySampled, scale: 2,
		q: 0.4}
	charge := &pb.Charge{Events: []*pb.Event{{Mechanism: r.mechanism(), Count: 1}}}
	for _, prefix := range []string{"descriptive/", "filter/"} {
		var names []string
		for l := range tinyLedgers {
			names = append(names, fmt.Sprint(prefix, l))
			spec := servertest.Spec(names[l])
			if prefix == "filter/" {
				spec = servertest.Filter(names[l], servertest.Basic(1))
			}
			s.Create(spec)
		}
		_, err := s.Client.Report(servertest.Context(t),
			&pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: names}, Writer: servertest.Writer(),
				Sequence: 1, Contribution: r.contribution},
				Charge: charge})
		if prefix == "filter/" {
			wantError(t, err, codes.FailedPrecondition, "PEOPLE_DRAWN_IN_EACH", "has a budget or a plan")
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		got, err := s.Client.QueryPrivacySet(servertest.Context(t), setAtDelta(1e-6, names...))
		if err != nil {
			t.Fatal(err)
		}
		for _, epsilon := range []float64{got.GetInAll().GetEpsilon(), got.GetInAll().GetRunning()} {
			checkTiny(t, "people drawn", []tinyRelease{r}, pb.Workload_ADD_OR_REMOVE_ONE, r.of, 3, epsilon, 1e-6)
		}
	}
}

// The budget of a dataset holds for everything that is released from its ledgers, also together with ledgers of other
// datasets, and in whatever order it is registered.
func TestDatasetsOfSetsByEnumeration(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	const budget = 1.5
	full, registered := 0, 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 30))
		id := func(l int) string { return fmt.Sprintf("t%d-%d", seed, l/2) } // the first two, and the third
		names := make([]string, tinyLedgers)
		for l := range names {
			names[l] = fmt.Sprintf("t%d/%d", seed, l)
			s.Create(of(id(l), "1", servertest.Filter(names[l], servertest.Basic(budget/2))))
		}
		when := r.IntN(4) // so many releases are made before the first dataset is registered
		var list []tinyRelease
		for i := range 8 {
			if i == when {
				spec := survey(servertest.Basic(budget))
				spec.Id, spec.Independence = id(0), "tried"
				if _, err := s.register(spec); err != nil {
					wantError(t, err, codes.FailedPrecondition, "in each")
					break
				}
				registered++
			}
			release := drawTiny(r, pb.Workload_ADD_OR_REMOVE_ONE)
			if release.kind == tinyShame {
				release.kind = tinyNoise
			}
			var to []string
			for _, l := range release.of {
				to = append(to, names[l])
			}
			if len(list) == 4 {
				break
			}
			if release.make(t, s.Server, r, to) {
				list = append(list, release)
			} else {
				full++
			}
		}
		if _, err := s.Client.GetLedger(servertest.Context(t),
			&pb.GetLedgerRequest{Name: ledger.DatasetName(id(0))}); err != nil {
			continue
		}
		checkTiny(t, fmt.Sprintf("seed %d: the dataset", seed), list, pb.Workload_ADD_OR_REMOVE_ONE, []int{0, 1}, 2,
			budget, 0)
	}
	if full == 0 || registered < 5 {
		t.Errorf("%d releases were refused, %d datasets registered", full, registered)
	}
}
