// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// WriteBudgets writes how budgets stand: spent and reserved rounded up, what remains down. Reserved says what the head
// of the column calls what is set aside.
func WriteBudgets(p *cli.Program, reserved string, budgets []*accountantv1.BudgetBalance) {
	type part struct {
		name string
		*accountantv1.Amount
	}
	var parts []part
	for _, b := range budgets {
		parts = append(parts, part{spelling.Budget(b.GetBudget()), b.GetValue()})
		if b.GetDelta() != nil {
			parts = append(parts, part{"", b.GetDelta()})
		}
	}
	cli.Section(p, cli.Columns("BUDGET, 16", "UNIT, 12", "LIMIT", "SPENT", reserved, "REMAINING"), parts,
		func(a part) []any {
			return []any{a.name, a.GetUnit(), num.FormatReadDown(a.GetLimit(), spelling.Digits),
				num.FormatReadUp(a.GetSpent(), spelling.Digits),
				num.FormatReadUp(a.GetReserved(), spelling.Digits),
				num.FormatReadDown(a.GetRemaining(), spelling.Digits)}
		})
}
