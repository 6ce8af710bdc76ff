// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// Bounds on what a Composed holds: events in one list, levels of lists within
// lists, different parts of all of them, and applications of all of them.
const (
	maxComposedEvents = 64
	maxComposedDepth  = 3
	maxComposedParts  = 256
	maxApplications   = math.MaxUint32
)

// Composed is a list of events as one mechanism: all of them are applied, in any
// order and each perhaps chosen from the outputs before, but with the parameters
// listed. It costs what the events cost when reported one by one.
type Composed struct {
	// 1 to maxComposedEvents
	Events List[Event] `field:"1" role:"inside" most:"64"`
}

// Kind is "composed".
func (Composed) Kind() string { return "composed" }

func (Composed) number() int { return 21 }

// Check implements Mechanism: defined where every event is.
func (c Composed) Check(adj Adjacency) error {
	events := c.Events.Values()
	if n := len(events); n == 0 || n > maxComposedEvents {
		return &ParameterError{"composed.events", fmt.Sprintf("%d events", n),
			fmt.Sprintf("1 to %d events", maxComposedEvents)}
	}
	if depth(c) > maxComposedDepth {
		return &ParameterError{"composed.events", "lists within lists within lists",
			fmt.Sprintf("%d levels of lists", maxComposedDepth)}
	}
	for i, e := range events {
		if err := e.Check(adj); err != nil {
			return atEvent(err, "composed.events", i)
		}
	}
	if n := leaves(c); n > maxComposedParts {
		return &ParameterError{"composed.events", fmt.Sprintf("%d mechanisms in all", n),
			fmt.Sprintf("at most %d", maxComposedParts)}
	}
	total := uint64(0)
	for _, e := range events {
		for _, p := range Expand(e.Mechanism) {
			high, n := bits.Mul64(p.Count, uint64(e.Count))
			if total += n; high > 0 || n > maxApplications || total > maxApplications {
				return &ParameterError{"composed.events",
					"more than 2^32 − 1 applications in all", "at most 4294967295"}
			}
		}
	}
	return nil
}

func (c Composed) String() string {
	return "composed(" + describeList(c.Events.Values(), " + ") + ")"
}

// exactMuSquared is Σ n·μ², if all events are Gaussian.
func (c Composed) exactMuSquared(adj Adjacency) *big.Rat {
	sum := new(big.Rat)
	for _, p := range Expand(c) {
		squared := ExactMuSquared(p.Mechanism, adj)
		if squared == nil {
			return nil
		}
		sum.Add(sum, squared.Mul(squared, whole(p.Count)))
	}
	return sum
}

func (Composed) places() place { return onPoissonSample }

func (c Composed) refusal(where place) *ParameterError {
	if where != inGroup {
		return nil
	}
	return &ParameterError{"", c.Kind(), "each event of the list as a group of its own"}
}

// checkSampledUnder: k uses of one sample are one sample of their composition, whose pair is known
// where all are Gaussian: it is one Gaussian (docs/math/cumulant.md §1.1.6).
func (c Composed) checkSampledUnder(Adjacency) error {
	for _, p := range Expand(c) {
		if !p.Mechanism.places().has(inSampledList) {
			return &ParameterError{"poisson_sampled.mechanism.composed.events", "a " + p.Mechanism.Kind(),
				allowedAt(inSampledList) + " only: several uses of one sample lose more than as many samples, and no " +
					"pair is computed for them; report the mechanisms unsampled, or each with a batch of its own if " +
					"it had one"}
		}
		if d, ok := p.Mechanism.(distanced); ok {
			if distance, instead := d.byDistance(); distance != 0 {
				return &ParameterError{"poisson_sampled.mechanism.composed.events",
					"a " + p.Mechanism.Kind() + " by distance",
					instead + noDistance}
			}
		}
	}
	return nil
}

func (c Composed) expand() []Part {
	var all []Part
	for _, e := range c.Events.Values() {
		for _, p := range Expand(e.Mechanism) {
			all = append(all, Part{p.Mechanism, p.Count * uint64(e.Count)})
		}
	}
	return all
}

func (c Composed) branches() (list []Mechanism, nested bool) {
	for _, e := range c.Events.Values() {
		list = append(list, e.Mechanism)
	}
	return list, true
}

// atEvent gives an error of Event.Check its path: what a descriptor's own Check
// says starts at the kind, one level below "mechanism".
func atEvent(err error, list string, i int) error {
	if pe, ok := err.(*ParameterError); ok {
		switch pe.Field {
		case "adjacency":
			return pe
		case "count", "mechanism":
		default:
			pe.Field = "mechanism." + pe.Field
		}
		return AtIndex(pe, list, i)
	}
	return err
}

func describeList(events []Event, between string) string {
	var b strings.Builder
	for i, e := range events {
		if i > 0 {
			b.WriteString(between)
		}
		if i == 3 && len(events) > 4 {
			fmt.Fprintf(&b, "%d more", len(events)-i)
			break
		}
		if e.Count != 1 {
			fmt.Fprintf(&b, "%d × ", e.Count)
		}
		fmt.Fprint(&b, e.Mechanism)
	}
	return b.String()
}
