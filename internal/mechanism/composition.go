// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
)

// Part is a mechanism with the total number of times it was applied.
type Part struct {
	Mechanism Mechanism `field:"1" need:"a mechanism"`
	Count     uint64    `field:"2"` // ≥ 1
}

// Composition is what was applied to one dataset: a multiset of mechanisms
// under one adjacency. Its parts are distinct; their order carries no meaning.
// The zero value with an adjacency is the empty composition (ε = 0, δ = 0).
type Composition struct {
	Adjacency Adjacency
	Parts     []Part
}

// Compose checks and merges events into a composition. It fails with a
// *ParameterError or *AdjacencyError on the first event that is not allowed;
// fields are prefixed with "events[i].".
func Compose(adj Adjacency, events []Event) (Composition, error) {
	if err := checkAdjacency(adj); err != nil {
		return Composition{}, err
	}
	c := Composition{Adjacency: adj}
	at := make(map[Mechanism]int, len(events))
	for i, e := range events {
		if err := e.Check(adj); err != nil {
			return Composition{}, AtIndex(err, "events", i)
		}
		j, ok := at[e.Mechanism]
		if !ok {
			j = len(c.Parts)
			at[e.Mechanism] = j
			c.Parts = append(c.Parts, Part{Mechanism: e.Mechanism})
		}
		total, err := addCount(c.Parts[j].Count, e.Count)
		if err != nil {
			return Composition{}, AtIndex(err, "events", i)
		}
		c.Parts[j].Count = total
	}
	return c, nil
}

// Check returns nil if the event's count is at least 1 and its mechanism is
// allowed under adj.
func (e Event) Check(adj Adjacency) error {
	if e.Mechanism == nil {
		return &ParameterError{"mechanism", "missing", "one of the mechanisms of docs/mechanisms.md"}
	}
	if e.Count == 0 {
		return &ParameterError{"count", "missing or 0", "a whole number from 1 to 4294967295"}
	}
	return e.Mechanism.Check(adj)
}

// addCount returns total + count, or a *ParameterError where the sum of a
// mechanism's counts would pass 2^63 − 1.
func addCount(total uint64, count uint32) (uint64, error) {
	if total > math.MaxInt64-uint64(count) {
		return 0, &ParameterError{"count", fmt.Sprint(count),
			fmt.Sprintf("at most %d more of this mechanism (a total of 2^63 − 1)", math.MaxInt64-total)}
	}
	return total + uint64(count), nil
}

// AtIndex prefixes the field of a *ParameterError, or the message of any other error,
// with "list[i].".
func AtIndex(err error, list string, i int) error {
	if pe, ok := err.(*ParameterError); ok {
		pe.Field = fmt.Sprintf("%s[%d].%s", list, i, pe.Field)
		return pe
	}
	return fmt.Errorf("%s[%d]: %w", list, i, err)
}
