// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"slices"
)

// maxParts bounds the parts of a Parallel.
const maxParts = 64

// Parallel runs a mechanism on each of several disjoint parts of the dataset. Which part
// a record belongs to depends on that record and on what was released before, so that its
// presence moves the output of one part only (McSherry 2009, Thm 4). It costs as much as
// an adversary gets who picks the record's part after seeing all earlier outputs.
type Parallel struct {
	// 1 to maxParts
	Parts List[Mechanism] `field:"1" role:"inside" most:"64"`

	// PartitionFixedInAdvance asserts that the parts, and which mechanism runs on which of them,
	// were fixed before the first release. The adversary then has no choice left, and the
	// cost is that of the most expensive part beside everything else. Within a Parallel whose
	// own partition depends on outputs it asserts in which of these parts a record is whenever
	// the outer part holds it. See docs/math/parallel.md §1.5.6.
	PartitionFixedInAdvance bool `field:"2" role:"choice"`
}

// Kind is "parallel".
func (Parallel) Kind() string { return "parallel" }

func (Parallel) number() int { return 24 }

// Check implements Mechanism: defined under ADD_OR_REMOVE_ONE, where neighbours differ in
// one part.
func (p Parallel) Check(adj Adjacency) error {
	parts := p.Parts.Values()
	if n := len(parts); n == 0 || n > maxParts {
		return &ParameterError{"parallel.parts", fmt.Sprintf("%d parts", n), fmt.Sprintf("1 to %d parts", maxParts)}
	}
	if depth(p) > maxComposedDepth {
		return &ParameterError{"parallel.parts", "lists within lists within lists",
			fmt.Sprintf("%d levels of lists", maxComposedDepth)}
	}
	all := 0
	for i, m := range parts {
		if m == nil {
			return &ParameterError{fmt.Sprintf("parallel.parts[%d]", i), "missing",
				"one of the mechanisms of docs/mechanisms.md"}
		}
		if err := m.Check(adj); err != nil {
			if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
				return AtIndex(pe, "parallel.parts", i)
			}
			return err
		}
		if all += leaves(m); all > maxComposedParts {
			return &ParameterError{"parallel.parts", "more mechanisms in all",
				fmt.Sprintf("at most %d", maxComposedParts)}
		}
	}
	if adj != AddOrRemoveOne {
		reason := "a record that is replaced may leave one part and enter another"
		if adj == ZeroOut {
			reason = "a null record belongs to no part that is told"
		}
		return &AdjacencyError{"parallel", adj, reason, "composed of all parts, or a ledger under ADD_OR_REMOVE_ONE"}
	}
	return nil
}

// DisjointParts lists the mechanisms that m runs on disjoint parts of the dataset: a record takes
// part in one of them only. It is empty for a mechanism that runs on all records.
func DisjointParts(m Mechanism) []Mechanism {
	if p, ok := m.(Parallel); ok {
		return p.Parts.Values()
	}
	return nil
}

func (p Parallel) String() string {
	events := []Event{}
	for _, m := range p.Parts.Values() {
		events = append(events, Event{m, 1})
	}
	name := "parallel("
	if p.PartitionFixedInAdvance {
		name = "parallel(partition fixed in advance: "
	}
	return name + describeList(events, " | ") + ")"
}

func (Parallel) places() place { return nowhere }

func (p Parallel) branches() (list []Mechanism, nested bool) { return p.Parts.Values(), true }

func (p Parallel) failsUnevenly() string {
	for _, part := range p.Parts.Values() {
		if kind := failsUnevenly(part); kind != "" {
			return kind
		}
	}
	return ""
}

// assumes is what is taken of the partition.
func (p Parallel) assumes(Adjacency) string {
	switch {
	case len(p.Parts.Values()) < 2:
		return ""
	case p.PartitionFixedInAdvance:
		return "parallel, partition fixed in advance: the parts, and which mechanism runs on which of them, were " +
			"fixed before anything was released from the dataset; " +
			"which part a record is in depends on that record alone."
	}
	return "parallel: which part a record is in depends on that record and on outputs that were released before, on " +
		"no other record."
}

// PartsByOutputs reports whether m, or a mechanism within m, has a partition that may have
// depended on outputs.
func PartsByOutputs(m Mechanism) bool {
	if p, ok := m.(Parallel); ok && !p.PartitionFixedInAdvance && len(p.Parts.Values()) > 1 {
		return true
	}
	return slices.ContainsFunc(Inside(m), PartsByOutputs)
}
