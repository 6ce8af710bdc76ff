// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

const (
	// maxStatementDeltas bounds the δ of one statement.
	maxStatementDeltas = 16
	// MaxStatementParts bounds its distinct mechanisms, so that the message stays
	// below the 4 MiB that clients accept.
	MaxStatementParts = 20_000
)

// CheckDeltas accepts up to maxStatementDeltas numbers in (0, 1).
func CheckDeltas(deltas []float64) error {
	if len(deltas) > maxStatementDeltas {
		return wire.Invalid("deltas", fmt.Sprintf("%d given", len(deltas)),
			fmt.Sprintf("at most %d", maxStatementDeltas))
	}
	for i, d := range deltas {
		if !(d > 0 && d < 1) {
			return wire.Invalid(fmt.Sprintf("deltas[%d]", i), fmt.Sprint(d), "a number in (0, 1)")
		}
	}
	return nil
}

// StatementDeltas are those at which a ledger's ε is stated: what was asked for, or
// the usual ones and its budgets', largest first; each once.
func StatementDeltas(asked []float64, budgets []accountant.Budget) []float64 {
	all := slices.Clone(asked)
	if len(all) == 0 {
		all = []float64{1e-5, 1e-6, 1e-8, 1e-10}
		for _, b := range budgets {
			if b.Delta > 0 {
				all = append(all, b.Delta)
			}
			if b.Delta > 0 && b.Rho > 0 { // ε is finite only above the budget's own δ
				all = append(all, OwnDelta([]accountant.Budget{b}))
			}
		}
	}
	slices.SortFunc(all, func(x, y float64) int { return cmp.Compare(y, x) })
	return slices.Compact(all)
}

// Statement is what is stated of a ledger.
type Statement struct {
	Of        ledger.View // what was asked about: of a dataset that shares a budget, not what the numbers are of
	View      ledger.View
	Stated    []mechanism.Part // what the numbers are of
	Privacy   []StatedPrivacy
	Own       float64 // the ledger's own δ: the statement opens with it if it is among those of Privacy
	Rho, Mu   float64 // +Inf where there is none
	Advantage float64
	TradeOff  []accountant.TradeOffPoint
	Groups    []GroupPrivacy
	Observed  []Observed
	Stopped   bool // the time ran out before the numbers were as tight as they get
	Version   string
	Time      time.Time
	Notes     []string            // on the dataset and its other ledgers, in whole sentences
	Ledgers   []*pb.DatasetLedger // of a dataset; Stated is what was charged to them so far
	Access    []string            // what the access policy leaves to trust, in whole sentences
}

// OtherLedgers says that a ledger's numbers are not those of all its data.
func OtherLedgers(why string) string {
	return why + ": other ledgers of the same data may exist, and this statement does not count what was released " +
		"from them."
}

// StatedPrivacy is ε at one δ, under the guarantee and of what was charged so far.
type StatedPrivacy struct {
	Stated, Running accountant.Answer
	// ε if the batches had been drawn otherwise; nil if that is not known, or is what was reported
	Shuffled  *float64 // cut from shuffled data
	Allocated *float64 // every record dealt into one of them at random
	Sampled   *float64 // Poisson samples

	ShuffledLower *float64 // no accountant can prove less than this for shuffled data; nil if no such bound is known
}

// GroupPrivacy is the ε at δ of Size records together.
type GroupPrivacy struct {
	Size           uint64
	Delta, Epsilon float64
}

