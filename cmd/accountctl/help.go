// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
)

// help shows the help of a command or of a mechanism.
func help(p *cli.Program) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "help [COMMAND | MECHANISM] [--all]",
		Short: "Show the help of a command or of a mechanism",
		Long: "Show the help of a command, such as ledger create, or of a mechanism, such as dp-sgd. With --all it " +
			"lists every command.",
		Example: `  accountctl help --all
  accountctl help ledger create
  accountctl help dp-sgd`,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if of, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
				for _, child := range of.Commands() {
					names = append(names, child.Name()+"\t"+child.Short)
				}
			}
			if len(args) == 0 {
				names = append(names, mechanisms.Kinds()...)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				if text, ok := mechanisms.HelpOf(args[0]); ok {
					_, err := p.Out.WriteString(text)
					return err
				}
			}
			of, rest, err := c.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = of.ValidateArgs(rest)
			}
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			_, err = p.Out.WriteString(cli.HelpText(of, all))
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list every command, and not only those that are used often")
	return c
}
