// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// writeBalance writes what is left of a ledger, for people.
func writeBalance(p *cli.Program, l *accountantv1.Ledger) {
	answers.WriteBudgets(p, "RESERVED", l.GetBudgets())
	cli.Section(p, cli.Columns("PLAN, 38", "PLANNED", "SPENT", "RESERVED", "REMAINING"), l.GetPlan(),
		func(b *accountantv1.PlanBalance) []any {
			return []any{spelling.Mechanism(b.GetMechanism()), b.GetPlanned(), b.GetSpent(), b.GetReserved(),
				b.GetRemaining()}
		})
	cli.Section(p, cli.Columns("RESERVATION", "EXPIRES", "BY", "HOLDS"), l.GetReservations(), reservationRow)
	cli.Section(p, cli.Columns("ENTRY", "ASSUMPTION", "GUARANTEE"), l.GetAssumptions(),
		func(a *accountantv1.Assumption) []any {
			entry, guarantee := "", ""
			if n := a.GetPosition(); n > 0 {
				entry = fmt.Sprint(n)
			}
			if a.GetDescriptive() {
				guarantee = "descriptive since then"
			}
			return []any{entry, a.GetText(), guarantee}
		})
	cli.Section(p, cli.Columns("ENTRY", "ACKNOWLEDGED WARNING", "BY, 14, principals", "ON", "WHY"),
		l.GetAcknowledgements(), func(a *accountantv1.Acknowledgement) []any {
			return []any{a.GetPosition(), a.GetWarning(), a.GetPrincipal(), a.GetTime().AsTime().Format(time.DateOnly),
				a.GetReason()}
		})
}

func reservationRow(r *accountantv1.Reservation) []any {
	expires, by := "when it is closed", r.GetPrincipal()
	if r.GetChild() != "" {
		by = "ledger " + r.GetChild()
	} else {
		expires = spelling.Time(r.GetExpireTime())
	}
	if r.GetHolder() != "" {
		by += ", for " + r.GetHolder()
	}
	return []any{r.GetPosition(), expires, by, spelling.Held(r)}
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
