package record

import (
	"fmt"
	"math"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// toResolution converts without a check of ranges, which is checkResolution's.
func toResolution(r *recordv1.Resolution) (out ledger.Resolution, err error) {
	for i, l := range r.GetLimits() {
		guard, ok := wire.ToGuard(l.GetGuard())
		if !ok {
			return ledger.Resolution{}, invalid(fmt.Sprintf("resolution.limits[%d].guard", i),
				l.GetGuard().String(), "a known guard")
		}
		out.Limits = append(out.Limits,
			accountant.Limit{Guard: guard, Value: l.GetValue(), Delta: l.GetDelta(), Order: l.GetOrder()})
	}
	out.Plan, err = toParts("resolution.plan", r.GetPlan())
	if err != nil {
		return ledger.Resolution{}, err
	}
	return out, nil
}

// fromResolution is the inverse of toResolution; nil where nothing was resolved.
func fromResolution(r ledger.Resolution) *recordv1.Resolution {
	if len(r.Limits) == 0 && len(r.Plan) == 0 {
		return nil
	}
	out := &recordv1.Resolution{Plan: fromParts(r.Plan)}
	for _, l := range r.Limits {
		out.Limits = append(out.Limits,
			&recordv1.Limit{Guard: wire.FromGuard(l.Guard), Value: l.Value, Delta: l.Delta, Order: l.Order})
	}
	return out
}

// toParts converts without a check of ranges, which is checkParts's.
func toParts(field string, parts []*recordv1.Part) (out []mechanism.Part, err error) {
	for i, p := range parts {
		m, err := wire.ToMechanism(p.GetMechanism())
		if err != nil {
			return nil, wire.InEvent(field, i, err)
		}
		out = append(out, mechanism.Part{Mechanism: m, Count: p.GetCount()})
	}
	return out, nil
}

func fromParts(parts []mechanism.Part) (out []*recordv1.Part) {
	for _, p := range parts {
		out = append(out, &recordv1.Part{Mechanism: wire.FromMechanism(p.Mechanism), Count: p.Count})
	}
	return out
}

// checkParts accepts distinct mechanisms with counts of at most 2^63 − 1 all
// together; check judges a mechanism.
func checkParts(field string, parts []mechanism.Part, check func(mechanism.Mechanism) error) error {
	seen := make(map[mechanism.Mechanism]bool, len(parts))
	total := uint64(0)
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", field, i)
		err := check(p.Mechanism)
		switch {
		case err != nil:
			return wire.InEvent(field, i, err)
		case seen[p.Mechanism]:
			return invalid(at+".mechanism", p.Mechanism.String()+" again", "distinct mechanisms")
		case p.Count == 0 || p.Count > math.MaxInt64-total:
			return invalid(at+".count", fmt.Sprint(p.Count), "a whole number ≥ 1, together at most 2^63 − 1")
		}
		seen[p.Mechanism] = true
		total += p.Count
	}
	return nil
}

// toStoredRaise converts a raise with what it has come to, without a check of ranges.
func toStoredRaise(r *recordv1.Raise) (ledger.Raise, error) {
	if err := wire.RejectUnknown(r); err != nil {
		return ledger.Raise{}, wire.Under("raise", err)
	}
	action, err := wire.ReadAction("raise", r.GetRaise())
	if err != nil {
		return ledger.Raise{}, err
	}
	v := action.(ledger.Raise)
	v.Late = r.GetLate()
	v.Resolution, err = toResolution(r.GetResolution())
	return v, err
}

// checkRaised checks what a raise has come to.
func checkRaised(v ledger.Raise) error {
	planned := len(v.Plan.Events) > 0
	if planned != (len(v.Resolution.Plan) > 0) {
		return invalid("raise.resolution.plan", fmt.Sprintf("%d mechanisms", len(v.Resolution.Plan)),
			"at least one with a plan, none without")
	}
	if n := len(v.Resolution.Limits); planned && n != 0 || !planned && n != len(v.Budgets) {
		return invalid("raise.resolution.limits", fmt.Sprintf("%d limits", n), "one of each budget, none with a plan")
	}
	for i, l := range v.Resolution.Limits {
		if err := checkLimit(v.Budgets[i], l); err != nil {
			return wire.Under(fmt.Sprintf("raise.resolution.limits[%d]", i), err)
		}
	}
	return checkParts("raise.resolution.plan", v.Resolution.Plan, wire.CheckMechanism)
}

// checkResolution checks that a resolution is one of the spec's policy and that
// its numbers are in their ranges. It is not found anew: it is a fact.
func checkResolution(s ledger.Spec, r ledger.Resolution) error {
	limits, plan := 0, 0
	switch s.Policy {
	case ledger.Filtered:
		limits = len(s.Budgets)
	case ledger.Planned:
		plan = 1
	}
	if len(r.Limits) != limits {
		return invalid("resolution.limits", fmt.Sprintf("%d limits", len(r.Limits)),
			fmt.Sprintf("%d, one of each FILTER budget", limits))
	}
	if min(len(r.Plan), 1) != plan {
		return invalid("resolution.plan", fmt.Sprintf("%d mechanisms", len(r.Plan)),
			"at least one with the policy PLAN, none with others")
	}
	for i, l := range r.Limits {
		if err := checkLimit(s.Budgets[i], l); err != nil {
			return wire.Under(fmt.Sprintf("resolution.limits[%d]", i), err)
		}
	}
	return checkParts("resolution.plan", r.Plan, func(m mechanism.Mechanism) error {
		return mechanism.Event{Mechanism: m, Count: 1}.Check(s.Adjacency)
	})
}

func checkLimit(b accountant.Budget, l accountant.Limit) error {
	finite := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch {
	case l.Guard != b.Guard:
		return invalid("guard", l.Guard.String(), b.Guard.String()+", the budget's")
	case !finite(l.Value):
		return invalid("value", fmt.Sprint(l.Value), "a finite number > 0")
	case !(l.Delta >= 0 && l.Delta < 1):
		return invalid("delta", fmt.Sprint(l.Delta), "a number in [0, 1)")
	case l.Guard == accountant.GuardRDP && !(l.Order > 1 && !math.IsInf(l.Order, 1)) ||
		l.Guard != accountant.GuardRDP && l.Order != 0:
		return invalid("order", fmt.Sprint(l.Order), "a finite number > 1 with the guard RDP, otherwise 0")
	}
	return nil
}
