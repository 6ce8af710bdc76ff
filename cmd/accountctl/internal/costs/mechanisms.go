// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
)

func listMechanisms(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "mechanisms",
		Short: "List the mechanisms with their flags",
		Long: `List the mechanisms that a command line can describe, with the flags of each. A
workload file can describe others, too, such as shuffled batches, groups of records or
mechanisms in parallel: docs/mechanisms.md has all.

` + mechanisms.Help + `

Mechanisms and their flags:

` + mechanisms.Table() + `
What the flags mean:

` + mechanisms.FlagHelp(),
		Example: "  accountctl mechanisms",
		Args:    cli.Arguments(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.Out, "%s\n%s", mechanisms.Table(), mechanisms.FlagHelp())
			return err
		},
	}
}
