// Package budgets holds the commands that change what a ledger may still spend: they
// set a part of it aside, charge that part or give it back, make budgets larger, and
// refund a charge. Each file is one command, and each command makes one write.
package budgets

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

// Commands are this package's commands, in the order of the help.
func Commands(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{reserve(p), commit(p), release(p), expire(p), raise(p), refund(p), approvals(p)}
}
