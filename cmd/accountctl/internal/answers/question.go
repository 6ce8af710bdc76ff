// SPDX-License-Identifier: Apache-2.0

// Package answers reads the question that flags ask of a workload or a ledger
// (question.go), and writes what the accountant answers (answer.go) and states
// (statement.go).
package answers

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Question holds --delta and --epsilon, of which exactly one is given, and
// --max-gap.
type Question struct{ Delta, Epsilon, Gap float64 }

// ByDelta reports whether ε is asked for: at a given δ, or at the ledger's own.
func ByDelta(r *accountantv1.QueryPrivacyRequest) bool {
	_, ok := r.Given.(*accountantv1.QueryPrivacyRequest_Epsilon)
	return !ok
}

// QuestionFlags adds --delta, --epsilon and --max-gap.
func QuestionFlags(c *cobra.Command) *Question {
	q := &Question{}
	c.Flags().Float64Var(&q.Delta, "delta", 0, "δ in [0, 1): asks for ε, at 0 for that of pure differential privacy")
	c.Flags().Float64Var(&q.Epsilon, "epsilon", 0, "ε ≥ 0, in nats: asks for δ")
	GapFlag(c, &q.Gap)
	return q
}

// VerboseFlag adds -v.
func VerboseFlag(c *cobra.Command) *bool {
	return c.Flags().BoolP("verbose", "v", false, "also show the bound of every analysis, and why others do not apply")
}

// GapFlag adds --max-gap.
func GapFlag(c *cobra.Command, gap *float64) {
	c.Flags().Float64Var(gap, "max-gap", 0, "how far apart the bounds may be, > 0: of ε in nats, or of ln δ; the "+
		"bounds in the answer say what was reached (default: as tight as ordinary work gets)")
}

// GivenGap is --max-gap, nil where it is not given.
func GivenGap(c *cobra.Command, gap float64) *float64 {
	if !c.Flags().Changed("max-gap") {
		return nil
	}
	return &gap
}

// Fill sets what was given, or says that it is not exactly one.
func (q *Question) Fill(c *cobra.Command, r *accountantv1.QueryPrivacyRequest) error {
	switch delta, epsilon := c.Flags().Changed("delta"), c.Flags().Changed("epsilon"); {
	case delta && epsilon:
		return cli.Usage(c, "--delta and --epsilon are both given; allowed: exactly one")
	case delta:
		r.Given = &accountantv1.QueryPrivacyRequest_Delta{Delta: q.Delta}
	case epsilon:
		r.Given = &accountantv1.QueryPrivacyRequest_Epsilon{Epsilon: q.Epsilon}
	default:
		return cli.UsageOf(c, "--delta ", "--delta or --epsilon is missing")
	}
	r.MaxGap = GivenGap(c, q.Gap)
	return nil
}
