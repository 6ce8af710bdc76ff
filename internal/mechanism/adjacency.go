// SPDX-License-Identifier: Apache-2.0

package mechanism

import "fmt"

// Adjacency is the relation between neighbouring datasets. It decides factors
// of two: see docs/math/README.md §0.1.
type Adjacency uint8

const (
	// AdjacencyUnspecified is the zero value; no ledger or workload has it.
	AdjacencyUnspecified Adjacency = iota
	// AddOrRemoveOne: one dataset has one record more than the other. Outputs
	// differ by at most the sensitivity Δ.
	AddOrRemoveOne
	// ReplaceOne: one record differs. Outputs differ by at most 2Δ.
	ReplaceOne
	// ZeroOut: one record is replaced by a null record that contributes
	// nothing. Outputs differ by at most Δ.
	ZeroOut
)

var adjacencyNames = map[Adjacency]string{
	AddOrRemoveOne: "ADD_OR_REMOVE_ONE",
	ReplaceOne:     "REPLACE_ONE",
	ZeroOut:        "ZERO_OUT",
}

// String is the API's spelling: "ADD_OR_REMOVE_ONE".
func (a Adjacency) String() string {
	if s, ok := adjacencyNames[a]; ok {
		return s
	}
	return fmt.Sprintf("Adjacency(%d)", uint8(a))
}

// Valid reports whether a is one of the three relations.
func (a Adjacency) Valid() bool { return AddOrRemoveOne <= a && a <= ZeroOut }

// distanceFactor is the largest distance between neighbours' outputs in units
// of one record's contribution Δ.
func (a Adjacency) distanceFactor() float64 {
	if a == ReplaceOne {
		return 2
	}
	return 1
}
