package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/version"
)

// program is what every subcommand shares.
type program struct {
	connection
	in  io.Reader
	out *bufio.Writer // flushed by run
	err io.Writer

	colour bool // on out
	width  int  // of out, 0 if it is no terminal
}

// run executes one command line and returns the exit status. A failure is one
// line on stderr.
func run(ctx context.Context, args []string, env func(string) string, in io.Reader, out, err io.Writer) int {
	p := &program{in: in, out: bufio.NewWriter(out), err: err, colour: coloured(out, env), width: widthOf(out)}
	root := p.root(env)
	root.SetArgs(args)
	failure := root.ExecuteContext(ctx)
	if e := p.out.Flush(); failure == nil {
		failure = e
	}
	if failure != nil {
		_, _ = fmt.Fprintln(err, "accountctl: "+clean(describe(failure, p.server)))
	}
	return exitStatus(failure)
}

func (p *program) root(env func(string) string) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "accountctl",
		Short: "Ask and manage the privacy accountant",
		Long: `accountctl computes what differentially private mechanisms cost, and creates,
charges, queries and closes the ledgers of the daemon accountantd, with or without
budgets that hold.

Exit status: 0 done; 2 flags or files are wrong; 3 refused by the ledger (budget,
reservation, closed, not reconciled); 4 no answer from the server; 1 anything else.`,
		Example: `  accountctl compute --file workload.json --delta 1e-5
  accountctl ledger create team/mnist --adjacency add-or-remove-one
  accountctl report team/mnist gaussian --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --count 100
  accountctl query team/mnist --delta 1e-5
  accountctl calibrate --file workload.json --solve standard-deviation --target-epsilon 3 --target-delta 1e-5`,
		Version: version.String(),
	},
		slices.Concat(
			under("What mechanisms cost:", p.compute(), p.explain(), p.curve(), p.plot(), p.calibrate(), p.convert(), p.importWorkload(), p.exportWorkload()),
			under("Ledgers:", p.ledger(), p.report(), p.query(), p.entries(), p.watch(), p.statement()),
			under("Budgets:", p.reserve(), p.commit(), p.release(), p.expire(), p.raise(), p.refund()),
			under("Checks and copies:", p.verify(), p.head(), p.backup(), p.doctor()),
			under("This program:", p.version(), p.completion()))...)
	root.SetHelpCommandGroupID("This program:")
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("accountctl {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, "%v", err) })
	p.flags(root, env)
	return root
}

// under puts commands under a title in the help of the one above them.
func under(title string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = title
	}
	return commands
}

// group makes c a command that only holds others.
func group(c *cobra.Command, children ...*cobra.Command) *cobra.Command {
	for _, child := range children {
		if id := child.GroupID; id != "" && !c.ContainsGroup(id) {
			c.AddGroup(&cobra.Group{ID: id, Title: id})
		}
	}
	c.AddCommand(children...)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		names := make([]string, len(children))
		for i, child := range children {
			names[i] = child.Name()
		}
		return usage(c, "unknown command %q; allowed: %s", args[0], strings.Join(names, ", "))
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return c
}

// names requires exactly the arguments that are named.
func names(wanted ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(wanted):
			return usage(c, "%s is missing", strings.Join(wanted[len(args):], " "))
		case len(args) > len(wanted):
			return usage(c, "unexpected argument %q", args[len(wanted)])
		}
		return nil
	}
}
