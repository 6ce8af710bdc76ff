// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// A statement's words. They are for readers who have never heard of differential privacy, so
// they use no word that they do not explain. Losses are rounded up.

// unit names what is protected.
func (s Statement) unit() string { return cmp.Or(s.View.Genesis.Spec.PrivacyUnit, "record") }

// Headline is the answer that a statement opens with, and of whose δ all of it speaks: that at the ledger's own δ, at
// which it is shown everywhere else. If that δ was not asked for or has no finite ε, it is the first answer with one.
func Headline(list []StatedPrivacy, own float64) (StatedPrivacy, bool) {
	finite := func(p StatedPrivacy) bool { return !math.IsInf(p.Stated.Epsilon, 1) }
	i := slices.IndexFunc(list, func(p StatedPrivacy) bool { return p.Stated.Delta == own && finite(p) })
	if i < 0 {
		i = slices.IndexFunc(list, finite)
	}
	if i < 0 {
		return StatedPrivacy{}, false
	}
	return list[i], true
}

func (s Statement) headline() (StatedPrivacy, bool) { return Headline(s.Privacy, s.Own) }

// digits are those of a bound for people: as many as accountctl writes.
const digits = 6

// summary is the paragraph that a model card begins with.
func (s Statement) summary() string {
	what := "Everything that was charged to this ledger"
	switch dataset := s.View.Genesis.Spec.DatasetID; {
	case s.isDataset() && s.View.Guarantee == ledger.GuaranteeFilter:
		what = "Everything that the budget of dataset " + dataset + " allows to all its ledgers together"
	case s.isDataset():
		what = "Everything that was charged to the ledgers of dataset " + dataset + " or may still be charged to them"
	case s.View.Guarantee == ledger.GuaranteePlan:
		what = "Everything that this ledger's plan allows"
	case s.View.Guarantee == ledger.GuaranteeFilter:
		what = "Everything that this ledger's budgets allow"
	case slices.ContainsFunc(s.View.Reservations, func(r ledger.Reservation) bool { return r.Child == "" }):
		what = "Everything that was charged to this ledger or is reserved in it"
	}
	p, ok := s.headline()
	if !ok {
		return what + " has no finite ε at the given δ" + s.told() + "."
	}
	text := fmt.Sprintf("%s is (%s, %s)-differentially private for one %s%s.",
		what, num.FormatDecimalsUp(p.Stated.Epsilon, 2), delta(p.Stated.Delta), s.unit(), s.told())
	if s.View.Guarantee == ledger.GuaranteeDescriptive {
		text += " This holds if neither what was run nor the moment of stopping depended on outputs."
	}
	if p.Stated.Epsilon > 0 {
		text += " Before it is rounded up, ε is at most " + num.FormatUp(p.Stated.Epsilon, digits) + "."
	}
	if ran := p.Running.Epsilon; s.isDataset() && len(s.Stated) > 0 && !math.IsInf(ran, 1) {
		text += fmt.Sprintf(" What was charged so far, to %s together, has ε ≤ %s at this δ, if neither what was run "+
			"nor the moment of stopping depended on outputs.", s.ledgers(), num.FormatDecimalsUp(ran, 2))
	}
	return text
}

// told names what the numbers are of, as it was reported. A budget's numbers are of whatever it
// allows.
func (s Statement) told() string {
	const most = 3
	var list []string
	for _, p := range s.Stated[:min(most, len(s.Stated))] {
		list = append(list, mechanism.Tell(p))
	}
	if n := len(s.Stated) - most; n > 0 {
		list = append(list, fmt.Sprintf("and %d more, listed below", n))
	}
	switch charged := s.View.Guarantee == ledger.GuaranteeFilter || s.isDataset(); {
	case len(list) == 0 && s.isDataset():
		return "; nothing was charged to its ledgers yet"
	case len(list) == 0:
		return "; nothing was charged to it yet"
	case charged:
		return ". Charged so far: " + strings.Join(list, "; ")
	}
	return ": " + strings.Join(list, "; ")
}

// isDataset reports whether the statement is of a dataset, over all its ledgers.
func (s Statement) isDataset() bool { return s.View.Genesis.Spec.Dataset != nil }

// ledgers are a dataset's.
func (s Statement) ledgers() string {
	if len(s.Ledgers) == 1 {
		return "its one ledger"
	}
	return fmt.Sprintf("its %d ledgers", len(s.Ledgers))
}

