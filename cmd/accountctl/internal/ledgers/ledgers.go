// SPDX-License-Identifier: Apache-2.0

// Package ledgers holds the commands that create and close ledgers, charge them, and
// show what is in them. The commands under "accountctl ledger" are in create.go, show.go,
// list.go, reconcile.go and close.go, and those under "accountctl dataset" in dataset*.go;
// every other file is one command. ledger.go and balance.go write a ledger's properties and
// what is left of it, for several of them.
package ledgers

import "github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"

// Commands are this package's commands, in the order of the help.
func Commands() []cli.Command {
	return []cli.Command{
		{Name: "dataset", Make: datasetGroup},
		{Name: "ledger", Make: ledgerGroup},
		{Name: "report", Make: report},
		{Name: "query", Make: query},
		{Name: "statement", Make: statementOf},
		{Name: "overview", Make: overview},
		{Name: "spending", Make: spending},
	}
}
