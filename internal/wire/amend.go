package wire

import (
	"fmt"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToRefund converts a refund, which asserts that nothing was released. Its Events are
// found by package keeper. Fields in errors start with "refund.".
func ToRefund(r *pb.Refund) (ledger.Refund, error) {
	if err := known("refund", r); err != nil {
		return ledger.Refund{}, err
	}
	if n := len(r.GetEvents()); n > 0 {
		return ledger.Refund{}, invalid("refund.events", fmt.Sprintf("%d events", n), "none: they are those of the entry")
	}
	if !r.GetNothingReleased() {
		return ledger.Refund{}, invalid("refund.nothing_released", "false", "true: nothing computed for the entry was, or will be, released")
	}
	v := ledger.Refund{Position: r.GetPosition(), Reason: r.GetReason()}
	return v, checkRefund(v)
}

// toStoredRefund converts without a check of ranges.
func toStoredRefund(r *pb.Refund) (ledger.Refund, error) {
	if err := known("refund", r); err != nil {
		return ledger.Refund{}, err
	}
	if !r.GetNothingReleased() {
		return ledger.Refund{}, invalid("refund.nothing_released", "false", "true")
	}
	events, err := toEvents("refund.events", r.GetEvents())
	return ledger.Refund{Position: r.GetPosition(), Events: events, Reason: r.GetReason()}, err
}

// checkRefund checks all but the events.
func checkRefund(v ledger.Refund) error {
	if v.Position == 0 {
		return absent("refund.position", "the position of a charge, a commit or an expiry, ≥ 1")
	}
	return checkReason("refund.reason", v.Reason)
}

func fromRefund(v ledger.Refund) *pb.Refund {
	return &pb.Refund{Position: v.Position, NothingReleased: true, Reason: v.Reason, Events: FromEvents(v.Events)}
}

// ToFree converts what frees a reservation, which asserts that nothing was released.
// Its Events are set by the decision. Fields in errors start with "free.".
func ToFree(f *pb.Free) (ledger.Free, error) {
	v, err := toFree(f)
	if err == nil && len(v.Events) > 0 {
		err = invalid("free.events", fmt.Sprintf("%d events", len(v.Events)), "none: they are what is left of the reservation")
	}
	if err == nil {
		err = checkFree(v)
	}
	if err != nil {
		return ledger.Free{}, err
	}
	return v, nil
}

// toFree converts without a check of ranges.
func toFree(f *pb.Free) (ledger.Free, error) {
	if err := known("free", f); err != nil {
		return ledger.Free{}, err
	}
	if !f.GetNothingReleased() {
		return ledger.Free{}, invalid("free.nothing_released", "false", "true: nothing computed for what is left of the reservation was, or will be, released")
	}
	events, err := toEvents("free.events", f.GetEvents())
	return ledger.Free{Reservation: f.GetReservation(), Events: events, Reason: f.GetReason()}, err
}

// checkFree checks all but the events.
func checkFree(v ledger.Free) error {
	if err := checkReservation("free.reservation", v.Reservation); err != nil {
		return err
	}
	return checkReason("free.reason", v.Reason)
}

func fromFree(v ledger.Free) *pb.Free {
	return &pb.Free{Reservation: v.Reservation, NothingReleased: true, Reason: v.Reason, Events: FromEvents(v.Events)}
}

// ToExpire converts what lets a reservation expire now. Fields in errors start with
// "expire.".
func ToExpire(e *pb.Expire) (ledger.Expire, error) {
	if err := known("expire", e); err != nil {
		return ledger.Expire{}, err
	}
	return ledger.Expire{Reservation: e.GetReservation()}, checkReservation("expire.reservation", e.GetReservation())
}

// ToRaise converts a raise of a ledger with the adjacency adj. Its Resolution is
// found by package keeper. Fields in errors start with "raise.".
func ToRaise(adj mechanism.Adjacency, r *pb.Raise) (ledger.Raise, error) {
	v, err := toRaise(r)
	if err == nil {
		v.Plan, err = toPlan("raise.plan", adj, r.GetPlan())
	}
	if err == nil {
		err = checkRaise(v)
	}
	if err == nil {
		err = checkEvents(adj, "raise.plan.events", asCharged(v.Plan))
	}
	if err != nil {
		return ledger.Raise{}, err
	}
	return v, nil
}

// asCharged is a plan's events, one for as many as fit.
func asCharged(plan ledger.Workload) []mechanism.Event {
	if len(plan.Events) == 1 && plan.Events[0].Count == 0 {
		return []mechanism.Event{{Mechanism: plan.Events[0].Mechanism, Count: 1}}
	}
	return plan.Events
}

// toRaise converts all but the plan, without a check of ranges.
func toRaise(r *pb.Raise) (ledger.Raise, error) {
	if err := known("raise", r); err != nil {
		return ledger.Raise{}, err
	}
	v := ledger.Raise{Independent: r.GetIndependentOfOutputs(), Reason: r.GetReason()}
	for i, b := range r.GetBudgets() {
		budget, err := toBudget(b)
		if err != nil {
			return ledger.Raise{}, under(fmt.Sprintf("raise.budgets[%d]", i), err)
		}
		v.Budgets = append(v.Budgets, budget)
	}
	return v, nil
}

// checkRaise checks all but the plan's events and the resolution.
func checkRaise(v ledger.Raise) error {
	switch n := len(v.Budgets); {
	case n == 0 && v.Plan.IsZero():
		return absent("raise.budgets", "all budgets of the ledger, or a plan")
	case n > ledger.MaxBudgets:
		return invalid("raise.budgets", fmt.Sprintf("%d budgets", n), fmt.Sprintf("at most %d", ledger.MaxBudgets))
	}
	for i, b := range v.Budgets {
		if err := b.Check(); err != nil {
			return under(fmt.Sprintf("raise.budgets[%d]", i), fromDomain(err))
		}
	}
	if err := checkText("raise.plan.name", v.Plan.Name, maxText); err != nil {
		return err
	}
	return checkReason("raise.reason", v.Reason)
}

func checkReason(field, reason string) error {
	if reason == "" {
		return absent(field, "why, 1 to 1,024 bytes")
	}
	return checkText(field, reason, maxReason)
}

func fromRaise(v ledger.Raise) *pb.Raise {
	r := &pb.Raise{Budgets: fromBudgets(v.Budgets), IndependentOfOutputs: v.Independent, Reason: v.Reason}
	if !v.Plan.IsZero() {
		r.Plan = &pb.Workload{Name: v.Plan.Name, Events: FromEvents(v.Plan.Events)}
	}
	return r
}

// toStoredRaise converts without a check of ranges.
func toStoredRaise(r *recordv1.Raise) (ledger.Raise, error) {
	if err := RejectUnknown(r); err != nil {
		return ledger.Raise{}, under("raise", err)
	}
	v, err := toRaise(r.GetRaise())
	if err != nil {
		return ledger.Raise{}, err
	}
	if p := r.GetRaise().GetPlan(); p != nil {
		if p.GetAdjacency() != pb.Workload_ADJACENCY_UNSPECIFIED {
			return ledger.Raise{}, invalid("raise.plan.adjacency", p.GetAdjacency().String(), "none in an entry")
		}
		if len(p.GetEvents()) == 0 {
			return ledger.Raise{}, absent("raise.plan.events", "at least one event, or no plan")
		}
		v.Plan.Name = p.GetName()
		if v.Plan.Events, err = toEvents("raise.plan.events", p.GetEvents()); err != nil {
			return ledger.Raise{}, err
		}
	}
	v.Late = r.GetLate()
	v.Resolution, err = toResolution(r.GetResolution())
	return v, err
}

// checkStoredRaise checks a raise with what it came to. Its ledger's adjacency is
// not in it: a descriptor must be valid under one.
func checkStoredRaise(v ledger.Raise) error {
	if err := checkRaise(v); err != nil {
		return err
	}
	if n := len(v.Plan.Events); n > MaxWorkloadEvents || n == 0 && !v.Plan.IsZero() {
		return invalid("raise.plan.events", fmt.Sprintf("%d events", n), fmt.Sprintf("1 to %d", MaxWorkloadEvents))
	}
	for i, e := range asCharged(v.Plan) {
		err := checkAnywhere(e.Mechanism)
		if err == nil && e.Count == 0 {
			err = invalid("count", "0", "a whole number from 1 to 4294967295")
		}
		if err != nil {
			return inEvent("raise.plan.events", i, err)
		}
	}
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
	for i, b := range v.Budgets {
		if (b.Guard == accountant.GuardNone) != planned {
			return invalid(fmt.Sprintf("raise.budgets[%d].guard", i), b.Guard.String(), "a guard without a plan, none with one")
		}
	}
	return checkParts("raise.resolution.plan", v.Resolution.Plan, checkAnywhere)
}
