// SPDX-License-Identifier: Apache-2.0

// Package several has what commands share that can be about several ledgers at once: which ones are named,
// what they answer, and which of them have refused a write.
package several

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Help explains how several ledgers are named.
const Help = `Several ledgers are named with commas between them, such as days/01,days/02; or
--prefix names all whose names begin with a text, and --from and --to those in a
range: --prefix days/ --from 2026-11-01 --to 2026-11-30. Names are compared byte by
byte. There may be up to 1,000, with the same adjacency and unit of privacy.`

// Flags name the ledgers of a range.
type Flags struct{ prefix, from, to string }

// AddFlags adds --prefix, --from and --to to a command.
func AddFlags(c *cobra.Command) *Flags {
	f := &Flags{}
	c.Flags().StringVar(&f.prefix, "prefix", "", "all ledgers whose names begin with `TEXT`, in the place of NAME")
	c.Flags().StringVar(&f.from, "from", "", "with --prefix: what follows it in the first name, the `FIRST`")
	c.Flags().StringVar(&f.to, "to", "", "with --prefix: what follows it in the last name, the `LAST`")
	return f
}

// Ledgers are the ledgers that a command is about.
type Ledgers struct {
	names []string // nil for a range
	set   *accountantv1.LedgerSet
}

// Arguments require a NAME, or --prefix without one, and nothing else unless more says so.
func (f *Flags) Arguments(more bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		ranged := c.Flags().Changed("prefix")
		switch {
		case !ranged && (c.Flags().Changed("from") || c.Flags().Changed("to")):
			return cli.UsageOf(c, "--prefix ", "--from and --to name a range, and --prefix is missing")
		case !ranged && len(args) == 0:
			return cli.Usage(c, "NAME is missing")
		case more:
			return nil
		case ranged && len(args) > 0:
			return cli.UsageOf(c, "--prefix ", "%q and --prefix are both given; allowed: one of them", args[0])
		case len(args) > 1 && !number(args[1]):
			return commas(c, args)
		case len(args) > 1:
			return cli.Usage(c, "unexpected argument %q", args[1])
		}
		return nil
	}
}

func number(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// commas is the error of a line that has several names as arguments of their own.
func commas(c *cobra.Command, names []string) error {
	return cli.Usage(c, "unexpected argument %q; several ledgers have commas between them: %s", names[1],
		strings.Join(names, ","))
}

// Take returns the ledgers that the line names, and the arguments after them. A command without these flags names one.
func (f *Flags) Take(c *cobra.Command, args []string) (l Ledgers, rest []string, err error) {
	if f == nil {
		return Ledgers{[]string{args[0]}, &accountantv1.LedgerSet{Ledgers: args[:1]}}, args[1:], nil
	}
	if c.Flags().Changed("prefix") {
		l.set = &accountantv1.LedgerSet{Range: &accountantv1.LedgerRange{Prefix: f.prefix, First: f.from, Last: f.to}}
		rest = args
	} else {
		l.names = strings.Split(args[0], ",")
		l.set, rest = &accountantv1.LedgerSet{Ledgers: l.names}, args[1:]
		if len(l.names) == 1 { // the daemon says what may be wrong with it, as of every command
			return l, rest, l.alone(c, args)
		}
		if slices.Contains(l.names, "") {
			return l, rest, cli.Usage(c, "NAME: %q has a comma beside which a name is missing", args[0])
		}
	}
	_, err = wire.ToMembers("set", l.set)
	return l, rest, err
}

// alone refuses a line on which further names stand between the one name and the mechanism.
func (l Ledgers) alone(c *cobra.Command, args []string) error {
	at := slices.IndexFunc(args, mechanisms.Named)
	if at > 1 && !slices.Contains(args[:at], mechanisms.Separator) {
		return commas(c, args[:at])
	}
	return nil
}

// One returns the name of the ledger if it is a single one that was named.
func (l Ledgers) One() (name string, ok bool) {
	if len(l.names) != 1 {
		return "", false
	}
	return l.names[0], true
}

// Of returns a client's handle for the ledgers.
func (l Ledgers) Of(daemon *client.Client) *client.Set {
	if r := l.set.GetRange(); r != nil {
		return daemon.Range(r.GetPrefix(), r.GetFirst(), r.GetLast())
	}
	return daemon.Set(l.names...)
}

// first returns one of the ledgers: all have the same adjacency. It is "" where a range has none.
func (l Ledgers) first(ctx context.Context, daemon *client.Client) (string, error) {
	r := l.set.GetRange()
	if r == nil {
		return l.names[0], nil
	}
	for found, err := range daemon.ListLedgers(ctx, r.GetPrefix()) {
		if err != nil || found.GetName() >= r.GetPrefix()+r.GetFirst() {
			return found.GetName(), err
		}
	}
	return "", nil
}

// Suits refuses a charge from a file that was written for another adjacency than that of the ledgers, and
// writes the warnings about its mechanisms.
func (l Ledgers) Suits(ctx context.Context, p *cli.Program, daemon *client.Client, charge *workloads.Charge) error {
	if one, ok := l.One(); !charge.NeedsLedger() || ok && Reserved(one) {
		return nil
	}
	name, err := l.first(ctx, daemon)
	if err != nil || name == "" { // the daemon refuses a range without ledgers
		return err
	}
	if err := charge.Matches(ctx, daemon, name); err != nil {
		return err
	}
	return charge.Warn(ctx, p, daemon, name)
}

// Reserved reports whether a name is that of the ledger that names what was reserved in several ledgers.
func Reserved(name string) bool {
	_, is := ledger.JournalNumber(name)
	return is
}