// FromStatement makes the API's view of a statement.
func FromStatement(s Statement) *pb.Statement {
	out := &pb.Statement{
		Ledger: wire.FromBalances(s.View), Guarantee: s.View.Guarantee, Advantage: &s.Advantage,
		Assumptions: assumptions(s), Version: s.Version, Time: timestamppb.New(s.Time), Ledgers: s.Ledgers,
	}
	if s.Of.Dataset != nil {
		out.Dataset = wire.FromDataset(s.Of)
	}
	var deltas []float64
	for _, p := range s.Privacy {
		deltas = append(deltas, p.Stated.Delta)
		out.Privacy = append(out.Privacy, &pb.StatedPrivacy{
			Delta: p.Stated.Delta, Epsilon: p.Stated.Epsilon, EpsilonLower: p.Stated.EpsilonLower,
			Analysis: string(p.Stated.Analysis), Running: &p.Running.Epsilon, Shuffled: p.Shuffled,
			Allocated: p.Allocated, PoissonSampled: p.Sampled, ShuffledLower: p.ShuffledLower,
		})
	}
	if !math.IsInf(s.Rho, 1) {
		out.Rho = &s.Rho
	}
	if !math.IsInf(s.Mu, 1) {
		out.Mu = &s.Mu
	}
	warned := warnings(mechanism.Composition{Adjacency: s.View.Genesis.Spec.Adjacency, Parts: s.Stated}, deltas...)
	for _, p := range s.Privacy {
		warned = append(warned, planWarnings(s.View, p.Stated)...)
	}
	out.Warnings = append(texts(warned, names(s.View.Acknowledged)), timeNotes(s.Stopped)...)
	out.AcknowledgedWarnings = acknowledged(warned, s.View.Acknowledged)
	for _, g := range s.Groups {
		out.Groups = append(out.Groups, &pb.GroupPrivacy{Size: g.Size, Delta: g.Delta, Epsilon: g.Epsilon})
	}
	out.TradeOff = fromTradeOff(s.TradeOff)
	alarms := contradictions(s.Observed)
	out.Warnings = append(alarms, out.Warnings...)
	lost := append(NotCounted(s.View.Balance.Assumptions), alarms...)
	out.Summary, out.Sections = strings.Join(append(lost, s.summary()), " "), s.sections()
	fitStatement(out, s)
	return out
}

// acknowledged describes what was acknowledged, with the warnings that would be given now.
func acknowledged(warned []warning, list []ledger.Acknowledgement) (out []string) {
	for _, a := range list {
		now := "It would not be given now."
		for _, w := range warned {
			if w.name == a.Warning {
				now = w.text
				break
			}
		}
		out = append(out, fmt.Sprintf("%s: acknowledged by %s on %s (entry %d), for this reason: %s. The warning: %s",
			a.Warning, a.Principal, a.Time.UTC().Format("2 Jan 2006, 15:04 UTC"), a.Position,
			strings.TrimRight(a.Reason, "."), now))
	}
	return out
}

// fitStatement adds the mechanisms and the reservations, which there may be many of. Of
// what the rest leaves, mechanisms get as much as they need, but for the short form of
// reservations.
func fitStatement(out *pb.Statement, s Statement) {
	mechanisms := make([]*pb.MechanismCount, len(s.Stated))
	for i, p := range s.Stated {
		mechanisms[i] = wire.FromPart(p)
	}
	const shortReservation = 768 // a principal and a child at their longest
	fitMechanisms(out, mechanisms,
		wire.MaxAnswerBytes-proto.Size(out)-shortReservation*len(s.View.Reservations)-wire.MaxRequestBytes)
	wire.FitReservations(out.Ledger, s.View.Reservations, wire.MaxAnswerBytes-proto.Size(out))
}

