// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// column is a column of the overview. It is sorted by a text or by a number; rows that have none come last.
type column struct {
	Key, Title string
	Number     bool   // it stands on the right, and the largest comes first at the first choice
	Words      string // the order at the first choice
	text       func(*pb.OverviewRow) string
	number     func(*pb.OverviewRow) (float64, bool)
}

// columnsOf are the columns of ledgers, or of datasets.
func columnsOf(datasets bool) []column {
	name := column{Key: "name", Title: "Ledger", Words: "name", text: (*pb.OverviewRow).GetName}
	if datasets {
		name.Title, name.text = "Dataset", (*pb.OverviewRow).GetDatasetId
	}
	list := []column{name}
	if !datasets {
		list = append(list, column{Key: "dataset", Title: "Dataset", Words: "dataset",
			text: (*pb.OverviewRow).GetDatasetId})
	}
	share := func(r *pb.OverviewRow) (float64, bool) { return r.GetShare(), r.Share != nil }
	return append(list,
		column{Key: "owner", Title: "Owner", Words: "owner", text: ownersOf},
		column{Key: "used", Title: "Used", Words: "most used first", Number: true, number: share},
		column{Key: "left", Title: "Left", Words: "most left first", Number: true,
			number: func(r *pb.OverviewRow) (float64, bool) { return -r.GetShare(), r.Share != nil }},
		column{Key: "spent", Title: "ε spent", Words: "most ε spent first", Number: true,
			number: func(r *pb.OverviewRow) (float64, bool) { return r.GetEpsilonSpent(), r.EpsilonSpent != nil }},
		column{Key: "guaranteed", Title: "ε guaranteed", Words: "most ε guaranteed first", Number: true,
			number: func(r *pb.OverviewRow) (float64, bool) { return r.GetEpsilon(), r.Epsilon != nil }},
		column{Key: "delta", Title: "at δ", Words: "largest δ first", Number: true,
			number: func(r *pb.OverviewRow) (float64, bool) { return r.GetDelta(), r.GetDelta() > 0 }},
		column{Key: "activity", Title: "Last activity", Words: "latest activity first", Number: true,
			number: func(r *pb.OverviewRow) (float64, bool) {
				return float64(r.GetLastTime().AsTime().UnixMicro()), r.LastTime != nil
			}},
		column{Key: "state", Title: "State", Words: "state", text: func(r *pb.OverviewRow) string {
			return strings.Join(append([]string{r.GetState()}, r.GetFlags()...), " ")
		}})
}

func ownersOf(r *pb.OverviewRow) string { return strings.Join(r.GetOwners(), ", ") }

// order is the order of an overview: by a column, at its first choice or the other way round.
type order struct {
	column
	Datasets, Reversed bool
}

// orderOf reads an order as String spells it; by name if it is empty.
func orderOf(text string, datasets bool) (order, error) {
	key, reversed := strings.CutPrefix(cmp.Or(text, "name"), "-")
	var keys []string
	for _, c := range columnsOf(datasets) {
		if c.Key == key {
			return order{c, datasets, reversed}, nil
		}
		keys = append(keys, c.Key)
	}
	return order{}, status.Errorf(codes.InvalidArgument, "sort: %q; allowed: %s, and each with - before it for the "+
		"other way round", text, strings.Join(keys, ", "))
}

// String is the order as an address has it; empty for the usual one.
func (o order) String() string {
	switch {
	case o.Reversed:
		return "-" + o.Key
	case o.Key == "name":
		return ""
	}
	return o.Key
}

// after is the order to which a click on a column's heading leads.
func (o order) after(c column) string {
	return order{column: c, Reversed: o.Key == c.Key && !o.Reversed}.String()
}

// of says how a column is sorted, as screen readers are told.
func (o order) of(c column) string {
	switch {
	case o.Key != c.Key:
		return "none"
	case c.Number != o.Reversed:
		return "descending"
	}
	return "ascending"
}

// choices are the orders that a form offers.
func (o order) choices() (list []choice) {
	for _, c := range columnsOf(o.Datasets) {
		list = append(list, choice{order{column: c}.String(), c.Words, o.Key == c.Key && !o.Reversed})
	}
	if o.Reversed {
		list = append(list, choice{o.String(), o.backwards(), true})
	}
	return list
}

// backwards is the other order of a column, in words.
func (o order) backwards() string {
	if !o.Number {
		return o.Words + ", backwards"
	}
	return strings.NewReplacer("most", "least", "largest", "smallest", "latest", "oldest").Replace(o.Words)
}

// sort sorts rows. Those that are equal stay in the order of their names.
func (o order) sort(rows []*pb.OverviewRow) {
	sign := 1
	if o.Reversed {
		sign = -1
	}
	slices.SortStableFunc(rows, func(a, b *pb.OverviewRow) int {
		if o.text != nil {
			x, y := o.text(a), o.text(b)
			if x == "" || y == "" {
				return cmp.Compare(btoi(x == ""), btoi(y == ""))
			}
			return sign * cmp.Compare(x, y)
		}
		x, hasX := o.number(a)
		y, hasY := o.number(b)
		if !hasX || !hasY {
			return cmp.Compare(btoi(!hasX), btoi(!hasY))
		}
		return -sign * cmp.Compare(x, y)
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// leftOf is the share of a budget that is left, rounded down.
func leftOf(used float64) string {
	left := 1 - used
	if 1-left < used { // which is exact, so 1-used was rounded up
		left = math.Nextafter(left, 0)
	}
	if !(left > 0) {
		return "0 %"
	}
	return percentDown(left)
}
