// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Range is a part of a ledger's history. The zero value is all of it.
type Range struct {
	Start, End   uint64    // positions; an end of 0 is the newest entry
	Since, Until time.Time // instead of them; zero where none is given
}

func toRange(r *pb.QueryHistoryRequest) (x Range, err error) {
	x = Range{Start: r.GetStartPosition(), End: r.GetEndPosition()}
	if r.GetStartTime() != nil {
		if x.Since, err = toTime("start_time", r.GetStartTime()); err != nil {
			return x, err
		}
	}
	if r.GetEndTime() != nil {
		if x.Until, err = toTime("end_time", r.GetEndTime()); err != nil {
			return x, err
		}
		if x.Until.IsZero() { // the earliest time there is, which would look like none
			x.Until = x.Until.Add(1)
		}
	}
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	switch {
	case x.Start > 0 && r.GetStartTime() != nil:
		return x, wire.Invalid("start_time", text(x.Since), "none with start_position")
	case x.End > 0 && r.GetEndTime() != nil:
		return x, wire.Invalid("end_time", text(x.Until), "none with end_position")
	case x.End > 0 && x.End <= x.Start:
		return x, wire.Invalid("end_position", fmt.Sprint(x.End), fmt.Sprintf("more than start_position, %d", x.Start))
	case r.GetStartTime() != nil && r.GetEndTime() != nil && !x.Until.After(x.Since):
		return x, wire.Invalid("end_time", text(x.Until), "later than start_time, "+text(x.Since))
	}
	return x, nil
}

// PastTheRange refuses the start or the end of a range that lies past the newest entry.
func PastTheRange(field string, position, newest uint64) error {
	return wire.Invalid(field, fmt.Sprint(position), fmt.Sprintf("at most %d, the ledger's newest entry", newest))
}

// EmptyRange refuses a range whose end comes before its start.
func EmptyRange(start, end uint64) error {
	return wire.Invalid("end of the range", fmt.Sprintf("entry %d, before its start at entry %d", end, start),
		"an end that does not come before the start")
}
