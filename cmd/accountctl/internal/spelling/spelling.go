// Package spelling says how the command line spells the API's values, in flags and in
// tables: numbers, times, labels, adjacencies, mechanisms, budgets, what an entry did,
// and a ledger's state. Where a flag takes such a value, reading it back is here too.
package spelling

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Time is a time in UTC, to the second.
func Time(t *timestamppb.Timestamp) string { return t.AsTime().Format(time.RFC3339) }

// Dashed is a name of the API as flags spell it.
func Dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }
