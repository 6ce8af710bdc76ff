// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
)

// Why there is nothing to guess.
const (
	NoBudget = "The ledger has no budget, so there is nothing that could be used up."
	Closed   = "The ledger is closed: nothing more is spent from it."
	UsedUp   = "The budget is used up: nothing more fits."
)

// ForecastText says a forecast in words, or why there is none.
func ForecastText(a *pb.QueryForecastResponse, instead string) string {
	switch {
	case instead != "":
		return instead
	case a.GetWindowStart() == nil:
		return "Too little has happened to guess when the budget will be used up: that needs a day, and charges at " +
			"three moments, each an hour or more after the one before."
	case a.GetSharePerDay() == 0 && a.GetEarliestTime() == nil:
		return "Nothing of the budget was used within " + window(a) + ", nor within the other times that were looked " +
			"at, so there is nothing to guess from."
	}
	text := fmt.Sprintf("This is a guess. Within %s, %s %% of %s were used a day, and %s %% are left. ", window(a),
		num.FormatReadUp(100*a.GetSharePerDay(), 3), a.GetShareOf(), num.FormatReadDown(100*max(0, 1-a.GetShare()), 3))
	switch at := a.GetExhaustionTime(); {
	case at != nil:
		text += "If that goes on, the budget will be used up on " + date(at) + "."
	default:
		text += "If that goes on, the budget will last for more than ten years."
	}
	if e, l := a.GetEarliestTime(), a.GetLatestTime(); e != nil && date(e) != date(l) {
		text += fmt.Sprintf(" By the rates of the last day, week and thirty days, and of the ledger's whole time, it "+
			"would be between %s and %s.", date(e), date(l))
	}
	return text + " Jobs come in bursts, and nothing says that the future is like the past. The budget is enforced " +
		"whatever is guessed here."
}

func date(t *timestamppb.Timestamp) string { return t.AsTime().UTC().Format("2 Jan 2006") }

func window(a *pb.QueryForecastResponse) string {
	d := a.GetWindowEnd().AsTime().Sub(a.GetWindowStart().AsTime())
	if d < 48*time.Hour {
		return "the last " + num.FormatReadUp(d.Hours(), 2) + " hours"
	}
	return "the last " + num.FormatReadUp(d.Hours()/24, 2) + " days"
}
