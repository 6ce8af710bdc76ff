// Package budgets holds the commands that change what a ledger may still spend: they
// set a part of it aside, charge that part or give it back, make budgets larger, and
// refund a charge. Each file is one command, and each command makes one write.
package budgets

import "github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"

// Commands are this package's commands, in the order of the help.
func Commands() []cli.Command {
	return []cli.Command{
		{Name: "reserve", Make: reserve},
		{Name: "commit", Make: commit},
		{Name: "release", Make: release},
		{Name: "expire", Make: expire},
		{Name: "raise", Make: raise},
		{Name: "refund", Make: refund},
		{Name: "approvals", Make: approvals},
	}
}
