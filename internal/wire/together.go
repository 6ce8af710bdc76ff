// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"slices"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
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
		members := &ledger.NameRange{Prefix: r.GetPrefix(), First: r.GetFirst(), Last: r.GetLast()}
		return Members{Range: members}, checkRange(field+".range", *members)
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
		if checkMember("", name) != nil {
			return nil, checkMember(ledgerAt(i), name)
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

// checkMember accepts the name of a ledger that can be charged together with others.
func checkMember(field, name string) error {
	if ledger.IsDataset(name) || ledger.IsSystem(name) {
		return Invalid(field, Quote(name), "a ledger that users charge: datasets and the daemon's own ledgers, whose "+
			"names have a colon, are in no set")
	}
	return CheckLedgerName(field, name)
}

// checkRange accepts a range with a prefix.
func checkRange(field string, r ledger.NameRange) error {
	if r.Prefix == "" {
		return Absent(field+".prefix", `what the names of all ledgers of the range begin with, such as "days/"`)
	}
	for _, p := range []struct{ field, text string }{{"prefix", r.Prefix}, {"first", r.Prefix + r.First},
		{"last", r.Prefix + r.Last}} {
		if err := CheckPrefix(field+"."+p.field, p.text); err != nil {
			return err
		}
	}
	if r.Last != "" && r.First > r.Last {
		return Invalid(field+".last", fmt.Sprintf("%s, which comes before %s, the first name", Quote(r.Last),
			Quote(r.First)), "a name that does not come before the first one, in the order of bytes")
	}
	return nil
}

// fromSetPart makes the API's view of the set that an entry is a part of.
func fromSetPart(p *ledger.SetPart) *pb.SetPart {
	if p == nil {
		return nil
	}
	return &pb.SetPart{Journal: ledger.JournalName(p.Journal), Position: p.Position, Members: p.Members,
		NamesSha256: p.Names[:], Contribution: pb.SetPart_Contribution(p.Contribution)}
}

// ToContribution converts whose rows the sensitivity of a charge to several ledgers bounds, which has to be said.
func ToContribution(field string, c pb.SetPart_Contribution) (ledger.Contribution, error) {
	contribution := ledger.Contribution(c)
	switch {
	case c == pb.SetPart_CONTRIBUTION_UNSPECIFIED:
		return 0, Absent(field, contributionAllowed)
	case int32(contribution) != int32(c) || !contribution.Valid():
		return 0, Invalid(field, c.String(), contributionAllowed)
	}
	return contribution, nil
}

// FromContribution makes the API's view of a contribution: nil where there was one ledger, whose charges need none.
func FromContribution(c ledger.Contribution) *pb.SetPart_Contribution {
	if c == 0 {
		return nil
	}
	return pb.SetPart_Contribution(c).Enum()
}

// contributionAllowed explains both contributions.
const contributionAllowed = "OVER_ALL if the sensitivity bounds what a person's rows in all of the ledgers move the " +
	"release by together (they are clipped per person), or IN_EACH if it bounds those in each ledger alone (somebody " +
	"in n of them counts as a group of n; on samples ROWS_DRAWN_IN_EACH or PEOPLE_DRAWN_IN_EACH says what is drawn)"

// CheckContribution refuses a contribution in each ledger that does not say what is drawn.
func CheckContribution(c ledger.Contribution, events []mechanism.Event) error {
	return FromDomain(c.Check(events))
}
