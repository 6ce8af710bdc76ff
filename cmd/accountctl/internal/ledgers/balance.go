// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// writeBalance writes what is left of a ledger, for people: spent and reserved
// rounded up, what remains down.
func writeBalance(p *cli.Program, l *accountantv1.Ledger) error {
	sections := []struct {
		rows int
		fill func(t *cli.Table)
	}{
		{len(l.GetBudgets()), func(t *cli.Table) {
			t.Row("BUDGET", "UNIT", "LIMIT", "SPENT", "RESERVED", "REMAINING")
			for _, b := range l.GetBudgets() {
				amountRow(p, t, spelling.Budget(b.GetBudget()), b.GetValue())
				if b.GetDelta() != nil {
					amountRow(p, t, "", b.GetDelta())
				}
			}
		}},
		{len(l.GetPlan()), func(t *cli.Table) {
			t.Row("PLAN", "PLANNED", "SPENT", "RESERVED", "REMAINING")
			for _, b := range l.GetPlan() {
				t.Row(p.Short(spelling.Mechanism(b.GetMechanism()), 38), b.GetPlanned(), b.GetSpent(),
					b.GetReserved(), b.GetRemaining())
			}
		}},
		{len(l.GetReservations()), func(t *cli.Table) {
			t.Row("RESERVATION", "EXPIRES", "BY", "HOLDS")
			for _, r := range l.GetReservations() {
				expires, by := "when it is closed", r.GetPrincipal()
				if r.GetChild() != "" {
					by = "ledger " + r.GetChild()
				} else {
					expires = spelling.Time(r.GetExpireTime())
				}
				if r.GetHolder() != "" {
					by += ", for " + r.GetHolder()
				}
				t.Row(r.GetPosition(), expires, by, spelling.Held(r))
			}
		}},
		{len(l.GetAssumptions()), func(t *cli.Table) {
			t.Row("ENTRY", "ASSUMPTION", "GUARANTEE")
			for _, a := range l.GetAssumptions() {
				guarantee := ""
				if a.GetDescriptive() {
					guarantee = "descriptive since then"
				}
				entry := ""
				if n := a.GetPosition(); n > 0 {
					entry = fmt.Sprint(n)
				}
				t.Row(entry, a.GetText(), guarantee)
			}
		}},
		{len(l.GetAcknowledgements()), func(t *cli.Table) {
			t.Row("ENTRY", "ACKNOWLEDGED WARNING", "BY", "ON", "WHY")
			for _, a := range l.GetAcknowledgements() {
				t.Row(a.GetPosition(), a.GetWarning(), p.ShortName(a.GetPrincipal(), 14),
					a.GetTime().AsTime().Format(time.DateOnly), a.GetReason())
			}
		}},
	}
	for _, s := range sections {
		if s.rows == 0 {
			continue
		}
		if _, err := fmt.Fprintln(p.Out); err != nil {
			return err
		}
		t := p.Table()
		s.fill(t)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func amountRow(p *cli.Program, t *cli.Table, name string, a *accountantv1.Amount) {
	t.Row(p.Short(name, 16), p.Short(a.GetUnit(), 12), num.FormatReadDown(a.GetLimit(), spelling.Digits),
		num.FormatReadUp(a.GetSpent(), spelling.Digits), num.FormatReadUp(a.GetReserved(), spelling.Digits),
		num.FormatReadDown(a.GetRemaining(), spelling.Digits))
}

// balanceLine is a ledger's balance in one line.
func balanceLine(l *accountantv1.Ledger) string {
	parts := []string{fmt.Sprintf("%s  position %d  %s", time.Now().Format(time.TimeOnly),
		l.GetPosition(), spelling.State(l))}
	share := func(name string, limit, spent, reserved, remaining float64) {
		parts = append(parts, fmt.Sprintf("%s: %s %% spent, %s %% reserved, %s %% left", name,
			num.FormatReadUp(spelling.Percent(spent, limit), 3), num.FormatReadUp(spelling.Percent(reserved, limit), 3),
			num.FormatReadDown(spelling.Percent(remaining, limit), 3)))
	}
	for _, b := range l.GetBudgets() {
		share(spelling.Budget(b.GetBudget()), b.GetValue().GetLimit(), b.GetValue().GetSpent(),
			b.GetValue().GetReserved(), b.GetValue().GetRemaining())
		if d := b.GetDelta(); d.GetLimit() > 0 {
			share("its δ", d.GetLimit(), d.GetSpent(), d.GetReserved(), d.GetRemaining())
		}
	}
	var planned, spent, reserved, remaining float64
	for _, b := range l.GetPlan() {
		planned += float64(b.GetPlanned())
		spent += float64(b.GetSpent())
		reserved += float64(b.GetReserved())
		remaining += float64(b.GetRemaining())
	}
	if planned > 0 {
		share("plan", planned, spent, reserved, remaining)
	}
	if len(parts) == 1 {
		parts = append(parts, fmt.Sprintf("%d charged", l.GetTotalCount()))
	}
	return strings.Join(parts, "  ")
}
