// SPDX-License-Identifier: Apache-2.0

package several

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// ContributionHelp explains --contribution.
const ContributionHelp = `A charge to several ledgers has to say with --contribution whose rows its sensitivity
bounds. over-all: it bounds what a person's rows in all of the ledgers move the
release by together, as where they are clipped per person. in-each: it bounds the
rows in each ledger alone; somebody in n of the ledgers then counts as a group of n.
On Poisson samples rows-drawn-in-each says that the rows of each ledger are drawn
apart, and people-drawn-in-each that a person's rows of all ledgers are drawn
together.`

// Contribution is the value of --contribution.
type Contribution struct{ text string }

// AddContribution adds --contribution to a command.
func AddContribution(c *cobra.Command) *Contribution {
	by := &Contribution{}
	c.Flags().StringVar(&by.text, "contribution", "", "of several ledgers: whose rows the sensitivity bounds: `"+
		"WHOSE` is one of "+strings.Join(spelling.Contributions(), ", "))
	return by
}

// Of is the contribution for these ledgers: several need one, and one takes none.
func (by *Contribution) Of(c *cobra.Command, l Ledgers) (Contribution, error) {
	_, one := l.One()
	switch {
	case by == nil: // the command is about one
		return Contribution{}, nil
	case one && by.text != "":
		return *by, cli.Usage(c, "--contribution is about several ledgers, and one is named; allowed: to leave it out")
	case !one && by.text == "":
		return *by, cli.Usage(c, "--contribution is missing: does the sensitivity bound what a person's rows in "+
			"all of the ledgers move the release by together (over-all), or in each ledger alone, so that somebody in "+
			"n of them counts as a group of n (%s)?", strings.Join(spelling.Contributions()[:3], ", "))
	case !one:
		return *by, by.known(c)
	}
	return *by, nil
}

// OfLost is the contribution of what a ledger has lost.
func (by *Contribution) OfLost(c *cobra.Command) (accountantv1.SetPart_Contribution, error) {
	if by.text == "" {
		return 0, cli.Usage(c, "--contribution is missing: over-all if what is lost was charged to this ledger alone, "+
			"or to several with a sensitivity over all of them; otherwise the contribution of that charge (%s)",
			strings.Join(spelling.Contributions()[:3], ", "))
	}
	return by.Value(), by.known(c)
}

func (by *Contribution) known(c *cobra.Command) error {
	if slices.Contains(spelling.Contributions(), by.text) {
		return nil
	}
	return cli.Usage(c, "--contribution: %q; allowed: %s", by.text, strings.Join(spelling.Contributions(), ", "))
}

// Value is what --contribution says, as the API has it: not specified without the flag.
func (by Contribution) Value() accountantv1.SetPart_Contribution {
	return accountantv1.SetPart_Contribution(slices.Index(spelling.Contributions(), by.text) + 1)
}
