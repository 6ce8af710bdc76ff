package wire

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

var togetherForm = travels[ledger.Together, *pb.Together]{toTogether, checkTogether, fromTogether}

// joint are the forms of what can be done in several ledgers at once, by the names of their fields.
var joint = map[protoreflect.Name]actionForm{"charge": chargeForm, "reserve": reserveForm, "commit": commitForm,
	"release": releaseForm}

// doneTogether is the oneof of what was done.
var doneTogether = (*pb.Together)(nil).ProtoReflect().Descriptor().Oneofs().ByName("action")

// toTogether converts a journal's entry without a check of ranges.
func toTogether(m *pb.Together) (v ledger.Together, err error) {
	if err := Known("together", m); err != nil {
		return v, err
	}
	v.Members = make([]ledger.Member, 0, len(m.GetMembers()))
	for i, member := range m.GetMembers() {
		if Known("", member) != nil {
			return v, Known(fmt.Sprintf("together.members[%d]", i), member)
		}
		v.Members = append(v.Members, ledger.Member{Ledger: member.GetLedger(), Position: member.GetPosition(),
			Reservation: member.GetReservation()})
	}
	if r := m.GetRange(); r != nil {
		if err := Known("together.range", r); err != nil {
			return v, err
		}
		v.Range = ToRange(r)
	}
	v.Journal = m.GetJournal()
	if v.Contribution, err = ToContribution("together.contribution", m.GetContribution()); err != nil {
		return v, err
	}
	fd := m.ProtoReflect().WhichOneof(doneTogether)
	if fd == nil {
		return v, Absent("together.action", "charge, reserve, commit or release")
	}
	v.Action, err = joint[fd.Name()].readAny(m.ProtoReflect().Get(fd).Message().Interface())
	return v, err
}

func checkTogether(v ledger.Together) error {
	if n := len(v.Members); n == 0 || n > ledger.MaxMembers {
		return Invalid("together.members", fmt.Sprintf("%d ledgers", n), fmt.Sprintf("1 to %d", ledger.MaxMembers))
	}
	for i, m := range v.Members {
		if err := CheckMember("ledger", m.Ledger); err != nil {
			return Under(fmt.Sprintf("together.members[%d]", i), err)
		}
	}
	if v.Range != nil {
		if err := CheckRange("together.range", *v.Range); err != nil {
			return err
		}
	}
	if !v.Contribution.Valid() {
		return Invalid("together.contribution", fmt.Sprint(v.Contribution), "one that is known")
	}
	if v.Action == nil || joint[protoreflect.Name(v.Action.Kind())] == nil {
		return Absent("together.action", "charge, reserve, commit or release")
	}
	if err := joint[protoreflect.Name(v.Action.Kind())].checkAny(v.Action); err != nil {
		return Under("together", err)
	}
	return nil
}

func fromTogether(v ledger.Together) *pb.Together {
	m := &pb.Together{Journal: v.Journal, Contribution: pb.SetPart_Contribution(v.Contribution),
		Members: make([]*pb.Together_Member, 0, len(v.Members))}
	for _, member := range v.Members {
		m.Members = append(m.Members, &pb.Together_Member{Ledger: member.Ledger, Position: member.Position,
			Reservation: member.Reservation})
	}
	if r := v.Range; r != nil {
		m.Range = &pb.LedgerRange{Prefix: r.Prefix, First: r.First, Last: r.Last}
	}
	name := protoreflect.Name(v.Action.Kind())
	m.ProtoReflect().Set(doneTogether.Fields().ByName(name),
		protoreflect.ValueOfMessage(joint[name].writeAny(v.Action).ProtoReflect()))
	return m
}

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

// ContributionAllowed explains both contributions.
const ContributionAllowed = "OVER_ALL if the sensitivity bounds what a person's rows in all of the ledgers move the " +
	"release by together (they are clipped per person), or IN_EACH if it bounds those in each ledger alone (somebody " +
	"in n of them counts as a group of n; on samples ROWS_DRAWN_IN_EACH or PEOPLE_DRAWN_IN_EACH says what is drawn)"

// CheckContribution refuses a contribution in each ledger that does not say what is drawn.
func CheckContribution(field string, c ledger.Contribution, events []mechanism.Event) error {
	if c != ledger.InEach {
		return nil
	}
	for _, e := range events {
		if mechanism.Drawn(e.Mechanism) {
			return Invalid(field, "IN_EACH of "+e.Mechanism.String(), "ROWS_DRAWN_IN_EACH if the rows that a person "+
				"has in each ledger are drawn apart, PEOPLE_DRAWN_IN_EACH if a person's rows in all ledgers are drawn "+
				"together, or OVER_ALL: a person in several ledgers loses different amounts")
		}
	}
	return nil
}
