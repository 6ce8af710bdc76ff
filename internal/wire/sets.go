// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"slices"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
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
		return Members{}, Invalid(field, "both ledgers and range", one)
	case r != nil:
		members := ToRange(r)
		return Members{Range: members}, CheckRange(field+".range", *members)
	case len(m.GetLedgers()) == 0:
		return Members{}, Absent(field, one+", with at least one ledger")
	}
	names, err := toSetNames(m.GetLedgers())
	if err != nil {
		return Members{}, Under(field, err)
	}
	return Members{Names: names}, nil
}

func toSetNames(list []string) ([]string, error) {
	if n := len(list); n > ledger.MaxMembers {
		return nil, Invalid("ledgers", fmt.Sprintf("%d names", n), fmt.Sprintf("at most %d", ledger.MaxMembers))
	}
	for i, name := range list {
		if strings.Contains(name, ":") {
			return nil, Invalid(ledgerAt(i), Quote(name), "a ledger that users charge: datasets and the daemon's "+
				"own ledgers, whose names have a colon, are in no set")
		}
		if CheckLedgerName("", name) != nil {
			return nil, CheckLedgerName(ledgerAt(i), name)
		}
	}
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return nil, namedTwice(list, sorted[i])
		}
	}
	return sorted, nil
}

// namedTwice is the error of a list that has a name more than once.
func namedTwice(list []string, name string) error {
	first := slices.Index(list, name)
	again := first + 1 + slices.Index(list[first+1:], name)
	return Invalid(ledgerAt(again), Quote(name)+", for the second time", "each ledger once")
}

// ledgerAt is the path of a name; it is only made for an error, as a set has up to a thousand names.
func ledgerAt(i int) string { return fmt.Sprintf("ledgers[%d]", i) }
