package main

import (
	"github.com/spf13/cobra"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// question holds --delta and --epsilon, of which exactly one is given, and
// --max-gap.
type question struct{ delta, epsilon, gap float64 }

// byDelta reports whether δ is given, so that ε is asked for.
func byDelta(r *accountantv1.QueryPrivacyRequest) bool {
	_, ok := r.Given.(*accountantv1.QueryPrivacyRequest_Delta)
	return ok
}

func questionFlags(c *cobra.Command) *question {
	q := &question{}
	c.Flags().Float64Var(&q.delta, "delta", 0, "δ in (0, 1): asks for ε")
	c.Flags().Float64Var(&q.epsilon, "epsilon", 0, "ε ≥ 0, in nats: asks for δ")
	gapFlag(c, &q.gap)
	return q
}

func gapFlag(c *cobra.Command, gap *float64) {
	c.Flags().Float64Var(gap, "max-gap", 0, "how far apart the bounds may be, > 0: of ε in nats, or of ln δ; the bounds in the answer say what was reached (default: as tight as ordinary work gets)")
}

// givenGap is --max-gap, nil where it is not given.
func givenGap(c *cobra.Command, gap float64) *float64 {
	if !c.Flags().Changed("max-gap") {
		return nil
	}
	return &gap
}

// fill sets what was given, or says that it is not exactly one.
func (q *question) fill(c *cobra.Command, r *accountantv1.QueryPrivacyRequest) error {
	switch delta, epsilon := c.Flags().Changed("delta"), c.Flags().Changed("epsilon"); {
	case delta && epsilon:
		return usage(c, "--delta and --epsilon are both given; allowed: exactly one")
	case delta:
		r.Given = &accountantv1.QueryPrivacyRequest_Delta{Delta: q.delta}
	case epsilon:
		r.Given = &accountantv1.QueryPrivacyRequest_Epsilon{Epsilon: q.epsilon}
	default:
		return usage(c, "--delta or --epsilon is missing")
	}
	r.MaxGap = givenGap(c, q.gap)
	return nil
}
