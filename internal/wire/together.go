// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// CheckMember accepts the name of a ledger that can be charged together with others: not a dataset's
// record, and not the daemon's own.
func CheckMember(field, name string) error {
	if ledger.IsDataset(name) || ledger.IsSystem(name) {
		return Invalid(field, Quote(name), nameAllowed)
	}
	return CheckLedgerName(field, name)
}

// ToRange converts a range of names without a check.
func ToRange(m *pb.LedgerRange) *ledger.NameRange {
	return &ledger.NameRange{Prefix: m.GetPrefix(), First: m.GetFirst(), Last: m.GetLast()}
}

// CheckRange accepts a range with a prefix.
func CheckRange(field string, r ledger.NameRange) error {
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
		return 0, Absent(field, ContributionAllowed)
	case int32(contribution) != int32(c) || !contribution.Valid():
		return 0, Invalid(field, c.String(), ContributionAllowed)
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

// ContributionAllowed explains both contributions.
const ContributionAllowed = "OVER_ALL if the sensitivity bounds what a person's rows in all of the ledgers move the " +
	"release by together (they are clipped per person), or IN_EACH if it bounds those in each ledger alone (somebody " +
	"in n of them counts as a group of n; on samples ROWS_DRAWN_IN_EACH or PEOPLE_DRAWN_IN_EACH says what is drawn)"

// CheckContribution refuses a contribution in each ledger that does not say what is drawn.
func CheckContribution(c ledger.Contribution, events []mechanism.Event) error {
	return FromDomain(c.Check(events))
}
