// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// ChargeFlags say what to charge, reserve or commit.
type ChargeFlags struct {
	file       *string
	mechanisms *mechanisms.Flags
	pattern    string
	charge     *accountantv1.Charge
}

// AddChargeFlags adds --file, the flags of mechanisms, and --label. The pattern is a line of
// the command that works, with %s in the place of the mechanisms: errors show it.
func AddChargeFlags(c *cobra.Command, pattern string) ChargeFlags {
	charge := &accountantv1.Charge{}
	m := charge.ProtoReflect()
	values.AddFlag(c, m, m.Descriptor().Fields().ByName("labels"), "label", "KEY=VALUE")
	return ChargeFlags{fileFlag(c), mechanisms.AddFlags(c), pattern, charge}
}

// Labels returns what --label says.
func (f ChargeFlags) Labels() map[string]string { return f.charge.Labels }

// ChargeArgs are NAME and, unless there is a file, mechanisms.
func ChargeArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.Usage(c, "NAME is missing")
	}
	return nil
}

// CompleteCharge completes a ledger's name, and after it a mechanism.
func CompleteCharge(p *cli.Program) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return mechanisms.Kinds(), cobra.ShellCompDirectiveNoFileComp
		}
		return p.CompleteLedger(c, args, begun)
	}
}

// Charge is what to report, and the file it came from, if any.
type Charge struct {
	Events    []*accountantv1.Event
	file      string
	adjacency accountantv1.Workload_Adjacency // of the file
}

// Read reads the file, or makes events of the mechanisms that are named, whichever is given.
func (f ChargeFlags) Read(p *cli.Program, c *cobra.Command, words []string) (*Charge, error) {
	names, err := Names(c, words)
	if err != nil {
		return nil, err
	}
	example, _ := mechanisms.Example(strings.Join(names, " "))
	example = strings.Replace(fmt.Sprintf(f.pattern, example), "NAME", c.Flags().Arg(0), 1)
	flag, given := f.mechanisms.Given()
	switch {
	case *f.file != "" && len(names) > 0:
		return nil, cli.Usage(c, "--file and %q are both given; allowed: one of them", names[0])
	case *f.file != "" && given:
		return nil, cli.Usage(c, "--file and %s are both given; allowed: one of them", flag)
	case *f.file != "":
		return ReadCharge(c.Context(), p, *f.file)
	case len(names) == 0 && given && mechanisms.Named(c.Flags().Arg(0)):
		name := c.Flags().Arg(0)
		example, _ = mechanisms.Example(name)
		return nil, cli.Usage(c, "NAME is missing: a ledger's name stands before the mechanism %s; such as: %s", name,
			strings.Replace(fmt.Sprintf(f.pattern, example), "NAME", "team/mnist", 1))
	case len(names) == 0:
		return nil, cli.Usage(c, "--file or a mechanism is missing; such as: %s", example)
	}
	events, err := f.mechanisms.Events(names)
	for _, e := range events { // of any adjacency: the ledger's is not known yet
		if _, invalid := wire.ToMechanism(e.GetMechanism()); invalid != nil {
			return nil, f.mechanisms.Explain(invalid, example)
		}
	}
	return &Charge{Events: events}, err
}

// ReadCharge reads what to charge from a workload file.
func ReadCharge(ctx context.Context, p *cli.Program, file string) (*Charge, error) {
	w, err := Read(ctx, p, file)
	if err != nil {
		return nil, err
	}
	if err := Check(file, w); err != nil {
		return nil, err
	}
	return &Charge{w.GetEvents(), file, w.GetAdjacency()}, nil
}

// NeedsLedger reports whether Matches or Warn has to know the ledger.
func (ch *Charge) NeedsLedger() bool {
	return ch.file != "" || len(questions.Warnings(nil, Mechanisms(ch.Events), nil)) > 0
}

// Matches refuses a file that was written for another adjacency than the
// ledger's: the same numbers mean something else there.
func (ch *Charge) Matches(ctx context.Context, daemon *client.Client, ledger string) error {
	if ch.file == "" {
		return nil
	}
	answer, err := daemon.GetLedger(ctx, ledger)
	if err != nil {
		return err
	}
	if a := answer.GetLedger().GetSpec().GetAdjacency(); a != ch.adjacency {
		return cli.BadFile(ch.file, fmt.Errorf("adjacency: %s; allowed: %s, the ledger's", ch.adjacency, a))
	}
	return nil
}

// Warn writes the warnings about the events that the ledger's owners have not acknowledged.
func (ch *Charge) Warn(ctx context.Context, p *cli.Program, daemon *client.Client, ledger string) error {
	list := Mechanisms(ch.Events)
	if len(questions.Warnings(nil, list, nil)) == 0 {
		return nil
	}
	answer, err := daemon.GetLedger(ctx, ledger)
	if err == nil {
		p.Warn(questions.Warnings(nil, list, answer.GetLedger().GetAcknowledgements()))
	}
	return err
}

// Mechanisms are the mechanisms of events.
func Mechanisms(events []*accountantv1.Event) []*accountantv1.Mechanism {
	out := make([]*accountantv1.Mechanism, len(events))
	for i, e := range events {
		out[i] = e.GetMechanism()
	}
	return out
}
