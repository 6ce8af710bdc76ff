package workloads

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// ChargeFlags say what to charge, reserve or commit.
type ChargeFlags struct {
	file      *string
	mechanism *mechanisms.Flags
	Labels    *spelling.LabelsValue
}

// AddChargeFlags adds --file, the flags of mechanisms, and --label.
func AddChargeFlags(c *cobra.Command) ChargeFlags {
	return ChargeFlags{FileFlag(c), mechanisms.AddFlags(c), spelling.LabelsFlag(c)}
}

// ChargeArgs are NAME and, unless there is a file, a mechanism.
func ChargeArgs(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Arguments("NAME", "MECHANISM")(c, args)
	}
	return cli.Arguments("NAME")(c, args)
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
	Adjacency accountantv1.Workload_Adjacency // of the file
}

// Read reads the file or the mechanism's flags, whichever is given.
func (f ChargeFlags) Read(p *cli.Program, c *cobra.Command, kind []string) (*Charge, error) {
	file := *f.file
	switch given := f.mechanism.Given(c); {
	case file != "" && len(kind) > 0:
		return nil, cli.Usage(c, "--file and %q are both given; allowed: one of them", kind[0])
	case file != "" && len(given) > 0:
		return nil, cli.Usage(c, "--file and --%s are both given; allowed: one of them", spelling.Dashed(given[0]))
	case file == "" && len(kind) == 0:
		return nil, cli.Usage(c, "--file or a mechanism is missing; mechanisms: %s", strings.Join(mechanisms.Kinds(), ", "))
	case file == "":
		e, err := f.mechanism.Event(c, kind[0])
		return &Charge{Events: []*accountantv1.Event{e}}, err
	}
	return ReadCharge(c.Context(), p, file)
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

// Matches refuses a file that was written for another adjacency than the
// ledger's: the same numbers mean something else there. Of flags it only learns the
// adjacency, where they give a dataset size, of which it depends what it says.
func (ch *Charge) Matches(ctx context.Context, daemon *client.Client, ledger string) error {
	if ch.file == "" && len(wire.Warnings(accountantv1.Workload_ADD_OR_REMOVE_ONE, nil, Mechanisms(ch.Events))) == 0 {
		return nil
	}
	answer, err := daemon.GetLedger(ctx, ledger)
	if err != nil {
		return err
	}
	a := answer.GetLedger().GetSpec().GetAdjacency()
	if ch.file == "" {
		ch.Adjacency = a
	}
	if a != ch.Adjacency {
		return cli.BadFile(ch.file, fmt.Errorf("adjacency: %s; allowed: %s, the ledger's", ch.Adjacency, a))
	}
	return nil
}

// Mechanisms are the mechanisms of events.
func Mechanisms(events []*accountantv1.Event) []*accountantv1.Mechanism {
	out := make([]*accountantv1.Mechanism, len(events))
	for i, e := range events {
		out[i] = e.GetMechanism()
	}
	return out
}
