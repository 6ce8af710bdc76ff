// SPDX-License-Identifier: Apache-2.0

// Package spelling says how the API's values are spelled for people, in tables and on pages:
// numbers, times, labels, adjacencies, mechanisms, budgets, what an entry did, a ledger's state,
// and what a guarantee means. Where a flag takes such a value, it is spelled as the flag takes it.
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