// sections are what else a reader has to know.
func (s Statement) sections() (list []*pb.StatementSection) {
	add := func(title string, points ...string) {
		if points = slices.DeleteFunc(points, func(p string) bool { return p == "" }); len(points) > 0 {
			list = append(list, &pb.StatementSection{Title: title, Points: points})
		}
	}
	add("What is protected",
		"The guarantee covers every output of the listed mechanisms. For a model that was trained with them, it "+
			"covers the final model and every checkpoint.",
		"Whatever is computed from these outputs later, without going back to the data, is covered too.",
		"Anything else that was released from the data is not covered: for example the choice of hyperparameters on "+
			"the same data, or an accuracy on training records, unless it was charged.")
	add("Whose privacy", append([]string{s.neighbours(), s.elsewhere()}, s.groups()...)...)
	add("What an attacker can do", s.attacker()...)
	add("What canaries showed", s.canaries()...)
	add("Who has to be trusted", s.trusted()...)
	add("If the data were shuffled", s.ifShuffled()...)
	add("Shuffled batches", s.shuffled()...)
	add("If the batches were drawn at random", s.random()...)
	return list
}

func (s Statement) neighbours() string {
	change := map[mechanism.Adjacency]string{
		mechanism.AddOrRemoveOne: "is added to the data or removed from it",
		mechanism.ReplaceOne:     "is replaced by any other",
		mechanism.ZeroOut:        "is replaced by an empty one",
	}[s.View.Genesis.Spec.Adjacency]
	text := fmt.Sprintf("The outputs are almost as likely if one %s %s.", s.unit(), change)
	if s.View.Genesis.Spec.PrivacyUnit == "" {
		whose := "ledger"
		if s.isDataset() {
			whose = "dataset"
		}
		text += " The " + whose + " does not name its unit of privacy, so this text takes it to be one record."
	}
	return text
}

// elsewhere says that people are protected less whose data are also in ledgers that were charged together with this
// one, with a sensitivity in each.
func (s Statement) elsewhere() string {
	var entries []string
	for _, a := range s.View.Balance.Assumptions {
		if a.InEach() {
			entries = append(entries, strconv.FormatUint(a.Position, 10))
		}
	}
	if len(entries) == 0 {
		return ""
	}
	return fmt.Sprintf("Some outputs were computed from several ledgers at once (from entry %s on). Whoever has data "+
		"in several of these ledgers is protected less than this text says: it is for one %s with data in this one "+
		"alone.", strings.Join(entries, " and from entry "), s.unit())
}

func (s Statement) groups() (points []string) {
	var known []string
	for _, g := range s.Groups {
		if !math.IsInf(g.Epsilon, 1) {
			known = append(known, fmt.Sprintf("ε ≤ %s for %d", num.FormatDecimalsUp(g.Epsilon, 2), g.Size))
		}
	}
	intro := fmt.Sprintf("Somebody whose data make up several of these (unit: %s) is protected less", s.unit())
	if len(known) == 0 {
		return []string{intro + ". No number is known for that here."}
	}
	return []string{
		fmt.Sprintf("%s: %s together, at the same δ = %s.", intro, strings.Join(known, " and "),
			delta(s.Groups[0].Delta)),
		"No number holds for somebody whose data may be any part of the whole. To protect such people, limit what " +
			"one person contributes, and make the person the unit of privacy.",
	}
}

func (s Statement) attacker() []string {
	question := "whether a given " + s.unit() + " was in the data"
	if s.View.Genesis.Spec.Adjacency == mechanism.ReplaceOne {
		question = "which of two given candidates for one " + s.unit() + " was in the data"
	}
	right := math.Min(100, num.Up(50*num.Up(1+s.Advantage)))
	points := []string{fmt.Sprintf("An attacker who guesses %s is right at most %s %% of the time. "+
		"Chance alone gives 50 %%. This holds even if the attacker knows all other data, and held both cases "+
		"for equally likely before.", question, num.FormatUp(right, 3))}
	for _, t := range s.TradeOff {
		found := math.Min(100, num.Up(100*num.Up(1-t.Beta)))
		points = append(points, fmt.Sprintf("An attacker who may accuse wrongly at most %s %% of the time "+
			"recognizes at most %s %% of those whose data were used.",
			strconv.FormatFloat(100*t.Alpha, 'g', 3, 64), num.FormatUp(found, 3)))
	}
	return points
}

