// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"
)

// RandomAllocation is one epoch in which every record takes part in Selected of Steps steps,
// chosen uniformly and independently of all other records, and Mechanism runs on each step.
type RandomAllocation struct {
	// 1 … MaxDatasetSize
	Steps uint64 `field:"1" role:"size" range:"1..2^53" need:"required"`
	// 1 … Steps, 1 if absent
	Selected uint64 `field:"2" role:"size" range:"1..2^53"`
	// how often the epoch goes through the same batches, 1 if absent
	Passes    uint64    `field:"3" role:"size" range:"1..2^53"`
	Mechanism Mechanism `field:"4" role:"inside"`
}

// Kind is "random_allocation".
func (RandomAllocation) Kind() string { return "random_allocation" }

func (RandomAllocation) number() int { return 33 }

// Check implements Mechanism: defined where a record is compared with its absence.
func (r RandomAllocation) Check(adj Adjacency) error {
	const kind = "random_allocation"
	switch {
	case r.Steps == 0 || r.Steps > MaxDatasetSize:
		return &ParameterError{kind + ".steps", countGiven(r.Steps), "a whole number from 1 to 2^53"}
	case r.Selected > r.Steps:
		return &ParameterError{kind + ".selected", fmt.Sprint(r.Selected),
			fmt.Sprintf("a whole number from 1 to the number of steps, %d", r.Steps)}
	case r.Passes > MaxDatasetSize:
		return &ParameterError{kind + ".passes", fmt.Sprint(r.Passes), "a whole number from 1 to 2^53"}
	}
	if err := checkPlace(kind+".mechanism", r.Mechanism, onAllocatedBatch,
		"the mechanism that is run on each step's batch"); err != nil {
		return err
	}
	if err := checkNoDistance(kind+".mechanism", r.Mechanism); err != nil {
		return err
	}
	if _, gaussian := r.Mechanism.(Gaussian); !gaussian && r.Uses() > 1 {
		return &ParameterError{kind + ".passes", fmt.Sprint(r.Passes),
			"1, or gaussian as the mechanism: of other noise nothing is known for batches that are used again"}
	}
	if adj == ReplaceOne {
		return &AdjacencyError{kind, adj,
			"a record and its replacement may take part in different steps, for which no bound is proven",
			"a ledger under ADD_OR_REMOVE_ONE or ZERO_OUT"}
	}
	return checkWithin(kind+".mechanism", r.Mechanism, adj)
}

// Rounds is in how many steps a record takes part.
func (r RandomAllocation) Rounds() uint64 { return max(1, r.Selected) }

// Uses is how often each step is run on its batch.
func (r RandomAllocation) Uses() uint64 { return max(1, r.Passes) }

func (r RandomAllocation) String() string {
	s := fmt.Sprintf("random_allocation(%d of %d steps", r.Rounds(), r.Steps)
	if r.Uses() > 1 {
		s += fmt.Sprintf(", %d passes", r.Uses())
	}
	return s + fmt.Sprintf(", %v)", r.Mechanism)
}

// exactMuSquared is that of a record whose steps are known.
func (r RandomAllocation) exactMuSquared(adj Adjacency) *big.Rat {
	squared := ExactMuSquared(r.Mechanism, adj)
	if squared == nil {
		return nil
	}
	squared.Mul(squared, whole(r.Rounds()))
	return squared.Mul(squared, whole(r.Uses()))
}

func (RandomAllocation) places() place { return nowhere }
