// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/guards"
)

// guardHelp says which guard a budget has that was given without one.
const guardHelp = `A budget without a guard gets the one under which most fits: of --expected-run, or else
of usual mechanisms (Gaussian and Laplace noise, steps of DP-SGD), whichever of these it
favours least. With --parent only guards whose share the parent can set aside are taken.
The answer says which it is; --explain-guard shows what other guards would allow.`

// chooseGuards gives a guard to each of the ledger's budgets that was given without one.
func chooseGuards(p *cli.Program, c *cobra.Command, spec *accountantv1.LedgerSpec) ([]guards.Choice, error) {
	if !guards.Missing(spec) {
		return nil, nil
	}
	parent, err := payer(p, c, spec)
	if err != nil {
		return nil, err
	}
	progress := p.Progress("choosing a guard")
	defer progress.End()
	chosen, err := guards.Choose(spec, parent, func() bool { return c.Context().Err() != nil })
	if impossible := (*guards.Impossible)(nil); errors.As(err, &impossible) {
		return nil, cli.Usage(c, "--budget %v; such as: --budget epsilon=8,delta=1e-6", impossible)
	}
	return chosen, err
}

// payer returns the spec of the ledger that pays for a new one, or of the registered dataset; nil
// if nothing does.
func payer(p *cli.Program, c *cobra.Command, spec *accountantv1.LedgerSpec) (*accountantv1.LedgerSpec, error) {
	if spec.GetParent() == "" && spec.GetDatasetId() == "" {
		return nil, nil
	}
	return cli.Ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.LedgerSpec, error) {
		name := spec.GetParent()
		if name == "" {
			d, err := daemon.GetDataset(ctx, spec.GetDatasetId())
			if e := (*client.Error)(nil); errors.As(err, &e) &&
				(e.Code == codes.NotFound || e.Code == codes.Unimplemented || e.Code == codes.InvalidArgument) {
				return nil, nil // it is not registered, or the daemon knows no datasets
			}
			if name = d.GetDataset().GetName(); err != nil {
				return nil, err
			}
			if of := d.GetDataset().GetBudgetOf(); of != "" {
				name = of
			}
		}
		answer, err := daemon.GetLedger(ctx, name)
		if err != nil {
			return nil, err
		}
		return guards.Now(answer.GetLedger()), nil
	})
}

// writeChoice says for people which guard was chosen and how much of each run fits under it alone; explained also what
// other guards would allow.
func writeChoice(p *cli.Program, ch guards.Choice, explained bool) error {
	best, fits := ch.Among[0], make([]string, len(ch.Runs))
	for i, run := range ch.Runs {
		times := "×"
		if strings.HasPrefix(run.Name, "DP-SGD") {
			times = "steps of"
		}
		fits[i] = fmt.Sprintf("%d %s %s", best.Fits[i], times, run.Name)
	}
	said := "The budget " + ch.Given + " is enforced by " + guards.Text(best.Budget)
	if len(ch.Among) == 1 || !explained {
		p.Paragraph(said + ", under which alone would fit: " + strings.Join(fits, ", or ") + ".")
		return nil
	}
	said += ". By guard, so many of each would fit alone (of DP-SGD: so many steps):"
	if _, err := fmt.Fprintf(p.Out, "\n%s\n", cli.Wrap(said)); err != nil {
		return err
	}
	t := p.Table()
	cells := []any{" ", "GUARD"}
	for _, r := range ch.Runs {
		cells = append(cells, r.Name)
	}
	t.Row(cells...)
	for i, c := range ch.Among {
		mark := " "
		if i == 0 {
			mark = "*"
		}
		cells := []any{mark, guards.Text(c.Budget)}
		for _, n := range c.Fits {
			cells = append(cells, n)
		}
		t.Row(cells...)
	}
	return t.Flush()
}
