package wire

import (
	"fmt"
	"math"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// toResolution converts without a check of ranges, which is checkResolution's.
func toResolution(r *recordv1.Resolution) (out ledger.Resolution, err error) {
	for i, l := range r.GetLimits() {
		guard, ok := guards[l.GetGuard()]
		if !ok {
			return ledger.Resolution{}, invalid(fmt.Sprintf("resolution.limits[%d].guard", i), l.GetGuard().String(), "a known guard")
		}
		out.Limits = append(out.Limits, accountant.Limit{Guard: guard, Value: l.GetValue(), Delta: l.GetDelta(), Order: l.GetOrder()})
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
		out.Limits = append(out.Limits, &recordv1.Limit{Guard: fromGuard(l.Guard), Value: l.Value, Delta: l.Delta, Order: l.Order})
	}
	return out
}

// toParts converts without a check of ranges, which is checkParts's.
func toParts(field string, parts []*recordv1.Part) (out []mechanism.Part, err error) {
	for i, p := range parts {
		m, err := toMechanism(p.GetMechanism(), 0)
		if err != nil {
			return nil, under(fmt.Sprintf("%s[%d]", field, i), err)
		}
		out = append(out, mechanism.Part{Mechanism: m, Count: p.GetCount()})
	}
	return out, nil
}

func fromParts(parts []mechanism.Part) (out []*recordv1.Part) {
	for _, p := range parts {
		out = append(out, &recordv1.Part{Mechanism: FromMechanism(p.Mechanism), Count: p.Count})
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
			return inEvent(field, i, err)
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
	if err := RejectUnknown(r); err != nil {
		return ledger.Raise{}, under("raise", err)
	}
	v, err := toRaise(r.GetRaise())
	if err != nil {
		return ledger.Raise{}, err
	}
	v.Late = r.GetLate()
	v.Resolution, err = toResolution(r.GetResolution())
	return v, err
}

// checkRaised checks what a raise has come to.
func checkRaised(v ledger.Raise) error {
	planned := len(v.Plan.Events) > 0
	if planned != (len(v.Resolution.Plan) > 0) {
		return invalid("raise.resolution.plan", fmt.Sprintf("%d mechanisms", len(v.Resolution.Plan)), "at least one with a plan, none without")
	}
	if n := len(v.Resolution.Limits); planned && n != 0 || !planned && n != len(v.Budgets) {
		return invalid("raise.resolution.limits", fmt.Sprintf("%d limits", n), "one of each budget, none with a plan")
	}
	for i, l := range v.Resolution.Limits {
		if err := checkLimit(v.Budgets[i], l); err != nil {
			return under(fmt.Sprintf("raise.resolution.limits[%d]", i), err)
		}
	}
	return checkParts("raise.resolution.plan", v.Resolution.Plan, checkAnywhere)
}
