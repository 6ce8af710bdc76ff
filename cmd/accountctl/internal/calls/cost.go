// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
)

// usualDelta is the δ at which a cost is told where the ledger's budgets have none.
const usualDelta = 1e-6

// Costs says for people what events cost on their own and what that rests on, and what is left of the ledger's
// budgets and plan, or what it has spent where nothing limits it. The events were charged or reserved by then,
// unless failed says otherwise, so whatever cannot be found is left out.
func (f *WriteFlags) Costs(ctx context.Context, daemon *client.Client, name string, charged []*accountantv1.Event,
	failed error) (lines []string) {
	if failed != nil || f.Output.Value == cli.FormatJSON {
		return nil
	}
	answer, err := daemon.GetLedger(ctx, name)
	if err != nil {
		return nil
	}
	l := answer.GetLedger()
	delta := usualDelta
	for _, b := range l.GetSpec().GetBudgets() {
		if b.GetDelta() > 0 {
			delta = b.GetDelta()
			break
		}
	}
	workload := &accountantv1.Workload{Adjacency: l.GetSpec().GetAdjacency(), Events: charged}
	if _, c, err := wire.ToWorkload(workload); err == nil {
		end := time.Now().Add(5 * time.Second)
		q := accountant.AtDelta(delta)
		q.Stop = func() bool { return time.Now().After(end) }
		if a, err := accountant.Ask(c, q); err == nil {
			lines = append(lines, fmt.Sprintf("On its own this costs ε ≤ %s at δ = %s.",
				num.FormatDecimalsUp(a.Epsilon, 2), spelling.Exact(delta)))
			for _, text := range c.Assumptions() {
				lines = append(lines, "This assumes: "+text)
			}
		}
	}
	left := leftOf(l)
	for _, text := range left {
		lines = append(lines, "Left: "+text+".")
	}
	if len(left) > 0 {
		return lines
	}
	if a, err := daemon.Query(ctx, name, client.Delta(delta)); err == nil {
		lines = append(lines, fmt.Sprintf("Spent so far: ε ≤ %s at δ = %s. Nothing limits this ledger.",
			num.FormatDecimalsUp(a.GetRunning(), 2), spelling.Exact(delta)))
	}
	return lines
}

// leftOf says how much is left of each budget, and of the plan, rounded down.
func leftOf(l *accountantv1.Ledger) (lines []string) {
	share := func(remaining, limit float64, of string) {
		if limit > 0 {
			lines = append(lines, num.FormatReadDown(spelling.Percent(remaining, limit), 3)+" % of "+of)
		}
	}
	for _, b := range l.GetBudgets() {
		share(b.GetValue().GetRemaining(), b.GetValue().GetLimit(), spelling.Budget(b.GetBudget()))
		share(b.GetDelta().GetRemaining(), b.GetDelta().GetLimit(), "its δ")
	}
	const most = 3 // mechanisms that are named
	var remaining, planned uint64
	for _, b := range l.GetPlan() {
		remaining, planned = remaining+b.GetRemaining(), planned+b.GetPlanned()
		if len(l.GetPlan()) <= most {
			lines = append(lines, fmt.Sprintf("%d of %d × %s", b.GetRemaining(), b.GetPlanned(),
				spelling.Mechanism(b.GetMechanism())))
		}
	}
	if len(l.GetPlan()) > most {
		lines = append(lines, fmt.Sprintf("%d of the plan's %d applications", remaining, planned))
	}
	return lines
}