func (s Statement) trusted() []string {
	local := len(s.Stated) > 0 && !slices.ContainsFunc(s.Stated, func(p mechanism.Part) bool {
		return p.Mechanism.Kind() != "randomized_response"
	})
	model := "This is the central model: whoever holds the data, and the machine that runs the mechanisms, see the " +
		"data unprotected. Both have to be trusted not to release anything else, and to keep others out."
	if local {
		model = "If each person randomizes the answer on a device of their own, nobody else has to be trusted with " +
			"the true answer (the local model). If the answers are collected first, whoever collects them has to be " +
			"trusted."
	}
	return append([]string{model,
		"The programs that run the mechanisms have to be right: contributions are clipped as reported, and noise and " +
			"batches are drawn from a secure source of randomness that nobody can predict or see.",
		"Whoever reports has to report everything, truthfully, before it is released. The accountant does not see " +
			"the data, and takes the reported numbers to be true."}, s.Access...)
}

// has reports whether a mechanism of the kind is among what was stated, also as a step of a run.
func (s Statement) has(kind string) bool {
	return slices.ContainsFunc(s.Stated, func(p mechanism.Part) bool {
		return slices.ContainsFunc(mechanism.Expand(p.Mechanism), func(q mechanism.Part) bool {
			return q.Mechanism.Kind() == kind
		})
	})
}

// ifShuffled says what holds for shuffled data where Poisson samples were reported.
func (s Statement) ifShuffled() []string {
	if !s.has("poisson_sampled") {
		return nil
	}
	const usual = "The numbers hold for Poisson sampling, where every step draws its batch anew and each record is " +
		"in it independently of the others. Many data loaders shuffle the data instead and cut it into batches."
	if p, ok := s.headline(); ok && p.Shuffled != nil && !math.IsInf(*p.Shuffled, 1) {
		proven := fmt.Sprintf("If the data were shuffled, ε ≤ %s would be proven at δ = %s, for one pass over the "+
			"data after another with batches of the reported size. Nothing is gained from the random order in this "+
			"number: no useful gain is proven.", num.FormatDecimalsUp(*p.Shuffled, 2), delta(p.Stated.Delta))
		return append([]string{usual, proven}, shuffledCosts(p.ShuffledLower, p.Stated.Delta)...)
	}
	return []string{usual, "What would hold for shuffled data cannot be said here: that needs batch_size and " +
		"dataset_size of every sampled step, and Gaussian noise."}
}

// shuffled says what shuffled data cost at least where shuffled batches were reported.
func (s Statement) shuffled() []string {
	if p, ok := s.headline(); ok && s.has("shuffled") {
		return shuffledCosts(p.Stated.EpsilonLower, p.Stated.Delta)
	}
	return nil
}

// shuffledCosts says what shuffled data cost at least. It says nothing if no positive bound is known.
func shuffledCosts(lower *float64, atDelta float64) []string {
	if lower == nil || !(*lower > 0) {
		return nil
	}
	return []string{fmt.Sprintf("How much the random order of shuffled data protects is not known exactly. At δ = %s "+
		"no accountant can prove less than ε = %s for shuffled data, because an attack is known that learns this much.",
		delta(atDelta), num.FormatDown(*lower, 3))}
}

// random says what other batches of the same size would give: of random allocation, and for shuffled data
// of Poisson samples too.
func (s Statement) random() (points []string) {
	p, ok := s.headline()
	if !ok {
		return nil
	}
	say := func(epsilon *float64, how string) {
		if epsilon != nil && !math.IsInf(*epsilon, 1) {
			points = append(points, fmt.Sprintf("%s: ε ≤ %s would be proven at δ = %s.", how,
				num.FormatDecimalsUp(*epsilon, 2), delta(p.Stated.Delta)))
		}
	}
	say(p.Sampled, "With Poisson samples of the reported size in the place of batches that are cut from shuffled data")
	say(p.Allocated, "If each record were dealt into one batch of every epoch, chosen at random, independently of all "+
		"other records, and afresh for each epoch (random allocation), with batches of the reported size on average")
	if len(points) > 0 {
		points = append(points, "These numbers are for comparison. They hold only for a run whose batches were drawn "+
			"so.")
	}
	return points
}

func delta(d float64) string { return strconv.FormatFloat(d, 'g', -1, 64) }
