// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/wire"
)

const (
	// MaxHistoryPoints bounds the points of one history.
	MaxHistoryPoints = 400
	// maxSpendingGroups bounds the groups of one answer about spending.
	maxSpendingGroups = 500
)

// HistoryQuery is what a QueryHistoryRequest asks.
type HistoryQuery struct {
	Ledger    string
	Positions []uint64    // sorted, each once
	Times     []time.Time // as they were given
	Points    int         // where neither is given
	Range     Range       // to which the points are confined, where neither is given
	Delta     *float64    // nil: the ledger's own
	MaxGap    *float64
	Progress  bool // rather than to wait, hear how far the reading is
}

// ToHistoryQuery converts a query.
func ToHistoryQuery(r *pb.QueryHistoryRequest) (q HistoryQuery, err error) {
	q = HistoryQuery{Points: int(r.GetPoints()), Delta: r.Delta, MaxGap: r.MaxGap, Progress: r.GetProgress()}
	if q.Ledger, err = toLedger(r.GetLedger()); err != nil {
		return q, err
	}
	if err := checkOwnDelta(r.Delta); err != nil {
		return q, err
	}
	if r.MaxGap != nil {
		if _, err := withGap(accountant.AtDelta(1e-6), r.MaxGap); err != nil {
			return q, err
		}
	}
	named := len(r.GetPositions()) + len(r.GetTimes())
	if q.Range, err = toRange(r); err != nil {
		return q, err
	}
	switch {
	case named > 0 && q.Range != (Range{}):
		return q, wire.Invalid("positions", fmt.Sprintf("%d given, with a range", named),
			"one or the other")
	case len(r.GetPositions()) > 0 && len(r.GetTimes()) > 0:
		return q, wire.Invalid("times", fmt.Sprintf("%d, with positions", len(r.GetTimes())), "one or the other")
	case named > MaxHistoryPoints:
		field := "positions"
		if len(r.GetTimes()) > 0 {
			field = "times"
		}
		return q, wire.Invalid(field, fmt.Sprintf("%d given", named), fmt.Sprintf("at most %d", MaxHistoryPoints))
	case named > 0 && q.Progress:
		return q, wire.Invalid("progress", "true", "only without positions and times")
	case named > 0 && q.Points != 0:
		return q, wire.Invalid("points", fmt.Sprint(q.Points), "none with positions or times")
	case named == 0 && q.Points == 0:
		q.Points = 100
	case named == 0 && (q.Points < 2 || q.Points > MaxHistoryPoints):
		return q, wire.Invalid("points", fmt.Sprint(r.GetPoints()), fmt.Sprintf("0 (for 100), or from 2 to %d",
			MaxHistoryPoints))
	}
	q.Positions = slices.Compact(slices.Sorted(slices.Values(r.GetPositions())))
	for i, t := range r.GetTimes() {
		at, err := toTime(fmt.Sprintf("times[%d]", i), t)
		if err != nil {
			return q, err
		}
		q.Times = append(q.Times, at)
	}
	return q, nil
}

// PastTheEnd refuses a position that a ledger does not have.
func PastTheEnd(position, newest uint64) error {
	return wire.Invalid("positions", fmt.Sprint(position), fmt.Sprintf("at most %d, the ledger's newest entry", newest))
}

func toTime(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if err := t.CheckValid(); err != nil {
		return time.Time{}, wire.Invalid(field, err.Error(), "a time from year 1 to 9999")
	}
	return t.AsTime(), nil
}

// checkOwnDelta accepts a δ at which ε is shown for any ledger, and none.
func checkOwnDelta(delta *float64) error {
	if delta != nil && !(*delta > 0 && *delta < 1) {
		return wire.Invalid("delta", fmt.Sprint(*delta), "a number in (0, 1), or none for that of the ledger's budget")
	}
	return nil
}

// OwnDelta is the δ at which a ledger's ε is shown where none is asked for: that of the first of its budgets that
// is an ε at a δ, otherwise UsualDelta. A budget that is a ρ with a δ fails with that δ, so that ε is finite only
// above it.
func OwnDelta(budgets []accountant.Budget) float64 {
	delta := UsualDelta
	for _, b := range budgets {
		switch {
		case b.Epsilon > 0 && b.Delta > 0:
			return b.Delta
		case b.Delta > 0:
			delta = max(delta, min(2*b.Delta, (1+b.Delta)/2))
		}
	}
	return delta
}

// UsualDelta is the δ at which ε is shown where nothing says another one.
const UsualDelta = 1e-6

// ToSpendingQuery checks a query, and completes it.
func ToSpendingQuery(r *pb.QuerySpendingRequest) (limit int, err error) {
	if _, err := toLedger(r.GetLedger()); err != nil {
		return 0, err
	}
	if err := checkOwnDelta(r.Delta); err != nil {
		return 0, err
	}
	if err := checkBy(r.GetBy(), r.GetLabelKey()); err != nil {
		return 0, err
	}
	switch n := r.GetLimit(); {
	case n == 0:
		return 50, nil
	case n > maxSpendingGroups:
		return 0, wire.Invalid("limit", fmt.Sprint(n), fmt.Sprintf("0 (for 50), or from 1 to %d", maxSpendingGroups))
	}
	return int(r.GetLimit()), nil
}

// checkBy accepts a way to group entries.
func checkBy(by pb.QuerySpendingRequest_By, labelKey string) error {
	switch by {
	case pb.QuerySpendingRequest_BY_UNSPECIFIED:
		return wire.Absent("by", "PRINCIPAL, LABEL, MECHANISM or MONTH")
	case pb.QuerySpendingRequest_LABEL:
		if labelKey == "" {
			return wire.Absent("label_key", "the key of a label, such as run")
		}
		_, err := wire.ToLabels("label_key", map[string]string{labelKey: ""})
		return err
	case pb.QuerySpendingRequest_PRINCIPAL, pb.QuerySpendingRequest_MECHANISM, pb.QuerySpendingRequest_MONTH:
		if labelKey != "" {
			return wire.Invalid("label_key", wire.Quote(labelKey), "none unless by is LABEL")
		}
		return nil
	}
	return wire.Invalid("by", fmt.Sprint(int32(by)), "PRINCIPAL, LABEL, MECHANISM or MONTH")
}

// maxGroupName bounds the name of a group that is asked for. Those of mechanisms are the longest.
const maxGroupName = 1024

// CheckAnywhere checks a query but for its page, and returns by what it groups entries.
func CheckAnywhere(r *pb.QuerySpendingAnywhereRequest) (by pb.QuerySpendingRequest_By, err error) {
	if by = r.GetBy(); by == pb.QuerySpendingRequest_BY_UNSPECIFIED {
		by = pb.QuerySpendingRequest_PRINCIPAL
	}
	switch n := len(r.GetName()); {
	case n == 0:
		return by, wire.Absent("name", "who or what has spent, such as cn:ann")
	case n > maxGroupName:
		return by, wire.Invalid("name", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d bytes", maxGroupName))
	}
	if err := checkOwnDelta(r.Delta); err != nil {
		return by, err
	}
	return by, checkBy(by, r.GetLabelKey())
}
