// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/internal/guards"
)

// guardHelp says which guard a budget has that was given without one.
const guardHelp = `A budget without a guard gets the one under which most fits: of --expected-run, or else
of usual mechanisms (Gaussian and Laplace noise, steps of DP-SGD), whichever of these it
favours least. With --parent only guards whose share the parent can set aside are taken.
The answer says which it is; --explain-guard shows what other guards would allow.`

// writeChoice says for people which guard was chosen and how much of each run fits under it alone; explained also what
// other guards would allow, of which payer, unless it is empty, may not take all.
func writeChoice(p *cli.Program, ch guards.Choice, payer string, explained bool) error {
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
	said += ". By guard, so many of each would fit alone (of DP-SGD: so many steps)"
	if payer != "" {
		said += ", whether or not " + payer + " takes a share under that guard"
	}
	said += ":"
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
