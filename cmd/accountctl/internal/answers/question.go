// SPDX-License-Identifier: Apache-2.0

// Package answers reads the question that flags ask of a workload or a ledger
// (question.go), and writes what the accountant answers (answer.go).
package answers

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// ByDelta reports whether ε is asked for: at a given δ, or at the ledger's own.
func ByDelta(r *accountantv1.QueryPrivacyRequest) bool {
	_, ok := r.Given.(*accountantv1.QueryPrivacyRequest_Epsilon)
	return !ok
}

// QuestionFlags adds --delta, --epsilon and --max-gap, which complete the request.
func QuestionFlags(c *cobra.Command) *accountantv1.QueryPrivacyRequest {
	request := &accountantv1.QueryPrivacyRequest{}
	calls.AddFlag(c, request, "delta", "delta", "DELTA")
	calls.AddFlag(c, request, "epsilon", "epsilon", "EPSILON")
	calls.AddFlag(c, request, "max_gap", "max-gap", "GAP")
	return request
}

// VerboseFlag adds -v.
func VerboseFlag(c *cobra.Command) *bool {
	return c.Flags().BoolP("verbose", "v", false, "also show the bound of every analysis, and why others do not apply")
}

// OneGiven refuses flags that do not give exactly one of δ and ε.
func OneGiven(c *cobra.Command) error {
	switch delta, epsilon := c.Flags().Changed("delta"), c.Flags().Changed("epsilon"); {
	case delta && epsilon:
		return cli.Usage(c, "--delta and --epsilon are both given; allowed: exactly one")
	case !delta && !epsilon:
		return cli.UsageOf(c, "--delta ", "--delta or --epsilon is missing")
	}
	return nil
}
