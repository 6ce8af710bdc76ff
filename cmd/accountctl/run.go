// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/budgets"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/checks"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/costs"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/ledgers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/internal/version"
)

// warnOfEnvironment names the variables that look like ours and are misspelt, unless a
// shell only asks for completions.
func warnOfEnvironment(args, environment []string, err io.Writer) {
	if len(args) > 0 && !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		for _, w := range version.Misspelt(environment) {
			_, _ = fmt.Fprintln(err, "accountctl: warning: "+w)
		}
	}
}

// run executes one command line and returns the exit status. A failure is one
// line on stderr.
func run(ctx context.Context, args []string, env func(string) string, in io.Reader, out, err io.Writer) int {
	p := cli.NewProgram(env, in, out, err)
	p.Words = args
	root := root(p, env)
	root.SetArgs(args)
	command, failure := root, checkText(args)
	if failure == nil {
		command, failure = root.ExecuteContextC(ctx)
	}
	if e := p.Out.Flush(); failure == nil {
		failure = e
	}
	if failure != nil {
		p.Complain(cli.Describe(failure, p.Server, command))
	}
	return cli.ExitStatus(failure)
}

// checkText refuses arguments that are no text: the API takes UTF-8.
func checkText(args []string) error {
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return cli.Wrong(fmt.Sprintf("the argument %q is not UTF-8; allowed: text in UTF-8, as a terminal with a "+
				"UTF-8 locale writes it", arg))
		}
	}
	return nil
}

// root is the command above all others.
func root(p *cli.Program, env func(string) string) *cobra.Command {
	root := cli.Group(p, &cobra.Command{
		Use:   "accountctl",
		Short: "Ask and manage the privacy accountant",
		Long: `accountctl computes what differentially private mechanisms cost, and creates,
charges, queries and closes the ledgers of the daemon accountantd, with or without
budgets that hold.

Exit status: 0 done; 2 flags or files are wrong; 3 refused by the ledger (budget,
reservation, closed, not reconciled); 4 no answer from the server; 1 anything else.`,
		Example: `  accountctl compute dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60 --delta 1e-6
  accountctl ledger create team/mnist --adjacency add-or-remove-one
  accountctl report team/mnist gaussian --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --count 100
  accountctl query team/mnist --delta 1e-5
  accountctl calibrate --file workload.json --solve standard-deviation --target-epsilon 3 --target-delta 1e-5`,
		Version: version.String(),
	},
		cli.Often(slices.Concat(
			cli.Under("What mechanisms cost:", costs.Commands()),
			cli.Under("Ledgers:", ledgers.Commands()),
			cli.Under("Budgets:", budgets.Commands()),
			cli.Under("Checks and copies:", checks.Commands()),
			cli.Under("This program:", []cli.Command{
				{Name: "version", Make: versionCommand},
				{Name: "completion", Make: completion},
			})), "compute", "calibrate", "ledger", "report", "query", "overview", "spending", "statement", "raise",
			"approvals", "backup", "doctor")...)
	commands := root.Args
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && mechanisms.Named(args[0]) {
			example, _ := mechanisms.Example(args[0])
			return cli.Usage(c, "%q is a mechanism, which stands after a command; such as: accountctl compute --delta "+
				"1e-6 %s", args[0], example)
		}
		return commands(c, args)
	}
	root.SetHelpCommand(help(p))
	root.SetHelpCommandGroupID("This program:")
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(cli.WrongFlags)
	// run sees a failure
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _, _ = p.Out.WriteString(cli.HelpText(c, false)) })
	p.AddFlags(root, env)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return p.Choose(c) }
	return root
}