// assumptions are what the numbers rest on, in words.
func assumptions(s Statement) []string {
	spec := s.View.Genesis.Spec
	unit := cmp.Or(spec.PrivacyUnit, "record")
	whole := "Everything that was released from the dataset was charged to this ledger."
	switch {
	case spec.Dataset != nil:
		belong := "belong"
		if s.View.Dataset.MaxRecords == 1 {
			belong = "belongs"
		}
		whole = fmt.Sprintf("Everything that was released from the dataset was charged to its ledgers. At most %d of "+
			"its records %s to one %s; this is enforced by: %s.", s.View.Dataset.MaxRecords, belong, unit,
			strings.TrimRight(s.View.Dataset.EnforcedBy, "."))
	case ledger.IsDataset(s.View.Parent):
		whole = "Everything that this ledger stands for was charged to it; all that was released from the dataset is " +
			"the matter of the dataset's statement."
	case spec.Parent != "":
		whole = "Everything that this ledger stands for was charged to it; all that was released from the dataset is " +
			"the matter of ledger " + spec.Parent + "."
	}
	list := []string{
		whole,
		"Each mechanism ran with the stated parameters, and its sensitivity bounds what one " + unit + " contributes.",
		"Noise is ideal: exactly of the stated distribution, real-valued unless that is on whole numbers, from a " +
			"secure source of randomness.",
	}
	switch s.View.Guarantee {
	case ledger.GuaranteePlan:
		list = append(list,
			"Only what the plan declares was run; order, omissions and stopping may have depended on outputs.")
	case ledger.GuaranteeFilter:
		list = append(list, "What was run, its parameters and when it stopped may have depended on outputs.")
	default:
		list = append(list, "Neither what was run, nor its parameters, nor when it stopped depended on outputs.")
	}
	has := map[string]bool{}
	for _, p := range s.Stated {
		has[p.Mechanism.Kind()] = true
	}
	if has["poisson_sampled"] || has["dp_sgd"] {
		list = append(list,
			"Sampled batches were drawn by Poisson sampling: each record independently with the stated probability, "+
				"anew for each step.",
			"Sampling probabilities, and the batch and dataset sizes that give them, are public.",
			"Training libraries such as Opacus divide the sum of gradients by the expected batch size. "+
				"It follows from the dataset's size, so that size must be public too.")
	}
	for _, kind := range []string{"pure_dp", "approximate_dp", "zero_concentrated_dp", "gaussian_dp"} {
		if has[kind] {
			list = append(list, "Mechanisms that are declared by their guarantee have it, for this adjacency and unit.")
			break
		}
	}
	list = append(list, mechanism.Composition{Adjacency: spec.Adjacency, Parts: s.Stated}.Assumptions()...)
	switch holds := slices.ContainsFunc(s.View.Reservations,
		func(r ledger.Reservation) bool { return r.Child != "" }); {
	case spec.Dataset != nil:
		list = append(list, "What was charged so far counts what each ledger was charged, and what the child ledgers "+
			"below these hold.")
	case holds:
		list = append(list, "What open child ledgers hold counts as charged.")
	}
	if s.View.Guarantee == ledger.GuaranteeDescriptive &&
		slices.ContainsFunc(s.View.Reservations, func(r ledger.Reservation) bool { return r.Child == "" }) {
		list = append(list, "What is reserved counts as charged: it may have been used.")
	}
	if spec.PrivacyUnit == "" {
		list = append(list, "The unit of privacy was not given; it is taken to be one record.")
	}
	list = append(list, s.Notes...)
	for _, a := range wire.Shortened(s.View.Balance.Assumptions) {
		list = append(list, s.entry(a))
	}
	return list
}

// entry is an assumption with the entry that it comes from. A dataset's are of its own record, or
// of one of its ledgers, which ledger.View.With names at the beginning.
func (s Statement) entry(a ledger.Assumption) string {
	if s.View.Genesis.Spec.Dataset == nil {
		return fmt.Sprintf("Entry %d: %s", a.Position, a.Text)
	}
	if of, ok := strings.CutPrefix(a.Text, "ledger "); ok {
		if name, text, ok := strings.Cut(of, ": "); ok {
			return fmt.Sprintf("Entry %d of ledger %s: %s", a.Position, name, text)
		}
	}
	return fmt.Sprintf("Entry %d of the dataset's record: %s", a.Position, a.Text)
}

// fitMechanisms adds the mechanisms of a statement that fit into room and counts those
// that do not.
func fitMechanisms(out *pb.Statement, list []*pb.MechanismCount, room int) {
	for i, m := range list {
		if room -= proto.Size(m) + wire.TagAndLength; room < 0 {
			out.MechanismsOmitted = uint32(len(list) - i)
			return
		}
		out.Mechanisms = append(out.Mechanisms, m)
	}
}
