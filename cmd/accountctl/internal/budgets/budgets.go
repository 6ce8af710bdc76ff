// SPDX-License-Identifier: Apache-2.0

// Package budgets holds the commands that change what a ledger may still spend: they
// set a part of it aside, charge that part or give it back, make budgets larger, and
// refund a charge. Each file is one command, and each command makes one write.
package budgets

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

// Commands are this package's commands, in the order of the help.
func Commands() []cli.Command {
	return []cli.Command{
		{Name: "raise", Make: raise},
		{Name: "approvals", Make: approvals},
		{Name: "reservation", Make: reservation},
		{Name: "spool", Make: spool},
	}
}

func reservation(p *cli.Program) *cobra.Command {
	return cli.Group(p, &cobra.Command{
		Use:   "reservation",
		Short: "Set a part of budgets aside, charge it and give it back",
		Long: `A job that may die sets aside what it is going to charge. What it neither charges nor
gives back is charged when the reservation's time is over, so nothing is forgotten.`,
		Example: `  accountctl reservation create team/mnist --file workload.json --lifetime 24h
  accountctl reservation commit team/mnist --reservation 12 --file done.json`,
	},
		cli.Command{Name: "create", Make: reserve},
		cli.Command{Name: "commit", Make: commit},
		cli.Command{Name: "release", Make: release},
		cli.Command{Name: "expire", Make: expire},
	)
}
