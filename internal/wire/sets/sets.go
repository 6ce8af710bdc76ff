// SPDX-License-Identifier: Apache-2.0

// Package sets reads which ledgers a call is about that names several.
package sets

import (
	"fmt"
	"slices"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Members says which ledgers a set has: Names, or those in Range.
type Members struct {
	Names []string          // each once, in the order of their bytes; nil if there is a range
	Range *ledger.NameRange // nil if there are names
}

// ToMembers reads a set, which is in this field of its request.
func ToMembers(field string, m *pb.LedgerSet) (Members, error) {
	const one = "exactly one of ledgers, range"
	switch r := m.GetRange(); {
	case r != nil && len(m.GetLedgers()) > 0:
		return Members{}, wire.Invalid(field, "both ledgers and range", one)
	case r != nil:
		members := wire.ToRange(r)
		return Members{Range: members}, wire.CheckRange(field+".range", *members)
	case len(m.GetLedgers()) == 0:
		return Members{}, wire.Absent(field, one+", with at least one ledger")
	}
	names, err := toNames(m.GetLedgers())
	if err != nil {
		return Members{}, wire.Under(field, err)
	}
	return Members{Names: names}, nil
}

func toNames(list []string) ([]string, error) {
	if n := len(list); n > ledger.MaxMembers {
		return nil, wire.Invalid("ledgers", fmt.Sprintf("%d names", n), fmt.Sprintf("at most %d", ledger.MaxMembers))
	}
	for i, name := range list {
		if strings.Contains(name, ":") {
			return nil, wire.Invalid(at(i), wire.Quote(name), "a ledger that users charge: datasets and the daemon's "+
				"own ledgers, whose names have a colon, are in no set")
		}
		if wire.CheckLedgerName("", name) != nil {
			return nil, wire.CheckLedgerName(at(i), name)
		}
	}
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return nil, twice(list, sorted[i])
		}
	}
	return sorted, nil
}

// twice is the error of a list that has a name more than once.
func twice(list []string, name string) error {
	first := slices.Index(list, name)
	again := first + 1 + slices.Index(list[first+1:], name)
	return wire.Invalid(at(again), wire.Quote(name)+", for the second time", "each ledger once")
}

// at is the path of a name; it is only made for an error, as a set has up to a thousand names.
func at(i int) string { return fmt.Sprintf("ledgers[%d]", i) }
