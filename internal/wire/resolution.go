package wire

import (
	"fmt"

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
	for i, p := range r.GetPlan() {
		m, err := toMechanism(p.GetMechanism(), 0)
		if err != nil {
			return ledger.Resolution{}, under(fmt.Sprintf("resolution.plan[%d]", i), err)
		}
		out.Plan = append(out.Plan, mechanism.Part{Mechanism: m, Count: p.GetCount()})
	}
	return out, nil
}

// fromResolution is the inverse of toResolution; nil where nothing was resolved.
func fromResolution(r ledger.Resolution) *recordv1.Resolution {
	if len(r.Limits) == 0 && len(r.Plan) == 0 {
		return nil
	}
	out := &recordv1.Resolution{}
	for _, l := range r.Limits {
		out.Limits = append(out.Limits, &recordv1.Limit{Guard: fromGuard(l.Guard), Value: l.Value, Delta: l.Delta, Order: l.Order})
	}
	for _, p := range r.Plan {
		out.Plan = append(out.Plan, &recordv1.PlannedMechanism{Mechanism: FromMechanism(p.Mechanism), Count: p.Count})
	}
	return out
}
