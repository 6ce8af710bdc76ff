// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"
)

// ShuffledReports publishes one report of each of Reports people in a random order. Everybody runs
// Mechanism, a local randomizer, on his own record alone; nobody learns who sent which report.
type ShuffledReports struct {
	// 1 … MaxDatasetSize, the record's own report included
	Reports   uint64    `field:"1" role:"size" range:"1..2^53" need:"required"`
	Mechanism Mechanism `field:"2" role:"inside"`
}

// Kind is "shuffled_reports".
func (ShuffledReports) Kind() string { return "shuffled_reports" }

func (ShuffledReports) number() int { return 43 }

// Check implements Mechanism: defined where the number of reports is the same for both neighbours.
func (s ShuffledReports) Check(adj Adjacency) error {
	const kind = "shuffled_reports"
	if s.Reports == 0 || s.Reports > MaxDatasetSize {
		return &ParameterError{kind + ".reports", countGiven(s.Reports), "a whole number from 1 to 2^53"}
	}
	if err := checkPlace(kind+".mechanism", s.Mechanism, onReport,
		"the local randomizer that everybody runs on the own record"); err != nil {
		return err
	}
	if err := checkWithin(kind+".mechanism", s.Mechanism, adj); err != nil {
		return err
	}
	if adj == AddOrRemoveOne {
		return &AdjacencyError{kind, adj, "the number of reports tells whether a record sent one",
			"a ledger under REPLACE_ONE or ZERO_OUT"}
	}
	return nil
}

// assumes implements assuming (docs/math/reports.md §1.12.1).
func (s ShuffledReports) assumes(adj Adjacency) string {
	if s.Reports == 1 {
		return ""
	}
	text := "The shuffler of shuffled_reports is trusted: it hides who sent which report. The count of reports is of " +
		"people who all run the one randomizer honestly, with noise of their own, and send one report each; leave " +
		"out those who may not, or who work with the attacker."
	if adj == ZeroOut {
		text += " Under ZERO_OUT the null record is an input of the randomizer as every record is, and sends a report."
	}
	return text
}

func (s ShuffledReports) String() string {
	return fmt.Sprintf("shuffled_reports(%d, %v)", s.Reports, s.Mechanism)
}

// exactEpsilon is that of one report: if all other reports happen to be what the record's own may
// be, they hide nothing.
func (s ShuffledReports) exactEpsilon(adj Adjacency) (*big.Rat, bool) {
	return ExactEpsilon(s.Mechanism, adj)
}

func (ShuffledReports) places() place { return nowhere }
