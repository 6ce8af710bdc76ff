package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func (p *program) report() *cobra.Command {
	c := &cobra.Command{
		Use:   "report NAME (--file FILE | MECHANISM flags)",
		Short: "Charge mechanisms to a ledger",
		Long: `Charge what was run to a ledger: the events of a workload file, together or not at
all, or one mechanism described by flags. It returns once the charge is durable.

If budgets or the plan do not allow it, nothing is written, the exit status is 3, and
the message says of every budget what is missing and how many would still fit. With
--check the same is decided, and nothing is written in any case.

Mechanisms and their flags:

` + mechanismHelp() + `
` + requestIDHelp + `

` + workloadHelp,
		Example: `  accountctl report team/mnist gaussian --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --count 100
  accountctl report team/census laplace --scale 10 --sensitivity 1 --label table=age
  accountctl report team/mnist --file workload.json --request-id run-7
  accountctl report team/mnist --file - --check < workload.json`,
		Args:              chargeArgs,
		ValidArgsFunction: p.completeCharge,
	}
	flags := addChargeFlags(c)
	id := requestIDFlag(c)
	check := c.Flags().Bool("check", false, "decide, but write nothing")
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		charge, err := p.charge(c, args[1:], *flags.file, flags.mechanism)
		if err != nil {
			return err
		}
		key, err := requestID(c, *id)
		if err != nil {
			return err
		}
		answer, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.ReportResponse, error) {
			if err := charge.matches(ctx, daemon, args[0]); err != nil {
				return nil, err
			}
			p.warn(wire.Warnings(charge.adjacency, nil, mechanismsOf(charge.events)))
			if *check {
				return daemon.CheckOnce(ctx, args[0], key, charge.events, *flags.labels)
			}
			return daemon.ReportOnce(ctx, args[0], key, charge.events, *flags.labels)
		})
		switch {
		case err != nil:
			return resumable(err, key)
		case output.value == formatJSON:
			return p.writeJSON(answer)
		case answer.GetReceipt() == nil:
			_, err = fmt.Fprintf(p.out, "would be charged: ledger %s; nothing was written\n", args[0])
			return err
		}
		return p.writeReceipt("charged", answer.GetReceipt(), answer.GetReplayed())
	}
	return c
}

// chargeFlags say what to charge, reserve or commit.
type chargeFlags struct {
	file      *string
	mechanism *mechanismFlags
	labels    *labels
}

func addChargeFlags(c *cobra.Command) chargeFlags {
	return chargeFlags{fileFlag(c), addMechanismFlags(c), labelsFlag(c)}
}

// chargeArgs are NAME and, unless there is a file, a mechanism.
func chargeArgs(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return names("NAME", "MECHANISM")(c, args)
	}
	return names("NAME")(c, args)
}

func (p *program) completeCharge(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return kinds(), cobra.ShellCompDirectiveNoFileComp
	}
	return p.completeLedger(c, args, begun)
}

// charge is what to report, and the file it came from, if any.
type charge struct {
	events    []*accountantv1.Event
	file      string
	adjacency accountantv1.Workload_Adjacency // of the file
}

// charge reads the file or the mechanism's flags, whichever is given.
func (p *program) charge(c *cobra.Command, kind []string, file string, flags *mechanismFlags) (*charge, error) {
	switch given := flags.given(c); {
	case file != "" && len(kind) > 0:
		return nil, usage(c, "--file and %q are both given; allowed: one of them", kind[0])
	case file != "" && len(given) > 0:
		return nil, usage(c, "--file and --%s are both given; allowed: one of them", dashed(given[0]))
	case file == "" && len(kind) == 0:
		return nil, usage(c, "--file or a mechanism is missing; mechanisms: %s", strings.Join(kinds(), ", "))
	case file == "":
		e, err := flags.event(c, kind[0])
		return &charge{events: []*accountantv1.Event{e}}, err
	}
	w, err := p.readWorkload(c.Context(), file)
	if err != nil {
		return nil, err
	}
	if err := checkWorkload(file, w); err != nil {
		return nil, err
	}
	return &charge{w.GetEvents(), file, w.GetAdjacency()}, nil
}

// matches refuses a file that was written for another adjacency than the
// ledger's: the same numbers mean something else there. Of flags it only learns the
// adjacency, where they give a dataset size, of which it depends what it says.
func (ch *charge) matches(ctx context.Context, daemon *client.Client, ledger string) error {
	if ch.file == "" && len(wire.Warnings(accountantv1.Workload_ADD_OR_REMOVE_ONE, nil, mechanismsOf(ch.events))) == 0 {
		return nil
	}
	answer, err := daemon.GetLedger(ctx, ledger)
	if err != nil {
		return err
	}
	a := answer.GetLedger().GetSpec().GetAdjacency()
	if ch.file == "" {
		ch.adjacency = a
	}
	if a != ch.adjacency {
		return badFile(ch.file, fmt.Errorf("adjacency: %s; allowed: %s, the ledger's", ch.adjacency, a))
	}
	return nil
}

func mechanismsOf(events []*accountantv1.Event) []*accountantv1.Mechanism {
	out := make([]*accountantv1.Mechanism, len(events))
	for i, e := range events {
		out[i] = e.GetMechanism()
	}
	return out
}
