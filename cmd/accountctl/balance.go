package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/wire"
)

// policyText says what guards a ledger.
func policyText(spec *accountantv1.LedgerSpec) string {
	switch spec.GetPolicy() {
	case accountantv1.LedgerSpec_PLAN:
		return "plan: only its events, in any order"
	case accountantv1.LedgerSpec_FILTER:
		return "filter: whatever keeps within its budgets"
	}
	return "descriptive: nothing is refused"
}

// writeBalance writes what is left of a ledger, for people: spent and reserved
// rounded up, what remains down.
func (p *program) writeBalance(l *accountantv1.Ledger) error {
	sections := []struct {
		rows int
		fill func(t *table)
	}{
		{len(l.GetBudgets()), func(t *table) {
			t.row("BUDGET", "UNIT", "LIMIT", "SPENT", "RESERVED", "REMAINING")
			for _, b := range l.GetBudgets() {
				amountRow(t, budgetText(b.GetBudget()), b.GetValue())
				if b.GetDelta() != nil {
					amountRow(t, "", b.GetDelta())
				}
			}
		}},
		{len(l.GetPlan()), func(t *table) {
			t.row("PLAN", "PLANNED", "SPENT", "RESERVED", "REMAINING")
			for _, b := range l.GetPlan() {
				t.row(mechanismText(b.GetMechanism()), b.GetPlanned(), b.GetSpent(), b.GetReserved(), b.GetRemaining())
			}
		}},
		{len(l.GetReservations()), func(t *table) {
			t.row("RESERVATION", "EXPIRES", "BY", "HOLDS")
			for _, r := range l.GetReservations() {
				expires, by := "when it is closed", r.GetPrincipal()
				if r.GetChild() != "" {
					by = "ledger " + r.GetChild()
				} else {
					expires = timeText(r.GetExpireTime())
				}
				holds := eventsText(r.GetRest())
				if r.GetRestOmitted() {
					holds = fmt.Sprintf("%d applications of mechanisms that are too large to be listed here", r.GetRestCount())
				}
				t.row(r.GetPosition(), expires, by, holds)
			}
		}},
		{len(l.GetAssumptions()), func(t *table) {
			t.row("ENTRY", "ASSUMPTION", "GUARANTEE")
			for _, a := range l.GetAssumptions() {
				guarantee := ""
				if a.GetDescriptive() {
					guarantee = "descriptive since then"
				}
				entry := ""
				if n := a.GetPosition(); n > 0 {
					entry = fmt.Sprint(n)
				}
				t.row(entry, a.GetText(), guarantee)
			}
		}},
	}
	for _, s := range sections {
		if s.rows == 0 {
			continue
		}
		if _, err := fmt.Fprintln(p.out); err != nil {
			return err
		}
		t := p.table()
		s.fill(t)
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

func amountRow(t *table, name string, a *accountantv1.Amount) {
	t.row(name, a.GetUnit(), num.FormatReadDown(a.GetLimit(), digits), num.FormatReadUp(a.GetSpent(), digits), num.FormatReadUp(a.GetReserved(), digits), num.FormatReadDown(a.GetRemaining(), digits))
}

// mechanismText is a mechanism in words; one of a newer daemon is not known.
func mechanismText(m *accountantv1.Mechanism) string {
	known, err := wire.ToMechanism(m)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return known.String()
}

func eventsText(events []*accountantv1.Event) string {
	parts := make([]string, len(events))
	for i, e := range events {
		count := strconv.FormatUint(uint64(e.GetCount()), 10)
		if e.GetCount() == 0 { // of a plan
			count = "as many as fit"
		}
		parts[i] = count + " × " + mechanismText(e.GetMechanism())
	}
	return strings.Join(parts, ", ")
}

// percent is a share, without the last digits that dividing leaves.
func percent(part, limit float64) float64 { return math.Round(1e13*part/limit) / 1e11 }

// balanceLine is a ledger's balance in one line.
func balanceLine(l *accountantv1.Ledger) string {
	parts := []string{fmt.Sprintf("%s  position %d  %s", time.Now().Format(time.TimeOnly), l.GetPosition(), stateOf(l))}
	share := func(name string, limit, spent, reserved, remaining float64) {
		parts = append(parts, fmt.Sprintf("%s: %s %% spent, %s %% reserved, %s %% left", name,
			num.FormatReadUp(percent(spent, limit), 3), num.FormatReadUp(percent(reserved, limit), 3), num.FormatReadDown(percent(remaining, limit), 3)))
	}
	for _, b := range l.GetBudgets() {
		share(budgetText(b.GetBudget()), b.GetValue().GetLimit(), b.GetValue().GetSpent(), b.GetValue().GetReserved(), b.GetValue().GetRemaining())
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
